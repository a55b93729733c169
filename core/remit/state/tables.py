"""The tables of `state.db` and their version."""

from __future__ import annotations

VERSION = 1
"""Version of the tables that this Remit writes; kept in `user_version` of the file."""

APPLICATION = 0x52454D54
"""`REMT`: marks the file as Remit's own in `application_id`."""

TABLES = """
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
