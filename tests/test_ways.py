"""The ways of a step, a key and an episode are as docs/architecture.md shows them, and short."""

from __future__ import annotations

import json
import sys

import pytest

from tests import commands, ways


@pytest.fixture(scope="module")
def found() -> list[ways.Way]:
    """The ways as they are, in a process of their own."""
    command = [sys.executable, "-m", "tests.ways", "--json"]
    told = json.loads(commands.run(command, check=True, capture_output=True, cwd=ways.PAGE.parents[1]).stdout)
    return [ways.Way(way["title"], way["about"], [ways.Part(**part) for part in way["parts"]]) for way in told]


def test_the_page_shows_the_ways_as_they_are(found):
    text = ways.PAGE.read_text(encoding="utf-8")
    shown = ways.BEGIN + text.partition(ways.BEGIN)[2].partition(ways.END)[0] + ways.END
    assert ways.unordered(shown) == ways.unordered(ways.section(found)), "python -m tests.ways"


def test_another_module_on_a_way_would_be_seen(found):
    shown = ways.section(found)
    assert ways.unordered(shown) != ways.unordered(shown.replace("`remote.host`", "`remote.host`, `elsewhere`", 1))
    assert ways.unordered(shown.replace("`loop`, `shared`", "`shared`, `loop`")) == ways.unordered(shown)


def test_no_way_passes_more_than_a_dozen_rooms(found):
    assert {way.title: len(way.rooms) for way in found if len(way.rooms) > ways.MOST} == {}


def test_a_way_begins_and_ends_where_it_should(found):
    step, key, episode = found
    assert step.rooms[0] == "engine/session"
    assert {"engine/agents", "engine/values", "engine/games"} <= {*step.rooms}
    assert [part.title for part in key.parts] == ["the screen", "the session"]
    assert key.parts[0].rooms["jitrl_tui/screens"]
    assert "engine/games" in key.parts[1].rooms  # the action is done
    assert {*episode.rooms} >= {"engine/memory"}
    assert not any(room.startswith("jitrl_tui") for room in episode.rooms)
