"""The game in its worker: what it shows, what it survives, what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from engine.errors import GameError, UsageError
from engine.games.catalogue import find_game, open_game, read_story
from engine.games.env import sanitise
from engine.games.zmachine.commands import Controls
from jitrl_tui.cli import main
from tests.commands import Popen

OPENING = ["open mailbox", "take leaflet", "north", "east", "open window", "west"]


@pytest.fixture
def zork(games_folder):
    environment = open_game("zork1", games=games_folder)
    yield environment
    environment.close()


def play(environment, commands):
    return [environment.step(command) for command in commands]


def test_the_opening_of_zork_scores_and_names_its_places(zork):
    first = zork.reset(1)
    assert (first.place, first.score, first.max_score, first.over) == ("West of House", 0, 350, False)
    seen = play(zork, OPENING)
    assert [o.place for o in seen][-2:] == ["Behind House", "Kitchen"]
    assert seen[-1].score == 10
    assert "leaflet" in seen[-1].inventory
    assert zork.info.scope == "game/zork1-b732a93a"


def test_the_same_seed_and_actions_give_the_same_transcript(zork):
    runs = []
    for _ in range(2):
        first = zork.reset(7)
        runs.append([first, *play(zork, [*OPENING, "east", "wait", "wait", "north"])])
    assert runs[0] == runs[1]


def test_what_is_carried_is_listed_alike_whatever_was_done_in_an_earlier_episode():
    orders = [["take bell pepper", "take knife"], ["take knife", "take bell pepper"]]
    alone = []
    for order in orders:
        with closing(open_game("feast")) as feast:
            feast.reset(1)
            alone.append(play(feast, order)[-1])
    assert alone[0].inventory != alone[1].inventory
    with closing(open_game("feast")) as feast:
        for order, expected in zip(orders, alone, strict=True):
            feast.reset(1)
            assert play(feast, order)[-1] == expected


def test_looking_costs_nothing_and_disturbs_nothing(games_folder):
    # Against the bare interpreter, which was never asked to look.
    jericho = pytest.importorskip("jericho")
    bare = jericho.FrotzEnv(str(games_folder / "zork1.z5"), seed=5)
    bare.reset()
    environment = open_game("zork1", games=games_folder)
    try:
        environment.reset(5)
        for command in [*OPENING, "take all", "up", "down", "wait", "east"]:
            environment.valid_actions()
            seen = environment.step(command)
            text, info = bare.step(command)[0], bare.step.__self__
            assert seen.text.split() == text.split()
            assert (seen.score, seen.moves) == (info.get_score(), info.get_moves())
    finally:
        environment.close()


def test_save_and_restore_go_back_exactly_even_in_another_process(zork, games_folder):
    zork.reset(3)
    play(zork, OPENING)
    saved = zork.save()
    after = play(zork, ["take all", "east", "up", "wait"])
    zork.restore(saved)
    assert play(zork, ["take all", "east", "up", "wait"]) == after
    other = open_game("zork1", games=games_folder)
    try:
        other.reset(99)
        other.restore(saved)
        assert play(other, ["take all", "east", "up", "wait"]) == after
    finally:
        other.close()


def test_valid_actions_change_the_world_and_hold_the_obvious_ones(zork):
    zork.reset(1)
    valid = zork.valid_actions()
    assert {"open mailbox", "north", "south", "west"} <= set(valid)
    saved = zork.save()
    for command in valid:
        zork.restore(saved)
        assert zork.step(command).changed, command
    zork.restore(saved)
    assert zork.valid_actions() == valid


@pytest.mark.parametrize("game", ["zork1", "zork3", "library"])
def test_the_known_solutions_win(game, games_folder, capsys):
    assert main(["games", "verify", game, "--games", str(games_folder)]) == 0
    assert capsys.readouterr().out.endswith("moves, won\n")


def test_death_ends_the_episode_for_good(zork):
    zork.reset(1)
    way = [*OPENING, "west", "move rug", "open trap door", "down", *["wait", "north"] * 20]
    for seen in play(zork, way):
        if seen.over:
            break
    else:
        pytest.fail("the cellar without a light should have killed")
    assert (seen.terminated, seen.truncated, seen.outcome) == (True, False, "lost")
    again = zork.step("north")
    assert again.terminated
    assert not again.changed
    assert zork.valid_actions() == ()
    assert not zork.reset(1).over


@pytest.mark.parametrize(
    "command", ["save", "RESTORE", "quit", "look. save", "look then restart", "undo", "q"]
)
def test_commands_that_would_leak_or_end_are_answered_by_us(zork, command):
    before = zork.reset(1)
    seen = zork.step(command)
    assert not seen.changed
    assert (seen.moves, seen.world_hash) == (before.moves, before.world_hash)
    assert zork.step("north").place == "North of House"


def test_ordinary_commands_are_not_intercepted():
    for command in ("open mailbox", "take sword", "look at q", "say save"):
        assert Controls().intercepted(command) is None


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ("look\nnorth", "look north"),
        ("  a\tb ", "a b"),
        ("café cre\u0300me \x1b[31m", "café crème [31m"),
        ("a\\b", "ab"),
        ("жук", "жук"),
        ("x" * 500, "x" * 190),
        ("", ""),
    ],
)
def test_commands_are_one_line_of_printable_characters(raw, sent):
    assert sanitise(raw) == sent


def test_odd_input_kills_nothing(zork):
    zork.reset(1)
    for text in (
        "",
        "%s%n%x",
        "\0",
        "a" * 10_000,
        "\U0001f600",
        "look\nnorth",
        '"',
        "\x1b[2J",
        ", , .",
        "'" * 300,
    ):
        assert not zork.step(text).over
    assert zork.step("look").place == "West of House"


def test_a_worker_killed_at_any_step_comes_back_and_the_episode_goes_on(zork, games_folder):
    whole = [
        "open mailbox",
        "take leaflet",
        *["north", "south"] * 14,
        "north",
        "east",
        "open window",
        "west",
        "take all",
    ]
    zork.reset(2)
    expected = play(zork, whole)[-1]
    for victim in (0, 27, len(whole) - 1):
        zork.reset(2)
        for number, command in enumerate(whole):
            if number == victim:
                os.kill(zork.worker.pid, signal.SIGKILL)
            seen = zork.step(command)
        assert seen == expected


def test_a_worker_that_hangs_is_replaced(zork, monkeypatch):
    zork.reset(1)
    play(zork, OPENING[:3])
    os.kill(zork.worker.pid, signal.SIGSTOP)
    monkeypatch.setattr("engine.games.env.STEP_SECONDS", 0.5)
    seen = zork.step("east")
    assert "did not answer" in seen.text
    monkeypatch.undo()
    assert zork.step("east").place == "Behind House"


def children_of(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(games_folder, how):
    program = (
        "import sys\nfrom engine.games.catalogue import open_game\n"
        f"e = open_game('zork1', games={str(games_folder)!r})\ne.reset(1)\n"
        "print(e.worker.pid, flush=True)\nsys.stdin.read()\n"
    )
    parent = Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    worker = int(parent.stdout.readline())
    parent.send_signal(how)
    parent.wait()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        state = Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "Z":
            break
        os.sched_yield()
    assert not Path(f"/proc/{worker}").exists() or state == "Z"


def left_in_temp():
    folder = Path(tempfile.gettempdir())
    return {path.name for path in folder.iterdir() if path.name.startswith(("jitrl-game-", "jitrl-note-"))}


def test_closing_leaves_no_process_and_no_file(games_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other processes have games open in the usual one
    before = left_in_temp()
    environment = open_game("zork1", games=games_folder)
    pid = environment.worker.pid
    assert left_in_temp() <= before
    environment.close()
    environment.close()
    assert pid not in children_of(os.getpid())
    with pytest.raises(GameError, match="closed"):
        environment.step("look")


# --------------------------------------------------------------------------------------- bad stories


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "too few"),
        (b"\x05" * 64, "too few"),
        (b"hello world, this is no story " * 100, "its version would be 104"),
        (b"FORM" + b"\0" * 4000, "its version would be 70"),
        (b"\x06" + b"\0" * 4000, "version 6"),
        (b"\x03" + b"\0" * 5000, "header"),
        (b"\0" * (3 * 2**20), "more than any can have"),
    ],
)
def test_what_is_no_story_is_refused_with_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "x.z5"
    path.write_bytes(content)
    with pytest.raises(GameError, match=sentence):
        open_game(str(path))


def test_a_truncated_story_is_told_apart(tmp_path, games_folder):
    data = (games_folder / "library.z5").read_bytes()
    path = tmp_path / "cut.z5"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(GameError, match=r"cut short|outside the file"):
        read_story(path)


def test_flipped_bytes_never_hurt_the_parent(tmp_path, games_folder, monkeypatch):
    import random

    monkeypatch.setattr("engine.games.env.LOAD_SECONDS", 3.0)
    monkeypatch.setattr("engine.games.env.STEP_SECONDS", 2.0)
    monkeypatch.setattr("engine.games.env.COMMAND_SECONDS", 0.5)  # what spins need not spin for three
    monkeypatch.setattr(
        "engine.games.catalogue._check_header", lambda *_: None
    )  # straight at the interpreter
    data = (games_folder / "zork1.z5").read_bytes()
    rng = random.Random(4)
    path = tmp_path / "mutant.z5"
    problems = []
    for _ in range(12):
        mutant = bytearray(data)
        for _ in range(rng.choice([1, 20, 400])):
            mutant[rng.randrange(len(mutant) if rng.random() < 0.7 else 64)] = rng.randrange(256)
        path.write_bytes(bytes(mutant))
        try:
            environment = open_game(str(path))
            try:
                environment.reset(1)
                play(environment, ["north", "open mailbox"])
            finally:
                environment.close()
        except GameError as error:
            problems.append(str(error))
    assert all("\n" not in sentence for sentence in problems)


def test_unknown_names_offer_the_nearest(games_folder, monkeypatch):
    monkeypatch.delenv("JITRL_GAMES", raising=False)
    with pytest.raises(UsageError, match="did you mean zork1"):
        find_game("zork1x", games=games_folder)
    with pytest.raises(UsageError, match="jitrl games fetch zork1"):
        find_game("zork1", games=None)
    with pytest.raises(UsageError, match="is a folder"):
        find_game(str(games_folder), games=None)
    with pytest.raises(UsageError, match="there is no story at"):
        find_game("no/such/file.z5")
