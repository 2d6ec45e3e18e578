"""docs/bench.md says what the code does: keys of suites with their defaults, options, and tables made from the code."""

from __future__ import annotations

import argparse
import dataclasses
import re
import tomllib
from typing import Any

import pytest

from engine.bench import suite as suites
from engine.errors import UsageError
from jitrl_tui.commands import bench
from tests import write_suites

PAGE = write_suites.FILE.read_text(encoding="utf-8")
SUITE: dict[str, Any] = {"title": "t", "tasks": ["pantry"], "arms": [{"name": "A", "agent": "jitrl"}]}
SWEEP: dict[str, Any] = {"setting": "k", "values": [2, 5]}
PLACES = {"a suite": (), "an arm": ("arms", 0), "a sweep": ("sweep",), "the report": ("report",)}
"""Where the table of each heading is in a suite."""


def keys(of: str) -> dict[str, str]:
    """Return the keys in the table with this heading, and their defaults as the page writes them."""
    section = re.search(rf"^### Keys of {of}\n(.*?)^##", PAGE, re.DOTALL | re.MULTILINE)
    assert section is not None
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section[1], re.MULTILINE))


def names(cls: type[Any]) -> set[str]:
    """Return the fields of a record."""
    return {spec.name for spec in dataclasses.fields(cls)}


def with_key(of: str, key: str, value: Any) -> dict[str, Any]:
    """Return a suite with one key set; without it for None."""
    data = {**SUITE, "arms": [dict(SUITE["arms"][0])], "sweep": dict(SWEEP), "report": {}}
    table: Any = data
    for step in PLACES[of]:
        table = table[step]
    if value is None:
        del table[key]
    else:
        table[key] = value
    return data


@pytest.mark.parametrize(("of", "known"), [
    ("a suite", (names(suites.Suite) - {"name"}) | {"sweep"}),
    ("an arm", names(suites.Arm) | {"model"}),
    ("the report", names(suites.ReportPlan)),
])  # fmt: skip
def test_the_page_has_every_key(of, known):
    assert set(keys(of)) == known


ALL = [(of, key, said) for of in PLACES for key, said in keys(of).items()]


@pytest.mark.parametrize(("of", "key", "said"), [row for row in ALL if row[2].startswith("`")])
def test_a_key_has_the_default_on_the_page(of, key, said):
    value = tomllib.loads(f"x = {said.strip('`')}")["x"]
    assert suites.read(with_key(of, key, value), "s", "s") == suites.read(with_key("a suite", "title", "t"), "s", "s")


@pytest.mark.parametrize(("of", "key"), [row[:2] for row in ALL if row[2] == "required"])
def test_a_key_that_is_required_on_the_page_cannot_be_left_out(of, key):
    with pytest.raises(UsageError, match=f"the key '{key}' is missing"):
        suites.read(with_key(of, key, None), "s", "s")


def test_the_suite_on_the_page_can_be_read():
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    suite = suites.parse(text, "page", "the page")
    assert [arm.name for arm in suite.arms] == [
        "Static", "JitRL, no verbs", "JitRL, k = 2", "JitRL, k = 5", "JitRL, k = 10"
    ]  # fmt: skip


def test_the_page_has_every_option_of_the_command():
    common = argparse.ArgumentParser(add_help=False)
    parser = argparse.ArgumentParser()
    bench.register(parser.add_subparsers(), common)
    options, pending = set(), [parser]
    while pending:
        for action in pending.pop()._actions:
            options |= {name for name in action.option_strings if name.startswith("--") and name != "--help"}
            if isinstance(action, argparse._SubParsersAction):
                pending += action.choices.values()
    assert "--max-usd" in options
    assert [name for name in sorted(options) if f"`{name}" not in PAGE] == []


def test_the_tables_of_suites_and_measures_are_what_the_code_says():
    assert write_suites.page(PAGE) == PAGE, "python -m tests.write_suites"
