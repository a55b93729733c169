"""What the loop tells a model in its own name."""

from __future__ import annotations

EMPTY = (
    "Your reply was empty. Answer the question, or call a skill.",
    "Your reply was empty again. Write a short answer now, in plain words.",
)

CUT = (
    "Your reply reached the output limit before it was complete, so nothing of it was run. "
    "Write less: shorter arguments, fewer calls at a time."
)

UNREADABLE = "Nothing in your last reply was run. {errors}"

PARTLY = "A part of your last reply was not run. {errors}"

CANCELLED_RUNNING = "Cancelled by the user while it was running; whether it took effect is unknown."

NOT_RUN_CANCELLED = "Not run: the user cancelled first."

NOT_RUN_UNSIGNED = (
    "Not run: the user cancelled while it waited for a person's sign-off. "
    "Asking again puts a new question to the person."
)

NOT_RUN_PARKED = "Not run: an earlier call of this step waits for sign-off. Ask for it again afterwards."

NOT_RUN_FAILED = "Not run: Remit itself failed. Whether a call that was running took effect is unknown."

NOT_RUN_CLOSED = "Not run: no more calls could be made for this question."

NOT_RUN_STOPPED = "Not run: a person stopped the run."

CLOSING = (
    "For this question no more skills can be called, because {reason}. Answer now in plain words from the "
    "results that you have, or say what could not be done."
)

ANSWER_NOW = "If that is enough, answer in plain words now. The question was: {question}"

CALL_AGAIN = "A call was not run. Write it again, with the mistake mended. The question was: {question}"

LATE_RUNNING = "Cancelled while it was running, because the time of the run was up; whether it took effect is unknown."

NOT_RUN_LATE = "Not run: the time of the run was up."

NOT_RUN_LATE_UNSIGNED = "Not run: the time of the run was up while it waited for a person's sign-off."

PROMISED = "You said what you would do, but called no skill. Call it now, or answer in plain words from what you have."

CALL_FIRST = "Do not answer yet. Call one of your skills first."

CALL_REQUIRED = "Do not answer yet. Call this first: {names}."

TASK_REQUIRED = "Do not answer yet. Give an agent a task for which it calls this first: {names}."

LOST_BEFORE = "the run was interrupted before the result was recorded"

NOT_RUN_INTERRUPTED = "Not run: the run was interrupted before this call began."

NOT_KEPT = (
    "Not run: the run was interrupted, and the arguments of this call held something that is not kept, such as a key "
    "or password. Call it again if it is still needed."
)

NOT_RUN_REFUSED = "Not run: a person refused it{reason}. The same action will be refused again without asking."

NOT_RUN_LEFT = "Not run: it waited for a person's sign-off, and the person asked something else first."

NOT_ENDED_TASK = (
    "The task was not brought to its end: it waited for a person's sign-off, and the person asked something else "
    "first. What was done of it before stays done."
)
