"""Samples: what was played to reach a score, training included, in tables and on the axis of curves."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path

import pytest

from engine.bench import cell_player, folder, report
from engine.bench.plan import make_plan
from engine.bench.records import TimingRow
from engine.bench.report import images
from engine.bench.report.elements import Line, Panel
from engine.bench.report.figures import curves
from engine.bench.samples import NONE, Samples, training_samples
from engine.bench.suite import read
from engine.errors import BadFile, UsageError
from engine.kinds import EnvironmentContext
from engine.session.control import Control
from engine.session.processor import Stopwatch, processor_seconds
from jitrl_tui.cli import main
from tests.arena.made_runs import made, row

COUNTS = {"episodes": 400, "environment_steps": 24_000, "prompt_tokens": 9_000_000, "completion_tokens": 120_000,
          "processor_s": 7200.0}  # fmt: skip


@pytest.fixture
def run():
    """Two arms with two seeds and three episodes of 10 steps, 100 tokens and 36 processor seconds; one was trained."""
    rows = [
        row(arm, "zork1", seed, episode, 10.0 * episode, prompt_tokens=90, completion_tokens=10, model="local:x")
        for arm in ("jitrl", "grpo") for seed in (1, 2) for episode in (1, 2, 3)
    ]  # fmt: skip
    one = made(rows, [TimingRow(each.cell, 0, each.episode, 5.0, processor_s=36.0) for each in rows])
    for cell in one.manifest["cells"].values():
        if cell["arm"] == "grpo":
            cell["training"] = dict(COUNTS)
    return one


def table(results, name):
    found = next(one for one in report.make(results).tables if one.name == name)
    return {line.title: [cell.text for cell in line.cells] for line in found.rows}


def places(results, per):
    (panel,) = curves(results, per).panels
    return panel.x, {line.label: line.x for line in panel.lines}


# ------------------------------------------------------------------------------------------- reports


@pytest.mark.parametrize(
    ("per", "axis", "jitrl", "grpo"),
    [
        ("episode", "episodes", (1, 2, 3), (5, 6, 7)),
        ("step", "environment steps", (10, 20, 30), (70, 80, 90)),
        ("token", "tokens", (100, 200, 300), (600, 700, 800)),
        ("hour", "processor hours", (0.01, 0.02, 0.03), (0.11, 0.12, 0.13)),
    ],
)
def test_a_curve_begins_after_the_samples_of_training(run, per, axis, jitrl, grpo):
    few = {"episodes": 4, "environment_steps": 60, "prompt_tokens": 400, "completion_tokens": 100, "processor_s": 360.0}
    for cell in run.manifest["cells"].values():
        cell.update({"training": few} if cell["arm"] == "grpo" else {})
    name, found = places(run.results, per)
    assert name == axis
    assert found["jitrl"] == pytest.approx(jitrl)
    assert found["grpo"] == pytest.approx(grpo)


def test_a_curve_that_is_too_narrow_to_see_is_a_dot_with_its_mean(run):
    (panel,) = curves(run.results, "episode").panels
    assert panel.log
    assert {line.label: (line.x, line.y) for line in panel.lines} == {
        "jitrl": ((1.0, 2.0, 3.0), (10.0, 20.0, 30.0)), "grpo": ((403.0,), (20.0,)),
    }  # fmt: skip


def test_the_tables_have_training_and_playing_of_one_life(run):
    assert table(run.results, "samples") == {
        "jitrl": ["0", "0", "0", "3", "30", "300", "3", "30", "300"],
        "grpo": ["400", "24,000", "9,120,000", "3", "30", "300", "403", "24,030", "9,120,300"],
    }
    assert table(run.results, "processor") == {
        "jitrl": ["0.000", "0.030", "0.030"], "grpo": ["2.000", "0.030", "2.030"],
    }  # fmt: skip


def test_episodes_of_training_in_the_cell_count_before_those_that_are_measured():
    rows = [row("jitrl", "zork1", 1, 1, 5.0, phase="train", steps=7), row("jitrl", "zork1", 1, 1, 9.0, leg=1)]
    one = made(rows, tasks=["zork1"], train=["zork1"])
    assert places(one.results, "step") == ("environment steps", {"jitrl": (17.0,)})


def test_the_mean_place_of_units_is_drawn():
    rows = [row("a", "t", seed, episode, 1.0, steps=10 * seed) for seed in (1, 3) for episode in (1, 2)]
    assert places(made(rows).results, "step")[1] == {"a": (20.0, 40.0)}


def test_without_training_the_axis_of_episodes_is_as_before(run):
    for cell in run.manifest["cells"].values():
        cell.pop("training", None)
    assert places(run.results, "episode") == ("episode", {"jitrl": (1.0, 2.0, 3.0), "grpo": (1.0, 2.0, 3.0)})


def test_curves_far_apart_get_a_logarithmic_axis_in_svg(run, tmp_path):
    report.write(run.results, tmp_path / "out", ("md", "html", "svg"), "episode")
    picture = (tmp_path / "out" / "curves.svg").read_text()
    marks = re.findall(r'text-anchor: middle;[^>]* x="([\d.]+)"[^>]*>(1+0*)<', picture)
    assert [mark for _, mark in marks] == ["1", "10", "100"]
    places = [float(place) for place, _ in marks]
    assert places[2] - places[1] == pytest.approx(places[1] - places[0])
    assert [images.short(value) for value in (0.03, 3200, 1e5, 2.5e6, 3e9)] == ["0.03", "3,200", "100k", "2.5M", "3G"]
    assert "Mean score by episodes used, training included." in (tmp_path / "out" / "report.md").read_text()
    assert ">Samples<" in (tmp_path / "out" / "report.html").read_text()


def test_processor_hours_are_among_what_differs_from_run_to_run(run, tmp_path):
    files = []
    for name, factor in (("one", 1), ("two", 5)):
        run.timings = [dataclasses.replace(each, processor_s=36.0 * factor) for each in run.timings]
        report.write(run.results, tmp_path / f"{name}-out", ("md", "csv"), "hour")
        files.append({file.name: file.read_bytes() for file in (tmp_path / f"{name}-out").iterdir()})
    assert files[0]["report.md"] == files[1]["report.md"]
    assert files[0]["report.csv"] == files[1]["report.csv"]
    assert files[0]["timings.md"] != files[1]["timings.md"]


def written(run, saves):
    """Write a made run as one that was played; return its folder."""
    place = run.write(saves / "bench" / "made")
    for name in run.manifest["cells"]:
        (place / "cells" / name).mkdir(parents=True)
        mine = [dataclasses.asdict(one) for one in run.rows if one.cell == name]
        (place / "cells" / name / "episodes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in mine))
    return place


def test_without_matplotlib_the_command_writes_all_else_and_says_how_to_get_figures(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    command = ["--saves", str(tmp_path), "bench", "report", str(written(run, tmp_path))]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert {Path(line).suffix for line in out.splitlines()} == {".md", ".csv", ".tex", ".html"}
    assert "all but the figures was written" in err
    assert "jitrl up report" in err
    assert main([*command, "--format", "png"]) == 3


def test_the_command_draws_per_token(run, tmp_path):
    place = written(run, tmp_path / "saves")
    given = ["--saves", str(tmp_path / "saves"), "bench", "report", str(place), "--format", "svg", "--per", "token"]
    assert main(given) == 0
    assert ">tokens<" in (place / "report" / "curves.svg").read_text()
    with pytest.raises(UsageError, match="curves cannot be drawn per 'day'; choose among: episode, step, token, hour"):
        report.make(run.results, "day")


@pytest.mark.parametrize("ends", [(1, 50), (1, 3200), (0.02, 9e7), (400, 403)])
def test_marks_of_a_logarithmic_axis_lie_on_it_and_are_few(ends):
    panel = Panel("", "", "", (Line("", 0, tuple(map(float, ends)), (0.0, 1.0)),), log=True)
    left, right, *_ = images.span(panel)
    marks = images.powers(left, right)
    assert 0 < left < ends[0] < ends[1] < right
    assert all(left <= mark <= right for mark in marks)
    assert len(marks) <= 11


# ----------------------------------------------------------------------------------- trained models


def test_a_folder_of_a_trained_model_says_what_it_took(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    assert training_samples(f"local:{tmp_path}/model.gguf") is None
    (tmp_path / "manifest.json").write_text(json.dumps({"samples": COUNTS, "more": 1}))
    assert training_samples(f"local:{tmp_path}") == training_samples(f"local:{tmp_path}/model.gguf") == Samples(
        **COUNTS
    )
    assert training_samples("openai/test", str(tmp_path)) == Samples(**COUNTS)
    assert training_samples("openai/test") is None
    assert training_samples("local/smollm2") is None


def test_counts_that_are_none_are_refused(tmp_path):
    for samples in ({"episodes": -1}, {"episodes": "many"}, {"processor_s": None}, [], {"environment_steps": 1.5}):
        (tmp_path / "manifest.json").write_text(json.dumps({"samples": samples}))
        with pytest.raises(BadFile, match="its samples are no counts"):
            training_samples(f"local:{tmp_path}")
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match="does not say what a model was trained with"):
        training_samples("openai/test", str(tmp_path))


def test_the_manifest_of_a_run_has_the_training_of_its_models(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"samples": COUNTS}))
    arms = [{"name": "random", "agent": "random"},
            {"name": "grpo", "agent": "static", "model": "openai/served", "trained": str(tmp_path)}]  # fmt: skip
    suite = read({"tasks": ["pantry"], "arms": arms}, "s", "s")
    place = folder.create(
        tmp_path / "saves", make_plan(suite, EnvironmentContext(tmp_path), "s"), "run", "jitrl bench run s"
    )
    cells = json.loads((place / "manifest.json").read_text())["cells"].values()
    assert [cell.get("training") for cell in cells] == [None, COUNTS]
    results = report.load(place)
    assert [results.before(name) for name in results.cells] == [NONE, Samples(**COUNTS)]


# ------------------------------------------------------------------------------------ processor time


@pytest.mark.usefixtures("own_interpreters")  # forks of `tests.warm` are nobody's children
def test_episodes_that_were_played_have_processor_seconds_and_the_rows_stay_the_same(tmp_path):
    suite = read({"tasks": ["pantry"], "arms": [{"name": "r", "agent": "random"}], "steps": 4, "episodes": 2}, "s", "s")
    (cell,) = make_plan(suite, EnvironmentContext(tmp_path), "s").cells
    files = []
    for name in ("one", "two"):
        cell_player.play(cell, tmp_path / name / "cell", tmp_path, lambda message: None, Control())
        timings = [json.loads(line) for line in (tmp_path / name / "cell" / "timings.jsonl").read_text().splitlines()]
        assert len(timings) == 2
        assert all(0 < one["processor_s"] < 60 for one in timings)
        files.append((tmp_path / name / "cell" / "episodes.jsonl").read_bytes())
    assert files[0] == files[1]
    assert b"processor" not in files[0]


@pytest.mark.usefixtures("own_interpreters")
def test_two_sessions_that_take_turns_do_not_count_each_other(tmp_path):
    arms = [{"name": "j", "agent": "jitrl", "model": "prior/verbs", "workers": 2}]
    suite = read({"tasks": ["pantry"], "arms": arms, "steps": 8, "episodes": 2}, "s", "s")
    (cell,) = make_plan(suite, EnvironmentContext(tmp_path), "s").cells
    before = processor_seconds()
    cell_player.play(cell, tmp_path / "cell", tmp_path, lambda message: None, Control())
    taken = processor_seconds() - before
    timings = [json.loads(line) for line in (tmp_path / "cell" / "timings.jsonl").read_text().splitlines()]
    assert sum(one["processor_s"] for one in timings) <= taken + 0.1


def burn(seconds: float) -> None:
    until = processor_seconds() + seconds
    while processor_seconds() < until:
        sum(range(20_000))


def test_a_stopwatch_counts_what_is_taken_but_not_the_turns_of_others():
    watch = Stopwatch()
    burn(0.1)
    with watch.paused():
        burn(0.3)
    burn(0.05)
    assert 0.14 <= watch.lap() < 0.3
    assert watch.lap() < 0.05
