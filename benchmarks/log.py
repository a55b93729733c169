"""How fast the log is written, verified and listed: `python -m benchmarks.log [--records 1000000] [--json]`.

Appending is measured in turns with plain SQLite inserts of the same columns into the same indexes, without hash,
chain and payload, and with inserts into a table without any index.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, in_turns, machine, row
from remit.state.chain import COLUMNS, Entry
from remit.state.store import State
from remit.state.tables import STEPS, statements

CALLERS = 32
BODY = {"status": "ok", "duration": 0.0123, "labels": ["untrusted"], "enforcement": {"files": "kernel"}, "size": 180}
SEALED = {"text": "a result of some hundred characters, as most are. " * 4, "reason": ""}
BODY_TEXT = b'{"duration":0.0123,"enforcement":{"files":"kernel"},"labels":["untrusted"],"size":180,"status":"ok"}'


def entry(number: int, session: str = "s") -> Entry:
    """Return the end of a call, the longest of the usual records."""
    return Entry(
        event="call.finished",
        session=f"{session}{number // 40}",
        skill=f"pack{number % 7}.skill",
        call=f"c{number}",
        body=BODY,
        sealed=SEALED,
        who="ann" if number % 50 else "ben",
        effect=("read", "write", "external")[number % 3],
        verdict="allow" if number % 100 else "deny",
        status="ok" if number % 20 else "failed",
    )


def plain(count: int, *, flushed: bool, indexed: bool = True) -> Callable[[], None]:
    """Return inserts of the same columns, one transaction each."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            connection = sqlite3.connect(Path(folder) / "plain.db", isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {'FULL' if flushed else 'NORMAL'}")
            for statement in (one for step in STEPS for one in statements(step)):
                if indexed or not statement.startswith(("CREATE INDEX records", "DROP INDEX records")):
                    connection.execute(statement)
            query = f"INSERT INTO records ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            for number in range(count):
                one = entry(number)
                names = (one.session, one.event, one.skill, one.call, one.who, one.effect, one.verdict, one.status, "")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(query, (None, one.time, *names, BODY_TEXT, None, b"", b""))
                connection.execute("COMMIT")
            connection.close()

    return run


def one_writer(count: int, *, flushed: bool) -> Callable[[], None]:
    """Return appends to the log, one after the other."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder, State(Path(folder)) as state:
            for number in range(count):
                state.append_all((entry(number),), durable=flushed)

    return run


def many_threads(count: int) -> Callable[[], None]:
    """Return appends of 32 threads that share flushes."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder, State(Path(folder)) as state:

            def work(first: int) -> None:
                for number in range(first, first + count // CALLERS):
                    state.append_all((entry(number),))

            threads = [threading.Thread(target=work, args=(n * count // CALLERS,)) for n in range(CALLERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    return run


def many_tasks(count: int) -> Callable[[], None]:
    """Return appends of 32 tasks of one event loop that share flushes."""

    async def work(state: State, first: int) -> None:
        for number in range(first, first + count // CALLERS):
            await state.aappend_all((entry(number),))

    async def all_of_them(state: State) -> None:
        await asyncio.gather(*(work(state, n * count // CALLERS) for n in range(CALLERS)))

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder, State(Path(folder)) as state:
            asyncio.run(all_of_them(state))

    return run


def appending(count: int, rounds: int) -> list[dict[str, Any]]:
    """Return a row for each way to append, in seconds for one record; `rate` is records a second."""
    counts = {"plain, flushed": count, "log, flushed": count, "plain, not flushed": 4 * count}
    counts |= {"plain without indexes, flushed": count, "log, not flushed": 4 * count}
    counts |= {"log, 32 threads, flushed": 4 * count, "log, 32 tasks, flushed": 4 * count}
    seconds = in_turns(
        {
            "plain, flushed": plain(count, flushed=True),
            "plain without indexes, flushed": plain(count, flushed=True, indexed=False),
            "log, flushed": one_writer(count, flushed=True),
            "log, 32 threads, flushed": many_threads(4 * count),
            "log, 32 tasks, flushed": many_tasks(4 * count),
            "plain, not flushed": plain(4 * count, flushed=False),
            "log, not flushed": one_writer(4 * count, flushed=False),
        },
        rounds=rounds,
    )
    each = {name: [second / counts[name] for second in times] for name, times in seconds.items()}
    rows = [row(name, times, each["plain, flushed"]) for name, times in each.items()]
    return [{**one, "rate": round(1 / one["median"])} for one in rows]


def fill(folder: Path, records: int) -> None:
    """Write so many records; every tenth call has been signed off."""
    with State(folder) as state:
        for first in range(0, records, 4000):
            entries: list[Entry] = []
            for number in range(first, min(first + 4000, records), 4):
                entries += _call(number)
            state.append_all(entries[: records - first], durable=False)


def _call(number: int) -> list[Entry]:
    end = entry(number)
    about: dict[str, Any] = {
        "session": end.session,
        "skill": end.skill,
        "call": end.call,
        "who": end.who,
        "effect": end.effect,
    }
    proposed = Entry(
        event="call.proposed", body={"step": 1, "asked_by": "model"}, sealed={"arguments": {"n": number}}, **about
    )
    decided = Entry(event="call.decided", body={"source": "default", "rules": []}, verdict="allow", **about)
    started = Entry(event="call.started", body={"effect": end.effect, "signoff": None}, verdict="allow", **about)
    return [proposed, decided, started, end]


VERIFY = """
import sys, time
from pathlib import Path
from remit.evidence.verify import verify

def most():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

before, started, used = most(), time.perf_counter(), time.process_time()
found = verify(Path(sys.argv[1]))
print(time.perf_counter() - started, time.process_time() - used, before, most(), found.records, found.holds)
"""


def verifying(path: Path) -> dict[str, Any]:
    """Return seconds, seconds of CPU and memory of one verification, in a process of its own."""
    ran = subprocess.run([sys.executable, "-c", VERIFY, str(path)], capture_output=True, text=True, check=True)
    seconds, cpu, before, after, records, holds = ran.stdout.split()
    return {
        "name": f"verify {records} records",
        "seconds": float(seconds),
        "cpu_seconds": float(cpu),
        "more_memory_mb": (int(after) - int(before)) / 1024,
        "holds": holds == "True",
    }


QUERIES: Mapping[str, Mapping[str, Any]] = {
    "newest 50": {},
    "one session": {"session": "s1000"},
    "one skill": {"skill": "pack3.skill"},
    "one event": {"event": "call.finished"},
    "one call": {"call": "c400000"},
    "nothing fits": {"skill": "none.such"},
}

COLUMN_QUERIES = {
    "verdict deny": "verdict = 'deny' AND verdict <> ''",
    "status failed": "status = 'failed' AND status <> ''",
    "effect external": "effect = 'external' AND effect <> ''",
    "who ben": "who = 'ben'",
    "who ben, denied": "who = 'ben' AND verdict = 'deny' AND verdict <> ''",
}


def listing(folder: Path) -> list[dict[str, Any]]:
    """Return the median milliseconds of each filter, 50 records each."""
    with State(folder) as state:
        rows = [_timed(f"list: {name}", partial(_listed, state, filters)) for name, filters in QUERIES.items()]
        return rows + [_timed(f"list: {name}", partial(_where, state, where)) for name, where in COLUMN_QUERIES.items()]


def _listed(state: State, filters: Mapping[str, Any]) -> Sequence[object]:
    return list(state.records(limit=50, newest_first=True, **filters))


def _where(state: State, where: str) -> Sequence[object]:
    query = f"SELECT {COLUMNS} FROM records WHERE {where} ORDER BY seq DESC LIMIT 50"
    return state.database.read(lambda connection: connection.execute(query).fetchall())


def _timed(name: str, work: Callable[[], Sequence[object]]) -> dict[str, Any]:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - started)
    return {"name": name, "seconds": sorted(times)[2], "found": len(found)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/log.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--appends", type=int, default=2_000, help="appends of each run")
    parser.add_argument("--rounds", type=int, default=5, help="counted runs of each way to append")
    parser.add_argument("--records", type=int, default=50_000, help="records that are verified and listed")
    parser.add_argument("--folder", help="where the log is made (default: a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    rows = appending(options.appends, options.rounds) if options.appends else []
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        fill(folder, options.records)
        rows += [verifying(folder / "state.db"), *listing(folder)]
    _report(rows, json_out=options.json)


def _report(rows: list[dict[str, Any]], *, json_out: bool) -> None:
    body = {"title": "The log", "machine": machine(), "rows": rows}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "log.json").write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    if json_out:
        print(json.dumps(body, indent=2))
        return
    print("The log")
    for line in rows:
        figures = ", ".join(
            f"{name} {value}" for name, value in line.items() if name not in ("name", "minimum", "maximum")
        )
        print(f"  {line['name']}: {figures}")


if __name__ == "__main__":
    main()
