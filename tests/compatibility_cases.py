"""What is tried inside a cell: the table of `docs/compatibility.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Needs = Literal["", "net", "exec", "shm"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing that is tried.

    Attributes:
        name: what it is.
        does: what of it is tried, in words.
        code: leaves True in `out`; `{url}` and `{program}` stand for a granted server and program.
        package: what must be installed; empty for the standard library.
        needs: the permission that it takes, `isolation = "process"` with it for `exec` and `shm`.
        limit: what does not work, in words; then the code shows that, and how it is said.
    """

    name: str
    does: str
    code: str
    package: str = ""
    needs: Needs = ""
    limit: str = ""


CASES = (
    Case(
        name="threads, queue, concurrent.futures",
        does="threads and thread pools",
        code="""
import concurrent.futures, queue, threading
found = queue.Queue()
threading.Thread(target=found.put, args=(1,)).start()
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    out = found.get(timeout=5) == 1 and sum(pool.map(abs, range(-9, 0))) == 45
""",
    ),
    Case(
        name="asyncio",
        does="tasks, timers, threads, pipes between tasks",
        code="""
import asyncio
async def main():
    one, two = await asyncio.gather(asyncio.sleep(0, 1), asyncio.to_thread(lambda: 2))
    async with asyncio.timeout(5):
        return one + two == 3
out = asyncio.run(main())
""",
    ),
    Case(
        name="asyncio streams",
        does="a client over a stream",
        needs="net",
        code="""
import asyncio, urllib.parse
where = urllib.parse.urlsplit({url!r})
async def main():
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
    text = await reader.read()
    writer.close()
    return b"200" in text
out = asyncio.run(main())
""",
    ),
    Case(
        name="tempfile, shutil, pathlib",
        does="temporary files and folders, copy, copy2, copytree, move, archives, rmtree",
        code="""
import pathlib, shutil, tempfile
with tempfile.TemporaryDirectory() as folder:
    a = pathlib.Path(folder, "a.txt"); a.write_text("x")
    shutil.copy(a, folder + "/b"); shutil.copy2(a, folder + "/c"); shutil.move(folder + "/c", folder + "/d")
    shutil.copytree(folder, folder + "-tree"); name = shutil.make_archive("all", "zip", folder)
    out = sorted(p.name for p in pathlib.Path(folder).iterdir()) == ["a.txt", "b", "d"]
    shutil.rmtree(folder + "-tree")
out = out and pathlib.Path(name).exists()
with tempfile.NamedTemporaryFile() as file, tempfile.SpooledTemporaryFile() as other:
    file.write(b"x"); other.write(b"x")
""",
    ),
    Case(
        name="chmod, chown, utime",
        does="change mode, owner and times",
        limit="they succeed without effect, so that copying works: the mode and times of a file stay",
        code="""
import os
open("f", "w").close(); before = os.stat("f").st_mode
os.chmod("f", 0o777); os.utime("f", (1, 1))
out = os.stat("f").st_mode == before and os.stat("f").st_mtime > 1
""",
    ),
    Case(
        name="sqlite3",
        does="a database in a file, in WAL mode, in memory; a sort that spills to disk",
        code="""
import sqlite3
for place in ("base.db", ":memory:"):
    base = sqlite3.connect(place)
    base.execute("pragma journal_mode = wal")
    base.execute("create table t (x)"); base.executemany("insert into t values (?)", [(n,) for n in range(100)])
    base.commit()
    out = base.execute("select sum(x) from t").fetchone() == (4950,)
    base.close()
""",
    ),
    Case(
        name="zoneinfo, datetime, locale",
        does="time zones and local time",
        code="""
import datetime, zoneinfo
when = datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo("Asia/Kolkata"))
out = when.strftime("%z") == "+0530" and len(zoneinfo.available_timezones()) > 100
""",
    ),
    Case(
        name="ssl, hashlib, secrets",
        does="a client context with the system's authorities, digests, random bytes",
        code="""
import hashlib, secrets, ssl
context = ssl.create_default_context()
out = context.verify_mode == ssl.CERT_REQUIRED and len(hashlib.scrypt(b"a", salt=b"b", n=16, r=8, p=1)) == 64
out = out and len(secrets.token_bytes(8)) == 8
""",
    ),
    Case(
        name="urllib, http.client",
        does="requests by name",
        needs="net",
        code="import urllib.request\nout = urllib.request.urlopen({url!r}, timeout=10).status == 200",
    ),
    Case(
        name="requests",
        package="requests",
        does="a session with two requests",
        needs="net",
        code="""
import requests
with requests.Session() as session:
    out = all(session.get({url!r}, timeout=10).ok for _ in range(2))
""",
    ),
    Case(
        name="urllib3",
        package="urllib3",
        does="a connection pool",
        needs="net",
        code="import urllib3\nout = urllib3.PoolManager().request('GET', {url!r}).status == 200",
    ),
    Case(
        name="httpx",
        package="httpx",
        does="sync and async clients",
        needs="net",
        code="""
import asyncio, httpx
async def main():
    async with httpx.AsyncClient() as client:
        return (await client.get({url!r})).status_code
out = httpx.get({url!r}).status_code == asyncio.run(main()) == 200
""",
    ),
    Case(
        name="numpy",
        package="numpy",
        does="linear algebra in threads, random numbers, saving and mapping a file",
        code="""
import numpy
a = numpy.random.default_rng(1).random((200, 200))
numpy.save("a.npy", a @ numpy.linalg.inv(a))
out = bool(numpy.allclose(numpy.load("a.npy", mmap_mode="r"), numpy.eye(200)))
""",
    ),
    Case(
        name="pandas",
        package="pandas",
        does="CSV, grouping, time zones, SQLite",
        code="""
import io, sqlite3, pandas
frame = pandas.read_csv(io.StringIO("when,n\\n2026-01-01,1\\n2026-01-01,2\\n"), parse_dates=["when"])
frame["when"] = frame["when"].dt.tz_localize("Asia/Kolkata")
frame.to_csv("frame.csv")
frame[["n"]].to_sql("t", sqlite3.connect("frame.db"))
out = frame.groupby("when")["n"].sum().tolist() == [3]
""",
    ),
    Case(
        name="Pillow",
        package="PIL",
        does="draw, scale, save and read PNG and JPEG",
        code="""
from PIL import Image, ImageDraw
image = Image.new("RGB", (64, 64), "red"); ImageDraw.Draw(image).ellipse((8, 8, 56, 56), fill="blue")
for name in ("a.png", "a.jpg"):
    image.resize((32, 32)).save(name)
out = Image.open("a.png").size == Image.open("a.jpg").size == (32, 32)
""",
    ),
    Case(
        name="matplotlib",
        package="matplotlib",
        does="a plot into a PNG",
        code="""
import matplotlib; matplotlib.use("Agg")
from matplotlib import pyplot
pyplot.plot([1, 2, 3]); pyplot.savefig("plot.png")
out = open("plot.png", "rb").read(4) == b"\\x89PNG"
""",
    ),
    Case(
        name="Beautiful Soup",
        package="bs4",
        does="parse a page",
        code="import bs4\nout = bs4.BeautifulSoup('<p>x<b>y</b></p>', 'html.parser').b.text == 'y'",
    ),
    Case(
        name="lxml",
        package="lxml",
        does="parse and transform XML",
        code="from lxml import etree\nout = etree.fromstring('<a><b>x</b></a>').findtext('b') == 'x'",
    ),
    Case(
        name="pydantic",
        package="pydantic",
        does="models and JSON",
        code="""
import pydantic
class Point(pydantic.BaseModel):
    x: int
out = Point.model_validate_json('{{"x": 1}}').x == 1
""",
    ),
    Case(
        name="subprocess",
        does="run a granted program, pipes and time limits",
        needs="exec",
        code="""
import subprocess
done = subprocess.run([{program!r}, "hi"], capture_output=True, text=True, timeout=10)
with subprocess.Popen([{program!r}, "hi"], stdout=subprocess.PIPE) as process:
    out = done.stdout == "hi\\n" and process.communicate()[0] == b"hi\\n"
""",
    ),
    Case(
        name="asyncio subprocess",
        does="run a granted program",
        needs="exec",
        code="""
import asyncio
async def main():
    process = await asyncio.create_subprocess_exec({program!r}, "hi", stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0] == b"hi\\n"
out = asyncio.run(main())
""",
    ),
    Case(
        name="multiprocessing, ProcessPoolExecutor",
        does="locks and pools of forked processes",
        needs="shm",
        code="""
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
fork = get_context("fork")
with ProcessPoolExecutor(2, mp_context=fork) as pool, fork.Lock():
    out = list(pool.map(abs, [-1, -2])) == [1, 2]
""",
    ),
    Case(
        name="multiprocessing with spawn or forkserver",
        does="start the interpreter anew",
        needs="shm",
        limit="needs the interpreter itself under `exec`; use the `fork` context",
        code="""
from multiprocessing import get_context
try:
    process = get_context("spawn").Process(target=print)
    process.start(); process.join()
    out = process.exitcode != 0
except OSError:
    out = True
""",
    ),
    Case(
        name="servers, UDP, sockets by hand",
        does="listen, send datagrams",
        needs="net",
        limit="cells have outgoing TCP by name only; each other attempt raises OSError and says so",
        code="""
import socket
out = True
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        sock = socket.socket(socket.AF_INET, kind); sock.bind(("127.0.0.1", 0)); sock.listen()
        out = False
    except OSError as error:
        out = out and "no right to" in str(error)
""",
    ),
    Case(
        name="inotify and watchers (watchdog, watchfiles)",
        does="watch a folder",
        limit="refused: it tells of files that are none of the cell's; poll instead",
        code="""
import ctypes
out = ctypes.CDLL(None, use_errno=True).inotify_init() == -1
""",
    ),
    Case(
        name="clients with sockets in C (grpc, pycurl, uvloop, psycopg)",
        does="connect without Python's socket module",
        needs="net",
        limit="the kernel refuses the socket: use a pure Python client, or run the program that has it elsewhere",
        code="""
import _socket
try:
    _socket.socket(_socket.AF_INET)
    out = False
except PermissionError:
    out = True
""",
    ),
    Case(
        name="packages that need a .pth file",
        does="import hooks that a .pth file starts",
        limit="no .pth file is read in a cell; packages on sys.path as plain folders work",
        code="""
import sys
out = "site" not in sys.modules or not any(name.startswith("__editable__") for name in sys.modules)
""",
    ),
)
