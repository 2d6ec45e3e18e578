"""The first line of a journal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import limits
from engine.errors import BadFile

FORMAT = "jitrl-journal"
SCHEMA = 1
"""Version of the documents."""
_GENERATION = re.compile("[0-9a-zA-Z]{0,64}")
"""Names of files are made of it."""


def parsed_header(payload: bytes) -> dict[str, Any] | None:
    """Return the header that a payload holds, its fields in the form they should have; None if it holds none."""
    try:
        header = limits.parsed(payload)
        limits.check_json(header, "a header")
    except BadFile:
        return None
    if not isinstance(header, dict) or header.get("format") != FORMAT or not limits.is_whole(header.get("schema")):
        return None
    generation = header.setdefault("generation", "")
    if not isinstance(generation, str) or not _GENERATION.fullmatch(generation):
        return None
    about, ids = header.setdefault("about", {}), header.setdefault("next_ids", {})
    if not isinstance(about, dict) or not isinstance(ids, dict):
        return None
    return header if all(limits.is_whole(number) and number > 0 for number in ids.values()) else None


def check_schema(header: Mapping[str, Any], path: Path) -> None:
    """Make sure that this program reads documents of a header's schema.

    Raises:
        BadFile: It is a newer one, or one that is no longer known.
    """
    version = header["schema"]
    if version > SCHEMA:
        raise BadFile(
            f"{path} was written by a newer jitrl (schema {version}, this one knows up to {SCHEMA}); "
            "it is left as it is. Update jitrl to use it"
        )
    if version < SCHEMA:
        raise BadFile(f"{path} has schema {version}, which this jitrl can no longer read")
