"""Environments with Gymnasium's interface, through the real child process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.errors import BadFile, GameError, MissingError, UsageError
from engine.gym import environment, open_gym
from engine.gym.kind import GYM
from engine.kinds import EnvironmentContext
from tests.commands import Popen

pytestmark = pytest.mark.filterwarnings("ignore:.*render_modes.*:UserWarning")


def sooner_or_later(check):
    end = time.monotonic() + 60
    while not (happened := check()) and time.monotonic() < end:
        time.sleep(0.02)
    return happened


def gone(pid):
    def check():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    return sooner_or_later(check)


def test_a_text_environment_shows_what_it_says_and_lists(opened_here):
    corridor = opened_here("Corridor-v0?rooms=2")
    info = corridor.info
    assert info.title == "Corridor-v0, rooms 2"
    assert info.max_score == 3.0
    assert info.source.startswith("gymnasium ")
    assert info.repeatable
    seen = corridor.reset(5)
    assert seen.text == "Welcome to a short way.\nHall. The hall has a painted wall."
    assert (seen.place, seen.inventory) == ("Hall", "You are carrying nothing.")
    assert corridor.valid_actions() == ("go east", "jump")
    still = corridor.step("jump")
    assert (still.text, still.changed, still.world_hash) == ("Nothing happens.", False, seen.world_hash)
    moved = corridor.step("go east")
    assert (moved.place, moved.changed, moved.moves) == ("Stair", True, 2)
    assert corridor.valid_actions() == ("take treasure", "go west", "jump")
    last = corridor.step("take treasure")
    assert (last.score, last.terminated, last.outcome) == (3.0, True, "won")
    assert corridor.valid_actions() == ()
    assert corridor.step("go west").text == "[the episode is over]"


def test_a_time_limit_ends_an_episode_that_is_neither_won_nor_lost(opened_here):
    short = opened_here("Short-v0")
    short.reset(1)
    short.step("jump")
    last = short.step("jump")
    assert (last.over, last.terminated, last.outcome) == (True, False, "")


def test_a_drawing_says_with_marks_what_it_said_with_colours(opened_here):
    grid = opened_here("Grid-v0")
    seen = grid.reset(1)
    assert seen.text == "[A]AA\nAAA"
    assert grid.valid_actions() == ("RIGHT",)  # the mask leaves no more
    first = grid.abstractor().begin(seen)
    there = grid.step("RIGHT")
    assert there.text == "A[A]A\nAAA"
    assert grid.valid_actions() == ("LEFT", "RIGHT")
    assert grid.abstractor().begin(there).tokens != first.tokens
    refused = grid.step("UP")
    assert refused.text == "[there is no action 'UP'; there are: LEFT, RIGHT]"
    assert not refused.changed
    last = grid.step("RIGHT")
    assert (last.score, last.terminated, last.outcome) == (1.0, True, "")


@pytest.mark.parametrize(("ended", "outcome"), [("reward", "won"), ("lost", "lost")])
def test_an_end_that_says_nothing_means_what_the_name_says(opened_here, ended, outcome):
    grid = opened_here(f"Grid-v0?actions=west,east&ended={ended}")
    grid.reset(1)
    grid.step("east")
    last = grid.step("east")
    assert (last.terminated, last.outcome) == (True, outcome)


def test_a_numbered_state_is_a_place_and_the_seed_decides(opened_here):
    numbered = opened_here("Numbered-v0")

    def lived(seed):
        first = numbered.reset(seed)
        return [first.place, *(numbered.step("stay").place for _ in range(4))]

    assert numbered.reset(1).text == "....."
    assert numbered.valid_actions() == ("turn left", "stay")
    one = lived(1)
    assert one[0].startswith("state ")
    assert lived(2) != one
    assert lived(1) == one


def test_where_any_text_may_be_typed_templates_list_some(opened_here):
    guess = opened_here("Guess-v0?templates=say|a {animal}|{size}&size=big&text=message,hint")
    seen = guess.reset(1)
    assert seen.text == "Say the word.\nIt is wet."
    assert guess.valid_actions() == ("say", "a cat", "a dog", "big")
    assert guess.resolve is not None
    assert guess.resolve(" OTTER\n") == "OTTER"
    assert guess.resolve("BIG") == "big"
    assert guess.resolve(" ") is None
    assert "is not in the action space" in guess.step("far too long").text
    wrong = guess.step("a cat")
    assert (wrong.text, wrong.over) == ("No.\nIt is wet.", False)
    assert guess.step("otter").outcome == "won"


def test_where_actions_are_listed_no_other_is_resolved(opened_here):
    corridor = opened_here("Corridor-v0")
    corridor.reset(1)
    assert corridor.resolve("Go East") == "go east"
    assert corridor.resolve("go west") is None


def test_what_is_ignored_is_seen_and_is_no_part_of_the_state(opened_here):
    corridor, ignoring = opened_here("Corridor-v0"), opened_here("Corridor-v0?ignore=painted|[Hh]all")
    seen, other = corridor.reset(1), ignoring.reset(1)
    assert other.text == seen.text
    assert other.scene == ". The  has a  wall."
    assert ignoring.info.scope != corridor.info.scope


def test_what_breaks_the_environment_ends_the_episode_and_the_next_one_begins(opened):
    trouble = opened("Trouble-v0")
    trouble.reset(1)
    before = trouble.step("go east")
    for action, said in (
        ("raise", "ValueError: boom"), ("exit", "process ended"), ("quit", "SystemExit: gone"),
        ("nan", "no finite number"), ("eat", "MemoryError"),
    ):  # fmt: skip
        after = trouble.step(action)
        assert said in after.text
        assert (after.place, after.changed, after.failed, after.over) == ("Stair", False, True, True)
        assert trouble.valid_actions() == ()
        trouble.reset(1)
        assert trouble.step("go east") == before
        assert action not in trouble.valid_actions()
    assert trouble.step("go east").place == "Attic"


def test_actions_that_all_broke_the_environment_are_offered_again(opened_here):
    raising = opened_here("Raising-v0")
    actions = raising.reset(1) and raising.valid_actions()
    for action in actions:
        raising.reset(1)
        assert raising.step(action).failed
    raising.reset(1)
    assert raising.valid_actions() == actions


def test_a_step_that_hangs_is_ended_at_its_deadline(opened, monkeypatch):
    monkeypatch.setattr(environment, "STEP_S", 1.0)
    trouble = opened("Trouble-v0")
    trouble.reset(1)
    pid = trouble.worker.pid
    started = time.monotonic()
    assert "did not answer within 1 s" in trouble.step("hang").text
    assert gone(pid)
    assert time.monotonic() - started < 60
    trouble.reset(1)
    assert trouble.step("go east").place == "Stair"


def test_where_the_seed_decides_nothing_an_episode_is_not_repeatable(opened_here):
    assert not opened_here("Whim-v0").info.repeatable


def test_what_a_package_prints_or_reads_reaches_nobody(opened, capfd):
    noisy = opened("Corridor-v0?noisy=true")
    noisy.reset(1)
    assert noisy.step("go east").text == "You come to the stair."
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("env_id", ["Older-v0", "Batch-v0"])
def test_older_forms_of_the_interface_are_played(opened_here, env_id):
    older = opened_here(env_id)
    first = older.reset(7)
    assert (first.text.splitlines()[0], first.inventory) == ("Welcome to a short way.", "7")
    assert older.valid_actions() == ("go east", "jump")
    for _ in range(3):
        seen = older.step("go east")
    assert (seen.place, seen.score, seen.max_score, seen.over) == ("Roof", 0.0, 3.0, False)
    won = older.step("take treasure")
    assert (won.score, won.terminated, won.truncated, won.outcome) == (300.0, True, False, "won")
    older.reset(7)
    cut = older.step("jump")
    assert (cut.terminated, cut.truncated) == (False, True)


def test_an_older_environment_is_cut_off_by_the_limit_it_is_registered_with(opened_here):
    older = opened_here("OlderShort-v0")
    older.reset(1)
    assert not older.step("go east").over
    assert older.step("go east").truncated


def test_an_older_environment_without_info_is_played_by_numbers(opened_here):
    alone = opened_here("Alone-v0")
    alone.reset(1)
    assert alone.valid_actions() == ("go east", "go west")
    seen = alone.step("go east")
    assert (seen.text, seen.score) == ("You come to the stair.", 0.0)


def test_a_saved_situation_is_gone_back_to(opened_here):
    corridor = opened_here("Corridor-v0")
    corridor.reset(1)
    corridor.step("go east")
    saved, there = corridor.save(), corridor.step("go east")
    corridor.step("go west")
    assert corridor.restore(saved).place == "Stair"
    assert corridor.step("go east") == there
    with pytest.raises(BadFile):
        corridor.restore(b"nothing")


@pytest.mark.parametrize(
    ("env_id", "said"),
    [
        ("Corridr-v0", r"tinyworlds has no environment 'tiny/Corridr-v0'; it has tiny/Corridor-v0"),
        ("Blind-v0", r"observation is ndarray of shape \(4,\), and it does not render as text; needed is"),
        ("Guess-v0?text=board", "no text under 'board'; it has a dictionary of board .*, message .*, hint"),
        ("Corridor-v0?text=board", "names parts of an observation that has none"),
        ("Batch-v0?size=2", "it plays 2 games at once; needed is one that plays a single game"),
        ("Silent-v0", r"its actions are Box\(.*, and nothing lists them; needed is a list"),
        ("Guess-v0", "nothing lists them"),
        ("Corridor-v0?actions=one", "lists its actions itself"),
        ("Grid-v0?templates=one", "its actions are numbers"),
        ("Grid-v0?actions=one", "it has 2 actions, and 1 names are given"),
        ("Grid-v0?actions=one,one", "two of its actions have the same name"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_sentence(opened_here, env_id, said):
    with pytest.raises(UsageError, match=said):
        opened_here(env_id)


@pytest.mark.parametrize(("env_id", "said"), [("Broken-v0", "no board"), ("Corridor-v0?roms=2", "'roms'")])
def test_what_cannot_be_made_says_why(opened_here, env_id, said):
    with pytest.raises(GameError, match=said):
        opened_here(env_id)


def test_a_missing_package_says_how_to_get_it(tmp_path):
    with pytest.raises(MissingError, match=r"the package no_such_package is not here; get it with: .* install"):
        GYM.ready("gym:no_such_package/E-v0", EnvironmentContext(tmp_path))


def test_an_interpreter_that_is_none_is_refused(tmp_path):
    with pytest.raises(MissingError, match="JITRL_GYM names /nowhere/python, which is no program"):
        open_gym("gym:p/E-v0", tmp_path, {"JITRL_GYM": "/nowhere/python"})


def test_closing_leaves_no_process_and_no_folder(opened):
    corridor = opened("Corridor-v0")
    pid, folder = corridor.worker.pid, Path(corridor._folder)
    assert folder.is_dir()
    corridor.close()
    corridor.close()
    assert gone(pid)
    assert not folder.exists()
    with pytest.raises(GameError):
        corridor.reset(1)


def test_the_process_ends_with_the_one_that_asked(with_gymnasium, tmp_path):
    """Also where it hangs: nobody is left who could end it."""
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom engine.gym import open_gym\n"
        "e = open_gym('gym:tinyworlds/tiny/Trouble-v0', Path(sys.argv[1]), dict(os.environ))\n"
        "e.reset(1)\nprint(e.worker.pid, flush=True)\n"
        "e.worker.ask(600.0, seconds=2.0, op='step', action='hang')\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join([root, with_gymnasium["PYTHONPATH"]])
    variables = {**with_gymnasium, "PYTHONPATH": path, "TMPDIR": str(tmp_path)}
    parent = Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, env=variables
    )
    pid = int(parent.stdout.readline())
    assert sooner_or_later(lambda: any(tmp_path.glob("jitrl-gym-*/hangs")))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert gone(pid)
