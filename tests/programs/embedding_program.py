"""A program with a life of its own that uses Remit; prints as JSON what was different afterwards.

Usage: embedding_program.py HOW, where HOW is one of `agent`, `deployment`, `loop`, `thread`, `fork`.
The working directory is the deployment's folder, in which the pack `good` is enabled.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from remit import Agent, Deployment, ScriptedModel, skill
from remit.models.protocol import ModelReply, ModelRequest, ToolCall

SIGNALS = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1)
heard: list[int] = []


def handler(number: int, frame: FrameType | None) -> None:
    """Note a signal."""
    heard.append(number)


def surroundings() -> dict[str, Any]:
    """Return what belongs to the program and must stay as it is."""
    mask = os.umask(0o077)
    os.umask(mask)
    return {
        "environment": dict(os.environ),
        "handlers": {number.name: repr(signal.getsignal(number)) for number in SIGNALS},
        "mask": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
        "umask": mask,
        "folder": os.getcwd(),
        "path": list(sys.path),
        "streams": [id(sys.stdin), id(sys.stdout), id(sys.stderr)],
        "group": [os.getpgid(0), os.getsid(0)],
        "hooks": [repr(sys.excepthook), repr(threading.excepthook)],
        "wakeup": signal.set_wakeup_fd(-1),
    }


def script(request: ModelRequest) -> ModelReply:
    """Ask for a sum, then say it."""
    last = request.messages[-1]
    if last.role == "tool":
        return ModelReply(text=f"It is {last.content}.")
    name = next(tool.name for tool in request.tools if tool.name.endswith("add"))
    return ModelReply(text="", calls=(ToolCall(id="c0", name=name, arguments='{"a": 2, "b": 3}'),))


def ask(**more: Any) -> str:
    """Let an agent answer in the deployment of the working directory."""
    with Agent(".", model=ScriptedModel(script), **more) as agent:
        return agent.run("What is 2 + 3?").answer


def in_a_deployment() -> str:
    """Use an open deployment that several agents share."""
    with Deployment.open(".") as deployment:
        answers = []
        for _ in range(2):
            with Agent(deployment, model=ScriptedModel(script)) as agent:
                answers.append(agent.run("What is 2 + 3?").answer)
    assert answers[0] == answers[1]
    return answers[0]


def in_a_loop() -> str:
    """Use an agent on an event loop that has other work and a signal handler of its own."""

    async def main() -> str:
        loop = asyncio.get_running_loop()
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        loop.add_signal_handler(signal.SIGUSR2, heard.append, int(signal.SIGUSR2))
        other = asyncio.create_task(tick())
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", "raise SystemExit(5)")
        async with Agent(".", model=ScriptedModel(script)) as agent:
            answers = await asyncio.gather(*(agent.arun("What is 2 + 3?") for _ in range(3)))
        os.kill(os.getpid(), signal.SIGUSR2)
        assert await child.wait() == 5
        await asyncio.sleep(0.05)
        other.cancel()
        loop.remove_signal_handler(signal.SIGUSR2)
        assert ticks > 3 and int(signal.SIGUSR2) in heard
        assert {result.status for result in answers} == {"answered"}, answers
        return answers[0].answer

    return asyncio.run(main())


def in_threads() -> str:
    """Use agents in threads, also after the thread that came first has ended."""
    answers: list[str] = []
    for _ in range(2):
        threads = [threading.Thread(target=lambda: answers.append(ask())) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(answers) == 4 and len(set(answers)) == 1
    return answers[0]


def after_a_fork() -> str:
    """Use an agent, fork, and use agents in both processes at the same time."""
    with Deployment.open(".") as deployment, Agent(deployment, model=ScriptedModel(script)) as agent:
        first = agent.run("What is 2 + 3?").answer
        child = os.fork()
        if child == 0:
            code = 9
            try:
                own = agent.run("What is 2 + 3?").answer
                code = 0 if own == first else 8
            finally:
                os._exit(code)
        again = agent.run("What is 2 + 3?").answer
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, f"the fork ended with {os.waitstatus_to_exitcode(status)}"
    assert again == first
    return first


@skill(effect="read")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def in_code() -> str:
    """Use an agent without a deployment."""
    with Agent(skills=[add], model=ScriptedModel(script)) as agent:
        return agent.run("What is 2 + 3?").answer


WAYS: dict[str, Callable[[], str]] = {
    "agent": ask,
    "code": in_code,
    "deployment": in_a_deployment,
    "loop": in_a_loop,
    "thread": in_threads,
    "fork": after_a_fork,
}


def spawn(*arguments: str) -> int:
    """Start a child of the program and return its pid."""
    return os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ)


def main() -> None:
    """Live on, use Remit in the given way, and print what came of it."""
    os.umask(0o027)
    for number in SIGNALS:
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    own = [spawn("-c", f"raise SystemExit({code})") for code in (3, 4)]
    lasting = subprocess.Popen(["sleep", "60"])
    before = surroundings()
    answer = WAYS[sys.argv[1]]()
    after = surroundings()
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in own]
    alive = lasting.poll() is None
    lasting.kill()
    lasting.wait()
    try:
        left = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        left = (0, 0)
    os.kill(os.getpid(), signal.SIGTERM)
    told = {
        "answer": answer,
        "changed": {name: [before[name], after[name]] for name in before if before[name] != after[name]},
        "codes": codes,
        "alive": alive,
        "left": left[0],
        "heard": sorted(set(heard)),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
