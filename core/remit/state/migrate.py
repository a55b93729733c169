"""Bringing `state.db` to the tables that this Remit writes; what was there is kept, and copied beside it first."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.errors import StateError
from remit.state.chain import Chain, Entry, prepared
from remit.state.tables import APPLICATION, STEPS, VERSION, statements

if TYPE_CHECKING:
    import sqlite3

CHECKPOINT = 4_000
"""Pages in the write-ahead file from which on SQLite takes them over: that holds up whoever commits, and costs two
flushes of the disk, however few of them there are. Most are changed again and again meanwhile."""

WAL_LIMIT = 64 * 1024 * 1024
"""Bytes to which SQLite cuts the write-ahead file down once it has been taken over."""


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Set a new connection up, and make or bring up to date the tables.

    Raises:
        StateError: the file is another program's, or of a newer Remit.
        sqlite3.Error: it cannot be read or written.
    """
    version = _version(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA fullfsync = ON")  # macOS alone: a flush that reaches the disk
    if version < VERSION:
        if version:
            _keep_copy(connection, path, version)
        _upgrade(connection, path)


def copy_name(path: Path, version: int) -> Path:
    """Return where a file of an older version is kept before it is brought up to date."""
    return path.with_name(f"{path.name}.version-{version}")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise StateError(
            f"{path} was written by a newer Remit (tables {version}, this one knows {VERSION})",
            remedy="upgrade Remit, or set REMIT_STATE to another folder",
        )
    return version


def _keep_copy(connection: sqlite3.Connection, path: Path, version: int) -> None:
    from remit.state.backup import copy

    target = copy_name(path, version)
    if target.exists():
        return
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    try:
        copy(connection, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path)  # another process may have been first
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise StateError(f"{path} is another program's database", remedy="set REMIT_STATE to another folder")
        for step in STEPS[version:]:
            for statement in statements(step):
                connection.execute(statement)
        if version < 2:
            _chain_old_records(connection, migrated=version > 0)
        if version == 0:
            _say_what_was_before(connection, path.parent)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends the transaction by itself
            connection.execute("ROLLBACK")
        raise


def _chain_old_records(connection: sqlite3.Connection, *, migrated: bool) -> None:
    """Move the records of version 1 into the chain, in their order; say so in a record of its own."""
    if migrated:
        chain = Chain(connection, {})
        count = 0
        for entry, text in _old_entries(connection):
            chain.add(prepared(entry, body=text))
            count += 1
        body = {"from": 1, "to": 2, "records": count}
        chain.add(prepared(Entry(event="log.migrated", body=body, time=time.time())))
    connection.execute("DROP TABLE old_records")


def _say_what_was_before(connection: sqlite3.Connection, folder: Path) -> None:
    """Let a new log begin with the end of the one that was here, where a file beside it still knows that."""
    from remit.state.head import read_head

    head = read_head(folder)
    if head is not None:
        body = {"first": head.first, "seq": head.seq, "leaf": head.leaf}
        Chain(connection, {}).add(prepared(Entry(event="log.restarted", body=body)))


def _old_entries(connection: sqlite3.Connection) -> Iterator[tuple[Entry, bytes]]:
    query = "SELECT time, session, event, skill, call, body FROM old_records ORDER BY seq"
    for moment, session, event, skill, call, text in connection.execute(query):
        body = json.loads(text)
        entry = Entry(
            event=event,
            session=session,
            skill=skill,
            call=call,
            time=moment,
            who=_word(body, "principal"),
            effect=_word(body, "effect"),
            verdict=_word(body, "verdict") if event == "call.decided" else "",
            status=_word(body, "status") if event == "call.finished" else "",
        )
        yield entry, text


def _word(body: dict[str, Any], name: str) -> str:
    value = body.get(name, "")
    return value if isinstance(value, str) else ""
