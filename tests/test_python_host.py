"""`run_python`: a program in a cell of its own or of a session, and whatever becomes of it as a result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from remit_sandbox.python import PythonResult, run_python
from remit_sandbox.python.host import result_of
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import FieldError, Reply
from tests.python_parts import plain_python


@pytest.fixture(scope="module")
def run() -> Iterator[Any]:
    with Sandbox() as sandbox:
        yield partial(run_python, sandbox=sandbox, enforcement="available")


def test_value_output_files_and_error(run: Any) -> None:
    result = run("print('hi')\nsave_file('a.txt', 'é')\n{1: (2, {3})}")
    assert result == PythonResult(value={1: (2, {3})}, stdout="hi\n", files={"a.txt": "é".encode()})
    assert run("1 / 0").error == "ZeroDivisionError: division by zero (line 1: 1 / 0)"


def test_inputs_of_every_plain_kind(run: Any) -> None:
    inputs = {"table": {"a": [1, 2.5, None]}, "data": b"\x00\xff", "pair": (1, {2}), "text": "é"}
    assert run("[table, data, pair, text]", inputs).value == [{"a": [1, 2.5, None]}, b"\x00\xff", (1, {2}), "é"]
    assert run("data[1]", inputs).value == 255


def test_without_a_session_nothing_is_kept(run: Any) -> None:
    assert run("x = 1").error == ""
    assert run("x").error.startswith("NameError")


def test_a_session_keeps_its_variables_until_its_cell_ends(run: Any) -> None:
    assert run("x = [1]\ndef f(): return sum(x)", session="one").error == ""
    assert run("x.append(5); f()", session="one").value == 6
    assert run("x", session="two").error.startswith("NameError")
    assert run("x.append(1 / 0)", session="one").error.startswith("ZeroDivisionError")
    assert run("x", session="one").value == [1, 5]
    late = run("while True: pass", session="one", timeout=1)
    assert late.error.startswith("TimeoutError") and "variables of the session are gone" in late.error
    assert run("x", session="one").error.startswith("NameError")


def test_a_crash_of_the_interpreter_is_a_result(run: Any) -> None:
    crash = "import itertools\nx = iter([1])\nfor i in range(300_000): x = itertools.chain(x)\nlist(x)"
    result = run(crash, timeout=30)
    assert "interpreter" in result.error or "MemoryError" in result.error
    assert run("import ctypes\nctypes.string_at(0)", profile="open").error.startswith(
        "the program ended its interpreter"
    )


def test_what_is_no_program_is_refused(run: Any) -> None:
    for code in (None, 5, b"1", ["1"]):
        assert run(code).error


def test_plain_python_in_the_open_profile(run: Any) -> None:
    result = run(
        "import os, sys\nprint(os.path.join('a', 'b'))\nopen('t.txt', 'w').write('x')\nresult = 5", profile="open"
    )
    assert result == PythonResult(value=5, stdout="a/b\n", files={"t.txt": b"x"})
    assert run("import numpy_not_there", profile="open").error.startswith("ModuleNotFoundError")
    assert run("x +", profile="open").error.startswith("SyntaxError")
    assert run("raise SystemExit", profile="open").error == ""
    assert run("a + 1", {"a": 2}, profile="open").value == 3


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[]", b"{}", b"null", b'{"value": {"$x": 1}, "stdout": "", "error": "", "files": {}}',
        b'{"value": {"$set": [[]]}, "stdout": "", "error": "", "files": {}}', b'{"files": 5}', b"[" * 100_000,
        b'{"value": {"$base64": "?"}, "stdout": "", "error": "", "files": {}}',
        b'{"value": {"$float": []}, "stdout": "", "error": "", "files": {}}',
        b'{"value": 1, "stdout": "", "error": "", "files": {"a": 5}}',
        b'{"value": ' + b"9" * 5000 + b', "stdout": "", "error": "", "files": {}}',
    ],
)  # fmt: skip
def test_a_cell_may_answer_anything(text: bytes) -> None:
    assert result_of(Reply(kind="result", text=text)).error == "the program left an answer that cannot be read"
    fine = json.dumps({"value": 1, "stdout": "", "error": "", "files": {}}).encode()
    assert result_of(Reply(kind="result", text=fine)) == PythonResult(value=1)


def test_every_end_of_a_request_has_words() -> None:
    assert "TimeoutError: no answer" in result_of(Reply(kind="timeout", error="no answer")).error
    assert "interpreter: signal 11" in result_of(Reply(kind="died", error="signal 11")).error
    assert result_of(Reply(kind="failed", error="x")).error == "x"
    assert result_of(Reply(kind="invalid", errors=(FieldError(path="code", message="bad"),))).error == "code: bad"


def test_the_examples_of_the_page_print_what_it_says() -> None:
    page = (Path(__file__).parents[1] / "docs" / "calculator-and-python.md").read_text("utf-8")
    shown = ["percent(15) * 1200 = 180\n", "{1: (2, 3)} 'hello\\n' ''\n"]
    for program, printed in zip(re.findall(r"```python\n(.*?)```", page, re.DOTALL), shown, strict=True):
        assert plain_python(program, isolated=False).stdout == printed
        assert f"`{printed.strip()}`" in page


@pytest.mark.skipif(find_spec("numpy") is None, reason="numpy is not installed")
def test_arrays_in_the_open_profile(run: Any) -> None:
    result = run("import numpy as np\nnp.arange(6).reshape(2, 3)", profile="open", timeout=60)
    assert result == PythonResult(value=[[0, 1, 2], [3, 4, 5]])


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
def test_tables_in_the_open_profile_alone(run: Any) -> None:
    code = (
        "import io\nimport pandas as pd\n"
        "frame = pd.read_csv(io.StringIO('city,degrees\\nOslo,3\\nOslo,5\\nLima,20\\n'))\n"
        "print(frame.shape)\n"
        "frame[frame.degrees > 4].to_csv('warm.csv', index=False)\n"
        "frame.groupby('city').degrees.mean().to_dict()"
    )
    result = run(code, profile="open", timeout=60)
    assert result == PythonResult(
        value={"Lima": 20.0, "Oslo": 4.0}, stdout="(3, 2)\n", files={"warm.csv": b"city,degrees\nOslo,5\nLima,20\n"}
    )
    assert run("import pandas as pd\npd.DataFrame({'a': [1, 2]})", profile="open", timeout=60).value == (
        "   a\n0  1\n1  2"
    )
    assert "pandas" in run("import pandas").error, "the guarded profile knows no pandas"


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_figures_in_the_open_profile(run: Any) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\n"
    result = run(code, profile="open", timeout=60)
    assert list(result.files) == ["figure-1.png"] and result.files["figure-1.png"].startswith(b"\x89PNG")
    assert list(run(code + "plt.savefig('own.png')", profile="open", timeout=60).files) == ["own.png"]
