"""Runs on disk: curve, manifest, checkpoints, and what they become in benchmarks."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from engine.bench import samples, suite
from engine.bench.published import read_published
from engine.bench.report import results
from engine.environments import kind_of
from engine.errors import BadFile, UsageError
from engine.llm.listed import list_price
from engine.settings import SessionConfig
from engine.train import run_files, runs
from engine.train.run_files import TrainingJob, WeightUpdate
from engine.train.usage import ProcessUsage, UsageCounter, together
from jitrl_tui.cli import main


def begun(saves: Path, name: str, kind: str = "grpo") -> TrainingJob:
    """Write a run of the Pantry with four steps an episode."""
    settings = kind_of("pantry").profile("default", step_limit=4, selection="sample", candidates=1000)
    job = TrainingJob(
        kind, name, str(run_files.runs_folder(saves) / name), str(saves), str(saves / "cache"), "local/smollm2",
        ("pantry",), SessionConfig("pantry", "static", "local/smollm2", settings=settings, memory="own"), {"group": 4},
    )  # fmt: skip
    return runs.begin(job)


UPDATES = [WeightUpdate(1, 4, 16, 100, 10, 90, 1.5, 2.0, (1.0, 2.0), (1.0, 2.0), 0.1, 0.0, 1.0, 0.5, 0.0),
           WeightUpdate(2, 8, 32, 200, 20, 180, 3.0, 4.0, (2.0, 2.0), (2.0, 2.0), None, None, 1.0)]  # fmt: skip


def test_a_curve_is_read_as_it_was_written(tmp_path):
    run_files.write_curve(tmp_path, UPDATES)
    assert run_files.read_curve(tmp_path) == UPDATES
    with (tmp_path / run_files.CURVE).open("a") as file:
        file.write('{"update": 3, "epis')  # a kill
    assert run_files.read_curve(tmp_path) == UPDATES
    (tmp_path / run_files.CURVE).write_text("nonsense\n")
    with pytest.raises(BadFile, match=r"the curve .* is damaged"):
        run_files.read_curve(tmp_path)


def test_reports_find_what_a_run_has_taken(tmp_path):
    run_files.write_curve(tmp_path, UPDATES)
    (tmp_path / "model.gguf").write_bytes(b"")
    for model in (f"local:{tmp_path}", f"local:{tmp_path / 'model.gguf'}"):
        assert samples.training_samples(model) == samples.Samples(8, 32, 200, 20, 3.0)
        assert samples.base(model) == ""
        run_files.add_to_manifest(tmp_path, model="local/smollm2")
        assert samples.base(model) == "local/smollm2"
        run_files.add_to_manifest(tmp_path, model=3)


SUITE = """
tasks = ["pantry"]
episodes = 2
steps = 4
seeds = 2
models = ["prior/verbs", "prior/uniform"]
[[arms]]
name = "A"
agent = "static"
recorded = "{sessions}"
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A saves folder with a session of three episodes and a benchmark "a" with two of them; and its scores."""
    saves = tmp_path_factory.mktemp("played")
    common = ["--saves", str(saves), "run", "pantry", "--agent", "static", "--model", "prior/verbs", "--episodes", "3",
              "--steps", "4", "--fresh", "--quiet", "--set", "selection=sample"]  # fmt: skip
    assert main([*common, "--json", str(saves / "played.json")]) == 0
    assert bench(saves, "a", SUITE) == 0
    return saves, [one["score"] for one in json.loads((saves / "played.json").read_text())["episodes"]]


def bench(saves: Path, name: str, text: str) -> int:
    """Play a suite of recorded episodes."""
    (saves / "suite.toml").write_text(text.format(sessions=saves / "sessions"))
    words = ["bench", str(saves / "suite.toml"), "--quiet", "--jobs", "1", "--name", name]
    return main(["--saves", str(saves), *words])


def test_rows_of_a_trained_model_stand_with_the_one_it_was_made_from(played, tmp_path):
    place = tmp_path / "a"
    shutil.copytree(played[0] / "bench" / "a", place)
    assert results.load(place).models == ("prior/verbs", "prior/uniform")
    written = json.loads((place / "manifest.json").read_text())
    cell = next(cell for cell in written["cells"].values() if cell["model"] == "prior/uniform")
    cell |= {"base": "prior/verbs", "arm": "B"}
    rows = (place / "episodes.jsonl").read_text().splitlines()
    changed = [row.replace('"arm":"A"', '"arm":"B"') if "prior/uniform" in row else row for row in rows]
    (place / "episodes.jsonl").write_text("\n".join(changed) + "\n")
    (place / "manifest.json").write_text(json.dumps(written))
    found = results.load(place)
    assert found.models == ("prior/verbs",)
    assert [(arm.name, arm.model) for arm in found.arms] == [("A", "prior/verbs"), ("B", "prior/verbs")]
    assert {row.model for row in found.rows} == {"prior/verbs"}


def test_counts_go_on_from_an_update(tmp_path):
    counts = UsageCounter.of(UPDATES[1])

    @dataclasses.dataclass
    class Episode:
        gains: tuple[float, ...] = (0.0, 1.0, 0.0)
        prompt_tokens: int = 30
        completion_tokens: int = 3
        trained_tokens: int = 33

    counts.add(Episode(), passes=2)
    now = counts.now()
    assert (now.episodes, now.environment_steps, now.prompt_tokens, now.completion_tokens) == (9, 35, 230, 23)
    assert now.trained_tokens == 180 + 66
    assert now.processor_s > 3.0
    both = together([ProcessUsage(2, 4, 6, 8, 10, 5.0, 7.0), ProcessUsage(1, 1, 1, 1, 1, 1.0, 9.0)])
    assert both == ProcessUsage(3, 5, 7, 9, 11, 6.0, 9.0)  # they ran at the same time


def test_the_manifest_says_what_was_trained(tmp_path):
    job = begun(tmp_path, "one")
    run_files.add_to_manifest(Path(job.folder), data={"walkthroughs": True})
    written = run_files.read_manifest(Path(job.folder))
    assert (written["kind"], written["model"], written["tasks"]) == ("grpo", "local/smollm2", ["pantry"])
    assert written["settings"] == {"group": 4}
    assert written["data"] == {"walkthroughs": True}
    assert "updates" not in written  # not finished


def test_the_last_whole_checkpoint_is_gone_on_from(tmp_path):
    assert run_files.latest_checkpoint(tmp_path) is None
    for number, files in ((2, ("trainer_state.json", "a")), (10, ("trainer_state.json", "a")), (12, ("a",)), (14, ())):
        (tmp_path / f"checkpoint-{number}").mkdir()
        for file in files:
            (tmp_path / f"checkpoint-{number}" / file).write_text("{}")
    (tmp_path / "checkpoint-14" / "trainer_state.json").write_text("{}")  # without what belongs to it
    assert run_files.latest_checkpoint(tmp_path, "a").name == "checkpoint-10"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-10", "checkpoint-2"]


def test_runs_are_listed_and_shown(tmp_path, capsys):
    job = begun(tmp_path, "one")
    run_files.write_curve(Path(job.folder), UPDATES)
    assert main(["--saves", str(tmp_path), "train", "ls"]) == 0
    assert " ".join(capsys.readouterr().out.split()) == "one grpo begun 2 updates, 8 episodes local/smollm2"
    assert main(["--saves", str(tmp_path), "train", "show", "one"]) == 0
    shown = capsys.readouterr().out
    assert "     2         8      2.00   2.00" in shown
    assert "8 episodes with 32 steps and 220 tokens" in shown


def test_a_suite_compares_runs(tmp_path):
    begun(tmp_path, "one")
    unwritten = runs.load(tmp_path, "one")
    with pytest.raises(UsageError, match="one is not written yet; write it with: jitrl train write one"):
        runs.suite([unwritten], 3)
    for name, kind in (("one", "grpo"), ("two", "sft")):
        run_files.add_to_manifest(Path(begun(tmp_path, name, kind).folder), updates=2)
    text = runs.suite([runs.load(tmp_path, name) for name in ("one", "two")], 3)
    made = suite.parse(text, "compare", "compare")
    assert [arm.name for arm in made.arms] == ["Static", "JitRL", "one", "one (online)", "two"]
    assert (made.episodes, made.steps, made.tasks) == (3, 4, ("pantry",))
    assert made.arms[2].models == (f"local:{tmp_path / 'train/runs/one'}",)
    assert made.arms[3].recorded == str(tmp_path / "train/runs/one/rollouts")


def test_a_model_of_this_machine_costs_nothing(tmp_path):
    assert list_price(f"local:{tmp_path}", 1000, 100) == 0.0


def test_recorded_episodes_are_a_row(played, capsys):
    saves, scores = played
    rows = [json.loads(line) for line in (saves / "bench/a/episodes.jsonl").read_text().splitlines()]
    rows = [row for row in rows if "prior/verbs" in json.dumps(row)]
    assert [row["score"] for row in rows] == scores[:2]
    assert {row["seed"] for row in rows} == {1}
    assert bench(saves, "b", SUITE.replace("episodes = 2", "episodes = 9")) != 0
    assert "only 3 episodes are recorded in" in capsys.readouterr().err
    assert bench(saves, "c", SUITE.replace("steps = 4", "steps = 5")) != 0
    assert "had 4 steps at most, and those of the suite have 5" in capsys.readouterr().err


def test_the_papers_sweep_is_told_beside_its_own_numbers(tmp_path, capsys):
    rows = tomllib.loads((resources.files("engine.train") / "grpo_sweep.toml").read_text())["runs"]
    named = [f"rollouts {row['group']}, batch {row['batch']}, epochs {row['epochs_of_batch']}, learning rate "
             f"{'1e-6' if row['learning_rate'] == 1e-6 else '1e-5'}" for row in rows]  # fmt: skip
    assert named == [row.name for row in read_published("grpo_sweep").rows]
    for number, row in enumerate(rows):
        name = "a-g{group}-b{batch}-e{epochs_of_batch}-lr{learning_rate:g}".format(**row)
        job = begun(tmp_path, name)
        scored = [dataclasses.replace(one, evaluation=(number + one.update * 1.0,)) for one in UPDATES]
        run_files.write_curve(Path(job.folder), scored)
        run_files.add_to_manifest(Path(job.folder), updates=2)
    assert main(["--saves", str(tmp_path), "train", "sweep", "pantry", "--name", "a"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["8", "1", "1", "1e-06", "1.5", "2", "1", "8", "16.2", "35", "0"]
    assert lines[7] == ["8", "8", "1", "1e-05", "7.5", "8", "7", "8", "40.7", "55", "5"]
