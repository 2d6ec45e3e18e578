"""Rows of a shared memory as somebody who means harm writes them."""

from __future__ import annotations

import json
import zlib

from tests.memory.postgres import Cluster

BAD = "game/bad"
MOST = 9223372036854775807
LARGE_MB = 200
"""Size of what is too large. `limits.LINE` are 64."""


ROWS: dict[str, tuple[str, object]] = {
    "a bomb": ("payload = %s", lambda: zlib.compress(b'{"a":"' + b"a" * (LARGE_MB << 20) + b'"}')),
    "a bomb of lists": ("payload = %s", lambda: zlib.compress(b'{"a":[' + b"[]," * (8 << 20) + b"[]]}")),
    "rubbish": ("payload = %s", b"xx"),
    "a number": ("payload = %s", zlib.compress(b"5")),
    "wrong types": ("payload = %s", zlib.compress(json.dumps({"uid": 5, "steps": "x"}).encode())),
    "a negative id": ("doc = %s", -5),
    "a huge id": ("doc = %s", MOST),
    "a negative entry": ("first = %s", -5),
    "a huge entry": ("first = %s", MOST),
    "a negative number": ("number = %s", -3),
    "no number": ("number = %s", None),
}
"""Changes of one row of the log, bombs made when they are wanted. It is left out, with its number."""
SCOPES: dict[str, tuple[str, object]] = {
    "rows of no table": ("next_ids = %s", "{}"),
    "an empty generation": ("generation = %s", ""),
    "a long generation": ("generation = %s", "x" * 1000),
    "ids in a list": ("next_ids = %s", "[1]"),
    "ids that are texts": ("next_ids = %s", '{"episodes":"x"}'),
    "negative ids": ("next_ids = %s", '{"episodes":-1}'),
    "a header of a list": ("header = %s", "[1]"),
    "a header with a text": ("header = %s", '{"about":"x"}'),
    "a header without a time": ("header = %s", '{"created":"x"}'),
    "a huge header": (
        "header = ('{\"about\":{\"x\":\"' || repeat('x', %s) || '\"}}')::json",
        lambda: LARGE_MB << 19,
    ),
    "a negative next entry": ("next_entry = %s", -5),
    "a huge next entry": ("next_entry = %s", MOST),
    "a huge next number": ("next_number = %s", MOST),
    "a negative end": ("seq = %s", -1),
    "a huge end": ("seq = %s", MOST),
}
"""Changes of the row of a scope. The scope is refused."""


def spoil(cluster: Cluster, address: str, what: str, scope: str = BAD) -> None:
    """Do this to the second row of a scope, or to the scope."""
    import psycopg

    name = address.partition("?")[0].rpartition("/")[2]
    change, value = (ROWS | SCOPES)[what]
    if what in ROWS:
        query = f"UPDATE jitrl.log SET {change} WHERE doc = 2 AND scope = (SELECT id FROM jitrl.scopes WHERE name = %s)"
    else:
        query = f"UPDATE jitrl.scopes SET {change} WHERE name = %s"
    with psycopg.connect(host=str(cluster.folder), user="jitrl", dbname=name, autocommit=True) as connection:
        assert connection.execute(query, [value() if callable(value) else value, scope]).rowcount == 1
