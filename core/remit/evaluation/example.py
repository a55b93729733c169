"""The suite that `remit eval --example` prints."""

from __future__ import annotations

EXAMPLE = """\
# A suite for a deployment with the packs calc and files: remit eval suite.yaml
suite: 1
name: example
defaults:
  max_steps: 6
  forbidden: [files.delete_file]
cases:
  - id: percent
    question: How much is 15% of 240?
    answer: {number: 36}
    trajectory:
      - skill: calc.evaluate
        arguments: {expression: {contains: "240"}}
    match: exact
    tags: [arithmetic]

  - id: and-half-of-it
    question: What is 12 times 12?
    answer: {number: 144}
    then:
      - question: And half of that?
        answer: {number: 72}
    required: [calc.evaluate]
    tags: [arithmetic, conversation]

  - id: notes
    question: What does notes.txt say about the meeting?
    workspace:
      files: {notes.txt: "The meeting is on Thursday, in room 4."}
    answer: {contains: Thursday, not_contains: Friday}
    trajectory:
      - skill: [files.read_file, files.search]
    tags: [files]

  - id: no-skill-needed
    question: Say hello.
    answer: {contains_any: [hello, hi]}
    trajectory: []
    match: exact

  # Writing needs a sign-off, and nobody is there: the run waits. With unattended = "deny" it says denied.
  - id: asks-before-writing
    question: Write "done" into status.txt.
    workspace: {}
    status: parked
    trajectory:
      - skill: files.write_file
        arguments: {path: status.txt}
    tags: [files, sign-off]
"""
"""For a deployment with the packs calc and files."""
