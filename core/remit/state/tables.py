"""The tables of `state.db`, and the steps from one version of them to the next.

A new file takes every step, an older one those that it lacks, so both come out alike.
"""

from __future__ import annotations

VERSION = 3
"""Version of the tables that this Remit writes; kept in `user_version` of the file."""

APPLICATION = 0x52454D54
"""`REMT`: marks the file as Remit's own in `application_id`."""

_FIRST = """
CREATE TABLE records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    time REAL NOT NULL,
    session TEXT NOT NULL,
    event TEXT NOT NULL,
    skill TEXT NOT NULL,
    call TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX records_by_session ON records (session, seq);
CREATE INDEX records_by_event ON records (event, seq);
CREATE INDEX records_by_skill ON records (skill, seq);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    status TEXT NOT NULL,
    transcript BLOB NOT NULL
) STRICT;
CREATE INDEX sessions_by_time ON sessions (updated);
CREATE TABLE contents (
    hash TEXT PRIMARY KEY,
    data BLOB NOT NULL
) STRICT;
CREATE TABLE blobs (
    handle TEXT PRIMARY KEY,
    hash TEXT NOT NULL REFERENCES contents (hash),
    session TEXT NOT NULL,
    skill TEXT NOT NULL,
    media_type TEXT NOT NULL,
    labels TEXT NOT NULL,
    created REAL NOT NULL
) STRICT;
CREATE TABLE cache (
    key TEXT PRIMARY KEY,
    text BLOB NOT NULL,
    labels TEXT NOT NULL,
    expires REAL NOT NULL
) STRICT;
CREATE INDEX cache_by_expiry ON cache (expires);
CREATE TABLE signoffs (
    nonce TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    action TEXT NOT NULL,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    state TEXT NOT NULL,
    created REAL NOT NULL,
    expires REAL NOT NULL,
    request BLOB NOT NULL,
    decision BLOB
) STRICT;
CREATE INDEX signoffs_by_state ON signoffs (state, created);
CREATE TABLE answers (
    session TEXT NOT NULL,
    action TEXT NOT NULL,
    answer TEXT NOT NULL,
    reason TEXT NOT NULL,
    time REAL NOT NULL,
    PRIMARY KEY (session, action)
) STRICT, WITHOUT ROWID;
"""

_SECOND = """
ALTER TABLE records RENAME TO old_records;
DROP INDEX records_by_session;
DROP INDEX records_by_event;
DROP INDEX records_by_skill;
CREATE TABLE records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    time REAL NOT NULL,
    session TEXT NOT NULL,
    event TEXT NOT NULL,
    skill TEXT NOT NULL,
    call TEXT NOT NULL,
    who TEXT NOT NULL,
    effect TEXT NOT NULL,
    verdict TEXT NOT NULL,
    status TEXT NOT NULL,
    trace TEXT NOT NULL,
    body BLOB NOT NULL,
    sealed BLOB,
    prev BLOB NOT NULL,
    leaf BLOB NOT NULL
) STRICT;
CREATE INDEX records_by_session ON records (session, seq);
CREATE INDEX records_by_event ON records (event, seq);
CREATE INDEX records_by_skill ON records (skill, seq);
CREATE INDEX records_by_who ON records (who, seq);
CREATE INDEX records_by_call ON records (call, seq) WHERE call <> '';
CREATE INDEX records_by_effect ON records (effect, seq) WHERE effect <> '';
CREATE INDEX records_by_verdict ON records (verdict, seq) WHERE verdict <> '';
CREATE INDEX records_by_status ON records (status, seq) WHERE status <> '';
CREATE INDEX records_by_trace ON records (trace, seq) WHERE trace <> '';
CREATE INDEX records_by_time ON records (time);
CREATE TABLE payloads (
    seq INTEGER PRIMARY KEY,
    salt BLOB,
    data BLOB,
    size INTEGER NOT NULL,
    erased REAL,
    why TEXT
) STRICT;
CREATE TABLE open_calls (
    seq INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    skill TEXT NOT NULL,
    who TEXT NOT NULL,
    effect TEXT NOT NULL,
    action TEXT NOT NULL,
    key TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    time REAL NOT NULL
) STRICT;
CREATE INDEX open_calls_by_call ON open_calls (session, call);
CREATE INDEX open_calls_by_action ON open_calls (action);
CREATE TABLE tree (
    size INTEGER PRIMARY KEY,
    hashes BLOB NOT NULL
) STRICT;
CREATE TABLE leases (
    session TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    time REAL NOT NULL
) STRICT;
CREATE INDEX signoffs_by_action ON signoffs (session, action);
ALTER TABLE sessions ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE blobs ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE cache ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE signoffs ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE signoffs ADD COLUMN approvers INTEGER NOT NULL DEFAULT 1;
ALTER TABLE signoffs ADD COLUMN people TEXT NOT NULL DEFAULT '[]';
ALTER TABLE signoffs ADD COLUMN edits TEXT NOT NULL DEFAULT '';
CREATE TABLE standing (
    id TEXT PRIMARY KEY,
    skill TEXT NOT NULL,
    who TEXT NOT NULL,
    created REAL NOT NULL,
    expires REAL NOT NULL,
    uses INTEGER NOT NULL,
    revoked REAL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX standing_by_skill ON standing (skill, who);
CREATE TABLE approvers (
    name TEXT PRIMARY KEY,
    hash BLOB NOT NULL,
    created REAL NOT NULL,
    who TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX approvers_by_hash ON approvers (hash);
"""

_THIRD = """
CREATE TABLE messages (
    session TEXT NOT NULL,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, place)
) STRICT, WITHOUT ROWID;
INSERT INTO messages (session, place, body)
    SELECT s.id, j.key, j.value FROM sessions AS s, json_each(CAST(s.transcript AS TEXT)) AS j
    WHERE json_valid(CAST(s.transcript AS TEXT));
ALTER TABLE sessions DROP COLUMN transcript;
ALTER TABLE approvers ADD COLUMN roles TEXT NOT NULL DEFAULT 'approver';
ALTER TABLE sessions ADD COLUMN parent TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent <> '';
CREATE TABLE facts (
    who TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    value BLOB NOT NULL,
    labels TEXT NOT NULL,
    origin BLOB NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    PRIMARY KEY (who, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE file_labels (
    path TEXT PRIMARY KEY,
    labels TEXT NOT NULL,
    time REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE summaries (
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    labels TEXT NOT NULL,
    created REAL NOT NULL,
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;
"""

STEPS = (_FIRST, _SECOND, _THIRD)
"""What leads to version 1, 2, ...; `remit.state.migrate` moves the records of version 1 into their chain."""


def statements(step: str) -> list[str]:
    """Return the statements of one step."""
    return [statement.strip() for statement in step.split(";") if statement.strip()]
