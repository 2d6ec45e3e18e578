"""Checks the state of a site after an episode: what a query reads from its database must be as the task says.

A check in a task's `eval` has `evaluator` (NAME), `site`, `query` (SQL) and `expected` (rows). A site with several
databases has them in one folder; `file` names another than its main one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.texts import clipped

NAME = "StateEvaluator"
"""What `evaluator` is in such a check; WebArena-Verified knows no such one."""
_LONGEST = 200
"""Most characters of the state in a message."""


def check(wanted: Sequence[Mapping[str, Any]], databases: Mapping[str, Path]) -> tuple[float | None, str]:
    """Return 1.0 or 0.0, and a sentence on why it is not 1; None if a database cannot be read.

    Args:
        wanted: The checks of a task.
        databases: SQLite files by WebArena's site names.
    """
    for each in wanted:
        file = databases.get(each["site"])
        if file is None:
            return None, f"only the {each['site']} site of `jitrl web up` tells its state, and this is another one"
        file = file.with_name(each.get("file", file.name))
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
                rows = [list(row) for row in database.execute(each["query"])]
        except sqlite3.Error as error:
            return None, f"the state of the {each['site']} site cannot be read ({error})"
        if rows != each["expected"]:
            return 0.0, f"the site's data are {clipped(str(rows), _LONGEST)}, not {each['expected']}"
    return 1.0, ""
