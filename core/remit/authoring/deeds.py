"""What the usual names of Python do to the world: read, write, connect, start programs."""

from __future__ import annotations

import ast
from typing import Literal

Deed = Literal["read", "write", "net", "send", "exec", "secret", "env", "data"]
"""`read`, `write`: files. `net`: a connection. `send`: a request that changes something elsewhere. `exec`: a program.
`secret`, `env`, `data`: what it is given."""

KNOWN = {"pydantic", "pydantic_core", "typing_extensions", "annotated_types", "remit_sandbox", "tzdata", "bs4"}
"""Libraries that do nothing of this kind by themselves; `remit_sandbox` is there in every cell."""

_NET = (
    "socket.create_connection", "socket.socket", "http.client.", "urllib.request.", "ftplib.", "smtplib.", "imaplib.",
    "poplib.", "xmlrpc.client.", "requests.", "httpx.", "httpx2.", "aiohttp.", "urllib3.", "websockets.", "paramiko.",
    "asyncio.open_connection", "boto3.", "botocore.",
)  # fmt: skip
_VERBS = ("post", "put", "patch", "delete")
_CALLERS = ("requests", "httpx", "httpx2", "aiohttp", "urllib3")
_SEND = ("smtplib.", *(f"{library}.{verb}" for library in _CALLERS for verb in _VERBS))
_EXEC = (
    "subprocess.", "os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "pty.",
    "asyncio.create_subprocess", "multiprocessing.",
)  # fmt: skip
_WRITE = (
    "os.remove", "os.unlink", "os.rename", "os.replace", "os.mkdir", "os.makedirs", "os.rmdir", "os.removedirs",
    "os.link", "os.symlink", "os.truncate", "os.chmod", "os.O_WRONLY", "os.O_RDWR", "os.O_CREAT", "shutil.rmtree",
    "shutil.copy", "shutil.move", "shutil.make_archive", "shutil.unpack_archive",
)  # fmt: skip
_READ = ("os.scandir", "os.listdir", "os.walk", "os.open", "glob.", "sqlite3.connect", "fileinput.", "linecache.")
_ENV = ("os.environ", "os.getenv")

_PATH_WRITES = {"write_text", "write_bytes", "unlink", "rmdir", "mkdir", "touch", "symlink_to", "hardlink_to", "chmod"}
_PATH_READS = {"read_text", "read_bytes", "iterdir", "glob", "rglob"}
_CLIENTS = {"client", "session", "http", "api"}


def deed_of_name(name: str) -> Deed | None:
    """Return what a dotted name of another library does; None when that is nothing, or not known."""
    if name.startswith(_SEND):
        return "send"
    for deed, names in (("net", _NET), ("exec", _EXEC), ("write", _WRITE), ("read", _READ), ("env", _ENV)):
        if name.startswith(names) or f"{name}." in names:
            return deed  # type: ignore[return-value]
    return None


def deed_of_call(call: ast.Call) -> tuple[Deed, str] | None:
    """Return what a call does, by the name of a built-in function or method and its arguments."""
    function = call.func
    if isinstance(function, ast.Name) and function.id == "open":
        mode = _mode(call, 1)
        return ("write" if mode & set("wax+") else "read"), "open"
    if not isinstance(function, ast.Attribute):
        return None
    if function.attr == "open" and not (isinstance(function.value, ast.Name) and function.value.id == "os"):
        return ("write", "open") if _mode(call, 0) & set("wax+") else None
    if function.attr in _PATH_WRITES:
        return "write", function.attr
    if function.attr in _PATH_READS:
        return "read", function.attr
    if function.attr in _VERBS and isinstance(function.value, ast.Name) and function.value.id in _CLIENTS:
        return "send", f"{function.value.id}.{function.attr}"
    return ("send", "Request(method=...)") if _sends(call) else None


def _mode(call: ast.Call, position: int) -> set[str]:
    given = [word.value for word in call.keywords if word.arg == "mode"] or call.args[position : position + 1]
    mode = given[0].value if given and isinstance(given[0], ast.Constant) else ""
    return set(mode) if isinstance(mode, str) and len(mode) < 5 else set()


def _sends(call: ast.Call) -> bool:
    """Whether a request says that it is no GET."""
    return any(
        word.arg == "method" and isinstance(word.value, ast.Constant) and str(word.value.value).lower() in _VERBS
        for word in call.keywords
    )
