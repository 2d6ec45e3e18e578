"""Records as earlier versions wrote them, brought to the form they have now. Works on plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UPDATE = (
    "neighbours", "valuation", "advantage", "advantage_normalised", "z_prime", "beta", "without_memory", "equation",
)  # fmt: skip


def decision_of_before(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a decision whose update lay beside the others: it is a part of its own now."""
    if "parts" in data or "valuation" not in data:
        return data
    update = {name: data[name] for name in _UPDATE if name in data}
    rest = {name: value for name, value in data.items() if name not in _UPDATE}
    return {**rest, "parts": [{"part": "Update", **update}]}
