"""Benchmarks that were run, on the screen: what is shown is what their folder has."""

from __future__ import annotations

import json
import shutil

import pytest

from engine.bench.manifest import read_manifest
from engine.bench.progress import BenchProgress
from engine.bench.reader import messages
from engine.errors import BadFile
from jitrl_tui.runs.bench_source import BenchInfo, StoredBench
from tests.arena.running import SMALL, planned, play, rows
from tests.tui.driving import settled, until
from tests.tui.test_bench_screen import drive


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A finished run of the small suite, with its cells."""
    saves = tmp_path_factory.mktemp("saves")
    _, folder = play(SMALL, saves)
    _, cells = planned(SMALL, tmp_path_factory.mktemp("plan"))
    return folder, cells


@pytest.fixture
def stored(original, tmp_path):
    """A copy of that run."""
    shutil.copytree(original[0], tmp_path / "run")
    return tmp_path / "run", original[1]


def told(folder, cells) -> BenchProgress:
    progress = BenchProgress(cells)
    for message in messages(folder, read_manifest(folder), cells):
        progress.apply(message)
    return progress


def change(folder, name, **fields) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["cells"][name].update(fields)
    path.write_text(json.dumps(manifest))


def test_a_finished_run_has_the_scores_of_its_rows(stored):
    folder, cells = stored
    progress = told(folder, cells)
    found = rows(folder)
    assert progress.counts["finished"] == len(cells)
    assert progress.episodes_done == len(found) == progress.episodes_of
    for name, one in progress.cells.items():
        assert list(one.scores) == [row["score"] for row in found if row["cell"] == name]
    assert progress.speed is None  # Nothing was played now.
    shutil.rmtree(folder / "cells")  # The rows of the whole run are enough.
    assert [one.scores for one in told(folder, cells).cells.values()] == [
        one.scores for one in progress.cells.values()
    ]


def test_states_are_those_of_the_manifest_and_what_was_being_played_is_stopped(stored):
    folder, cells = stored
    change(folder, cells[0].name, state="failed", error="the model is gone")
    change(folder, cells[1].name, state="running")
    progress = told(folder, cells)
    assert progress.cells[cells[0].name].error == "the model is gone"
    assert [one.state for one in progress.cells.values()][:3] == ["failed", "stopped", "finished"]


def test_a_torn_last_line_is_left_out_and_other_damage_is_told(stored):
    folder, cells = stored
    path = folder / "cells" / cells[0].name / "episodes.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert told(folder, cells).cells[cells[0].name].done == 2
    path.write_bytes(b"{}\n" + whole)
    with pytest.raises(BadFile, match=r"line 1 of .*episodes\.jsonl"):
        told(folder, cells)
    path.write_bytes(whole.replace(b'"leg": 0', b'"leg": 7').replace(b'"leg":0', b'"leg":7'))
    with pytest.raises(BadFile, match="no session 7"):
        told(folder, cells)
    (folder / "manifest.json").write_text("[")
    with pytest.raises(BadFile, match=r"manifest\.json"):
        read_manifest(folder)


def test_a_stored_run_is_shown_and_left_without_a_question(stored):
    folder, cells = stored
    source = StoredBench(BenchInfo("run", "Small", cells, folder=folder))

    async def look(pilot, app):
        await until(pilot, lambda: app.bench.over)
        text = await settled(pilot)
        assert "■ finished" in text
        assert f"{len(cells)}/{len(cells)} cells" in text
        await pilot.press("s")
        await pilot.press("q")
        await until(pilot, lambda: app.return_value is not None)

    assert drive(source, look, told=False).return_value == 0


def test_a_run_that_cannot_be_read_says_why(stored):
    folder, cells = stored
    (folder / "manifest.json").unlink()

    async def look(pilot, app):
        await until(pilot, lambda: app.bench.over)
        assert "manifest.json" in "".join(line.strip("│┃ ") for line in (await settled(pilot)).splitlines())
        await pilot.press("q")
        await until(pilot, lambda: app.return_value is not None)

    source = StoredBench(BenchInfo("run", "Small", cells, folder=folder))
    assert drive(source, look, told=False).return_value == source.exit_code != 0
