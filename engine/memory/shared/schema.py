"""The tables of a shared memory, and how a database gets them: numbered steps, forward only.

`docs/memory-format.md` describes the tables. A database is changed only in a transaction that holds an advisory
lock, so workers that start at the same moment do not collide.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.errors import BadFile, MissingError
from engine.pages import page

if TYPE_CHECKING:
    from psycopg import Connection

FORMAT = "jitrl-shared-memory"
OLDEST_SERVER = 12
_LOCK = 0x6A6974726C  # "jitrl"

MIGRATIONS = (
    """
    CREATE TABLE jitrl.about (
        format text NOT NULL,
        version integer NOT NULL,
        identity text NOT NULL
    );
    CREATE TABLE jitrl.scopes (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key bytea NOT NULL UNIQUE,
        space text NOT NULL,
        name text NOT NULL,
        generation text NOT NULL,
        seq bigint NOT NULL,
        next_entry bigint NOT NULL,
        next_number bigint NOT NULL,
        next_ids json NOT NULL,
        header json NOT NULL
    ) WITH (fillfactor = 50);
    CREATE TABLE jitrl.log (
        scope bigint NOT NULL REFERENCES jitrl.scopes (id) ON DELETE CASCADE,
        seq bigint NOT NULL,
        tbl text NOT NULL,
        doc bigint NOT NULL,
        key bytea,
        number bigint,
        first bigint,
        steps integer NOT NULL,
        payload bytea NOT NULL,
        PRIMARY KEY (scope, seq),
        UNIQUE (scope, tbl, doc),
        UNIQUE (scope, tbl, key)
    );
    ALTER TABLE jitrl.log ALTER COLUMN payload SET STORAGE EXTERNAL;
    """,
    """
    CREATE TABLE jitrl.live (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL,
        origin text NOT NULL,
        head text NOT NULL,
        sign text NOT NULL,
        stream text NOT NULL,
        over boolean NOT NULL,
        seen timestamptz NOT NULL,
        wanted timestamptz NOT NULL,
        UNIQUE (name, origin)
    ) WITH (fillfactor = 50);
    CREATE TABLE jitrl.live_lines (
        live bigint NOT NULL REFERENCES jitrl.live (id) ON DELETE CASCADE,
        seq bigint NOT NULL,
        payload bytea NOT NULL,
        PRIMARY KEY (live, seq)
    );
    ALTER TABLE jitrl.live_lines ALTER COLUMN payload SET STORAGE EXTERNAL;
    CREATE TABLE jitrl.live_commands (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        live bigint NOT NULL REFERENCES jitrl.live (id) ON DELETE CASCADE,
        line text NOT NULL
    );
    """,
)
"""Step n brings a database from version n to version n + 1."""

VERSION = len(MIGRATIONS)


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """What a database says of itself: the version of its tables, and a name that no other database has."""

    version: int
    identity: str


def prepare(connection: Connection[Any], where: str) -> DatabaseInfo:
    """Return what the database says of itself; an empty or older one is brought to this version first.

    Args:
        connection: In autocommit.
        where: How to call the database in messages.

    Raises:
        MissingError: The server is too old, the database is not in UTF-8, or the role must not make the tables.
        BadFile: The tables are none of ours, or from a newer version. They are left as they are.
    """
    from psycopg import errors

    if connection.info.server_version < OLDEST_SERVER * 10_000:
        raise MissingError(
            f"the server of {where} is PostgreSQL {connection.info.server_version // 10_000}; a shared memory needs "
            f"{OLDEST_SERVER} or newer"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise MissingError(
            f"the database of {where} has the encoding {encoding}; a shared memory needs UTF8 (createdb -E UTF8)"
        )
    found = _about(connection, where)
    if found is not None and found.version == VERSION:
        return found
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            found = _about(connection, where)
            if found is None:
                connection.execute("CREATE SCHEMA jitrl")
            for step in MIGRATIONS[found.version if found else 0 :]:
                connection.execute(step)
            if found is None:
                row = (FORMAT, VERSION, secrets.token_hex(16))
                connection.execute("INSERT INTO jitrl.about (format, version, identity) VALUES (%s, %s, %s)", row)
            else:
                connection.execute("UPDATE jitrl.about SET version = %s", [VERSION])
    except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction):
        raise MissingError(
            f"{where} has no tables of this version yet, and this role must not make them: let its owner run "
            "`jitrl memory ls --memory ADDRESS` once"
        ) from None
    made = _about(connection, where)
    if made is None:
        raise BadFile(f"the tables of {where} are gone again; is another program using the schema jitrl?")
    return made


def _about(connection: Connection[Any], where: str) -> DatabaseInfo | None:
    """Return what the database says of itself, None if it has no schema of this name."""
    from psycopg import errors

    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'jitrl'").fetchone() is None:
        return None
    try:
        rows = connection.execute("SELECT format, version, identity FROM jitrl.about").fetchall()
    except (errors.UndefinedTable, errors.UndefinedColumn):
        rows = []
    except errors.InsufficientPrivilege:
        raise MissingError(
            f"this role must not read the schema jitrl of {where}; the rights that it needs: {page('scale')}"
        ) from None
    if len(rows) != 1 or rows[0][0] != FORMAT:
        raise BadFile(
            f"{where} has a schema jitrl that is no shared memory; it is left as it is. Choose another database"
        )
    if rows[0][1] > VERSION:
        raise BadFile(
            f"{where} was made by a newer jitrl (version {rows[0][1]}, this one knows up to {VERSION}); it is left as "
            "it is. Update jitrl to use it"
        )
    return DatabaseInfo(int(rows[0][1]), str(rows[0][2]))
