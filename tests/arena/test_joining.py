"""Reports of a run that was played in pieces, that was killed, or whose folder is not whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import engine.games
from engine.bench import folder as folders
from engine.bench import report
from engine.bench.folder import change
from engine.bench.report.results import Results
from engine.bench.rows import DONE, EPISODES, TIMINGS
from engine.errors import UsageError
from tests.arena.made_runs import Made, made, row
from tests.arena.running import ALONE, ONCE, SMALL, bench, planned, play, rows


def arms(*names: str, seeds=(1,), episodes: int = 3, plus: float = 0.0) -> Made:
    """A run with arms whose scores are the number of the episode, the seed, and `plus`."""
    return made(
        [row(name, "pantry", seed, n, n + seed + plus) for name in names for seed in seeds
         for n in range(1, episodes + 1)]
    )  # fmt: skip


def scores(results: Results) -> dict[str, list[str]]:
    main = next(one for one in report.make(results).tables if one.name == "scores")
    return {line.title: [cell.text for cell in line.cells] for line in main.rows}


def test_arms_and_seeds_of_several_runs_stand_side_by_side():
    whole = made([*arms("static", seeds=(1, 2)).rows, *arms("jitrl", seeds=(1, 2), plus=5).rows])
    pieces = {"a": arms("static", seeds=(1, 2)), "b": arms("jitrl", plus=5), "c": arms("jitrl", seeds=(2,), plus=5)}
    joined = report.join_runs({name: piece.results for name, piece in pieces.items()})
    assert scores(joined) == scores(whole.results)
    assert "Joined from the runs a, b, c." in report.markdown(joined)


def test_a_cell_that_was_not_begun_gives_way_to_one_that_was():
    planned, other = arms("static", "jitrl"), arms("jitrl")
    planned.rows = [one for one in planned.rows if one.arm == "static"]
    planned.manifest["cells"]["jitrl-pantry-1"]["state"] = "waiting"
    for order in (("a", "b"), ("b", "a")):
        runs = {"a": planned.results, "b": other.results}
        assert scores(report.join_runs({name: runs[name] for name in order})) == scores(arms("static", "jitrl").results)


def test_each_arm_has_the_command_and_settings_of_its_own_run():
    runs = {"a": arms("static"), "b": arms("jitrl")}
    runs["b"].manifest["command"] = "jitrl bench run made --set beta=2"
    runs["b"].manifest["plan"]["settings"] = {"beta": 2.0}
    found = report.join_runs({name: run.results for name, run in runs.items()})
    commands = next(one for one in report.make(found).tables if one.name == "commands")
    texts = {line.title: [cell.text for cell in line.cells[2:]] for line in commands.rows}
    assert texts["static"] == ["–", "jitrl bench run made --arms static"]
    assert texts["jitrl"] == ["beta=2", "jitrl bench run made --set beta=2 --arms jitrl"]


def _other_suite(run: Made) -> None:
    run.manifest["suite"] = "games"


def _other_steps(run: Made) -> None:
    run.manifest["plan"]["steps"] = 30


def _other_episodes(run: Made) -> None:
    run.manifest["plan"]["episodes"] = 9


def _other_setting(run: Made) -> None:
    run.manifest["cells"]["jitrl-pantry-2"]["settings"] = {"max_missing": 0.2}


def _other_prompt(run: Made) -> None:
    run.manifest["cells"]["jitrl-pantry-2"]["prompts"] = {"action": "bb"}


def _other_file(run: Made) -> None:
    run.manifest["cells"]["jitrl-pantry-2"]["stories"] = {"pantry": "bb"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_other_suite, "a is of the suite made, and b is of games"),
        (_other_steps, "a has steps = None, and b has 30"),
        (_other_episodes, "a has episodes = 3, and b has 9; say with --episodes"),
        (_other_setting, "jitrl has max_missing 0.1 in a, and 0.2 in b"),
        (_other_prompt, "jitrl has the prompt action aa in a, and bb in b"),
        (_other_file, "a and b played other files of pantry"),
    ],
)
def test_what_does_not_fit_is_refused(change, says):
    first, second = arms("jitrl", seeds=(1,)), arms("jitrl", seeds=(2,))
    first.manifest["cells"]["jitrl-pantry-1"].update(prompts={"action": "aa"}, stories={"pantry": "aa"})
    report.join_runs({"a": first.results, "b": second.results})
    change(second)
    with pytest.raises(UsageError, match=says):
        report.join_runs({"a": first.results, "b": second.results})


def test_the_same_cell_twice_is_refused():
    runs = {"a": arms("static", "jitrl").results, "b": arms("jitrl", seeds=(2, 1)).results}
    with pytest.raises(UsageError, match="a and b both have episodes of jitrl on pantry with seed 1"):
        report.join_runs(runs)


def test_the_first_episodes_can_be_counted_alone():
    long, short = arms("jitrl", episodes=9), arms("static", episodes=5)
    short.manifest["plan"]["episodes"] = 9
    short.manifest["cells"]["static-pantry-1"]["state"] = "stopped"
    found = report.join_runs({"a": report.first(long.results, 3), "b": report.first(short.results, 3)})
    assert scores(found) == scores(arms("jitrl", "static").results)
    assert "finished" not in report.summary(found)
    with pytest.raises(UsageError, match="this run has 9 episodes on each task, fewer than the 10"):
        report.first(long.results, 10)


def test_the_command_joins_runs(tmp_path):
    suite = tmp_path / "small.toml"
    suite.write_text(SMALL)
    quick = ("--episodes", "1", "--steps", "2", "--quiet")
    assert bench("run", str(suite), "--arms", "Static", "--name", "a", *quick, saves=tmp_path).returncode == 0
    again = ("--arms", "Algorithm 1", "--seeds", "1", "--name", "b", *quick)
    assert bench("run", str(suite), *again, saves=tmp_path / "other").returncode == 0
    there = str(tmp_path / "other" / "bench" / "b")
    found = bench("report", "a", there, "--out", str(tmp_path / "out"), "--format", "md", saves=tmp_path)
    assert found.returncode == 0, found.stderr
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| Static |" in text
    assert "| Algorithm 1 |" in text
    for words, says in ((("a", there), "say with --out"), (("a", "a"), "named twice")):
        refused = bench("report", *words, saves=tmp_path)
        assert refused.returncode == 2
        assert says in refused.stderr
        assert len(refused.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The folder of a run of two cells."""
    return play(ONCE, tmp_path_factory.mktemp("played"))[1]


def test_a_report_of_a_killed_run_has_every_finished_episode(played, tmp_path):
    folder = shutil.copytree(played, tmp_path / "run")
    whole = report.load(folder)
    for place in [folder, *(folder / "cells").iterdir()]:
        for name in (DONE, EPISODES, TIMINGS):
            (place / name).unlink(missing_ok=True)
    found = report.load(folder)
    assert found.rows
    assert found.rows == whole.rows
    assert found.timings == whole.timings
    assert not (folder / EPISODES).exists()


def test_rows_of_cells_whose_folders_stayed_elsewhere_are_kept(played, tmp_path):
    folder = shutil.copytree(played, tmp_path / "run")
    before = rows(folder)
    shutil.rmtree(folder / "cells")
    folders.gather(folder, list(report.load(folder).cells))
    assert rows(folder) == before
    assert len(report.load(folder).rows) == len(before)


def test_a_run_from_another_machine_finds_its_stories_again(tmp_path):
    story = next((Path(engine.games.__file__).parent / "stories").glob("*pantry.z8"))
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        shutil.copy(story, tmp_path / name / "mine.z8")
    suite = tmp_path / "small.toml"
    suite.write_text(ALONE.replace('"pantry"', '"mine"'))
    begin = ("run", str(suite), "--games", str(tmp_path / "here"), "--name", "a", "--quiet", "--max-minutes", "0.0001")
    assert bench(*begin, saves=tmp_path).returncode == 1
    shutil.rmtree(tmp_path / "here")
    assert bench("resume", "a", "--quiet", saves=tmp_path).returncode == 2
    resumed = bench("resume", "a", "--quiet", "--games", str(tmp_path / "there"), saves=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert len(rows(tmp_path / "bench" / "a")) == 3


LEARNING = ALONE.replace('agent = "jitrl"', 'agent = "jitrl"\nprofile = "paper"')


def test_a_run_with_more_episodes_is_as_if_it_had_been_begun_with_them(tmp_path):
    _, short = play(LEARNING.replace("episodes = 3", "episodes = 2"), tmp_path, "short")
    _, long = play(LEARNING.replace("episodes = 3", "episodes = 4"), tmp_path, "long")
    resumed = bench("resume", "short", "--episodes", "4", "--quiet", saves=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert (short / EPISODES).read_bytes() == (long / EPISODES).read_bytes()
    assert report.load(short).plan["episodes"] == 4
    fewer = bench("resume", "short", "--episodes", "3", saves=tmp_path)
    assert fewer.returncode == 2
    assert "--episodes can only be more" in fewer.stderr


def test_more_episodes_are_refused_where_play_depends_on_their_number(tmp_path):
    folder, _ = planned(LEARNING.replace('estimator = "knn"', 'estimator = "graph", settling = 0.2'), tmp_path)
    with pytest.raises(UsageError, match=r"explores less in the last of its episodes \(settling=0.2\); begin a new"):
        change(folder, None, 9)
    assert report.load(folder).plan["episodes"] == 3
