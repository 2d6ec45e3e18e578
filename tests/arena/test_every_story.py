"""`jitrl bench jericho-all --games FOLDER`: every story of a folder, and what is published beside it."""

import json
import shutil

import pytest

from engine.bench.published import read_published
from engine.games.catalogue import shipped_stories
from tests.arena.running import bench, rows


@pytest.fixture
def stories(tmp_path):
    """A folder with two small stories, one of them under the name of a known game, and what is none."""
    folder = tmp_path / "stories"
    folder.mkdir()
    paths = {story.name: story.path for story in shipped_stories()}
    shutil.copy(paths["pantry"], folder / "larder.z8")
    shutil.copy(paths["manor"], folder / "zork1.z8")
    (folder / "README").write_text("about these stories")
    return folder


def test_a_broken_story_costs_its_row_only_and_the_run_goes_on_when_it_is_mended(stories, tmp_path):
    (stories / "broken.z5").write_bytes(b"\5" * 2000)
    saves, few = tmp_path / "saves", ["--arms", "Random", "--episodes", "1", "--steps", "4", "--jobs", "1"]
    done = bench("run", "jericho-all", "--games", str(stories), *few, "--name", "all", saves=saves)

    assert done.returncode == 1
    assert "broken (1) | – | – | – | – | – | – | –" in done.stdout
    assert "1. broken: " in done.stdout
    report = (saves / "bench" / "all" / "report" / "report.md").read_text()
    assert "Steps a second" in done.stdout
    assert "Steps a second" not in report
    for name, row in {row["task"]: row for row in rows(saves / "bench" / "all")}.items():
        assert f"| {name} | " in report
        assert f" | {row['max_score']:g} | " in report
    assert "| zork1 | 0 | 10.3 | 9.9 | 32.6 | 103 | 350 |" in report
    assert "detective" not in report

    shutil.copy(stories / "larder.z8", stories / "broken.z5")
    assert bench("resume", "all", "--games", str(stories), saves=saves).returncode == 0
    values = json.loads(bench("report", "all", "--json", saves=saves).stdout)["values"]
    assert {one["part"] for one in values if one["measure"] == "final"} == {"broken", "larder", "zork1"}


def test_it_needs_a_folder_with_stories_of_different_names(stories, tmp_path, monkeypatch):
    monkeypatch.delenv("JITRL_GAMES", raising=False)
    assert "--games FOLDER" in bench("run", "jericho-all", saves=tmp_path).stderr
    assert "there is no story in" in bench("run", "jericho-all", "--games", str(tmp_path), saves=tmp_path).stderr
    shutil.copy(stories / "larder.z8", stories / "larder.z5")
    assert "have one name" in bench("run", "jericho-all", "--games", str(stories), saves=tmp_path).stderr


def test_only_games_that_were_played_are_shown_beside_them():
    table = read_published("jericho_games")
    assert [row.name for row in table.rows_for(["zork3", "a story of mine", "library"])] == ["library", "zork3"]
    assert all(row.values[-1] for row in table.rows)
