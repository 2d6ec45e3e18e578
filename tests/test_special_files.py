"""Named pipes, devices and names that are no text, wherever a user names a file: one sentence, at once."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest

from engine.disk import Unreadable, open_descriptor, printable, read_bytes
from engine.games.catalogue import shipped_stories
from engine.gym.unfit import Unfit
from jitrl_tui.runs.view import clean
from tests.commands import jitrl


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture
def games(tmp_path):
    """A folder with a pipe, a device, a socket's like, a large file, and a story with a name that is no text."""
    folder = tmp_path / "games"
    folder.mkdir()
    os.mkfifo(folder / "pipe.z5")
    for device in ("zero", "random"):
        (folder / f"{device}.z5").symlink_to(f"/dev/{device}")
    (folder / "folder.z5").mkdir()
    with (folder / "large.z8").open("wb") as file:
        file.truncate(5 << 30)
    story = shipped_stories()[0].path.read_bytes()
    changed = story[:18] + b"999999" + story[24:]  # Another serial number: a story that does not come with jitrl.
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.z8")).write_bytes(changed)
    return folder


def test_only_regular_files_are_opened(tmp_path, pipe):
    for path, kind in ((pipe, "named pipe"), (Path("/dev/zero"), "device"), (tmp_path, "folder")):
        with pytest.raises(Unreadable) as error:
            read_bytes(path)
        assert kind in error.value.strerror
    large = tmp_path / "large"
    large.write_bytes(b"x" * 101)
    assert read_bytes(large, 101) == b"x" * 101
    with pytest.raises(Unreadable, match="more than 100 bytes"):
        read_bytes(large, 100)
    link = tmp_path / "link"
    link.symlink_to(large)
    os.close(open_descriptor(link))
    with pytest.raises(OSError, match="symbolic"):
        open_descriptor(link, os.O_NOFOLLOW)


def test_names_that_are_no_text_are_shown_escaped():
    assert printable(Path(os.fsdecode(b"a\xffb\xc3\xa4.z5"))) == "a\\xffbä.z5"
    assert printable("half \ud800 of a pair") == "half \\ud800 of a pair"
    assert clean(os.fsdecode(b"a\xff")) == "a\ufffd"  # what reaches a screen otherwise


def test_games_are_listed_past_what_is_no_story(games, tmp_path):
    code, out, err = jitrl("games", "ls", "--games", games, "--saves", tmp_path / "saves")
    assert (code, "Traceback" in err) == (0, False)
    rows = {line.split()[0] for line in out.splitlines()}
    assert {"NAME", "pantry", "bad\\xff"} <= rows
    assert not rows & {"pipe", "zero", "random", "folder", "large"}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("pipe", "a named pipe"), ("zero", "a device"), ("random", "a device"), ("large", "more than any"),
     ("mispelt", "there is no game 'mispelt'"), ("pipe.z5", "a named pipe")],
)  # fmt: skip
def test_a_name_that_leads_to_no_story_gets_one_sentence(games, tmp_path, monkeypatch, name, sentence):
    monkeypatch.chdir(games)
    code, out, err = jitrl("games", "info", name, "--games", games, "--saves", tmp_path / "saves")
    assert code in (1, 2)
    assert sentence in err
    assert (out, err.count("\n")) == ("", 1)


def test_a_story_with_a_name_that_is_no_text_is_played(games, tmp_path):
    saves = tmp_path / "saves"
    code, out, err = jitrl(
        "run", "bad\\xff", "--games", games, "--model", "prior/verbs", "--episodes", "1", "--steps", "2", "--json", "-",
        "--saves", saves,
    )  # fmt: skip
    assert (code, "Traceback" in err) == (0, False), err
    assert '"avg"' in out
    code, _, err = jitrl("run", os.fsdecode(os.fsencode(games) + b"/bad\xff.z8"), "--saves", saves)
    assert code == 2
    assert "is no UTF-8; name its folder with --games, and the story" in err
    assert jitrl("sessions", "--saves", saves)[0] == 0
    assert jitrl("memory", "ls", "--saves", saves)[0] == 0


@pytest.mark.parametrize(
    "command",
    [("games", "add"), ("games", "verify"), ("games", "map"), ("run",), ("memory", "import"), ("memory", "merge"),
     ("memory", "diff"), ("replay",), ("models", "info", "local:"), ("models", "add", "local:")],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("special", ["pipe", "/dev/zero"])
def test_what_reads_a_file_refuses_pipes_and_devices_at_once(tmp_path, pipe, command, special):
    path = str(pipe) if special == "pipe" else special
    *words, last = command
    given = [*words, last + path] if last.endswith(":") else [*words, last, path]
    if last == "diff":
        given.append(path)
    code, _, err = jitrl(*given, "--saves", tmp_path / "saves")
    assert code in (1, 2, 3)
    assert err.count("\n") == 1, err
    assert "Traceback" not in err


@pytest.mark.parametrize("special", ["pipe", "/"])
@pytest.mark.parametrize("named", ["replayed", "recorded"])
def test_what_settings_and_suites_name_is_read_within_limits(tmp_path, pipe, named, special):
    path = str(pipe) if special == "pipe" else special
    given = ["--saves", tmp_path / "saves", "--quiet"]
    if named == "replayed":
        command = ["run", "pantry", "--agent", "human", "--set", f"replayed={path}", *given]
    else:
        suite = tmp_path / "suite.toml"
        suite.write_text(
            'tasks = ["pantry"]\nepisodes = 1\nseeds = 1\nmodels = ["prior/verbs"]\n'
            f'[[arms]]\nname = "A"\nagent = "static"\nrecorded = "{path}"\n'
        )
        command = ["bench", suite, *given]
    code, _, err = jitrl(*command)
    assert code in (1, 2, 3), err
    assert "Traceback" not in err
    assert path in err


def test_a_game_of_textworld_that_is_a_pipe_is_refused(monkeypatch, tmp_path, pipe):
    monkeypatch.setitem(sys.modules, "textworld", types.SimpleNamespace(gym=None))
    monkeypatch.setitem(sys.modules, "textworld.challenges", types.SimpleNamespace(CHALLENGES={}))
    from engine.gym.textworld_games import make

    for special in (pipe, Path("/dev/zero")):
        with pytest.raises(Unfit, match="not a file"):
            make(str(special), {}, tmp_path)


def test_a_pipe_in_the_place_of_a_journal_is_refused_at_once(tmp_path):
    folder = tmp_path / "saves" / "memory" / "game-x"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "episodes.jnl")
    code, _, err = jitrl("memory", "ls", "--saves", tmp_path / "saves")
    assert "Traceback" not in err
    code, _, err = jitrl("memory", "diff", folder / "episodes.jnl", folder / "episodes.jnl")
    assert (code, "a named pipe" in err) == (2, True)
