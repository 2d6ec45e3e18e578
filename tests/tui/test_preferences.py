"""What is set: which source comes first, mistakes in the config file, and what is remembered."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from engine.settings import Settings
from jitrl_tui import keymap, preferences
from jitrl_tui.cli import main, make_parser
from jitrl_tui.commands import doctor
from jitrl_tui.commands.options import session_config
from jitrl_tui.panes.registry import kinds
from jitrl_tui.preferences import config, schema
from jitrl_tui.preferences.config import RememberedValues
from jitrl_tui.themes import CYCLE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def configured(file: Path, *arguments: str, **environment: str):
    """Return the configuration of `jitrl run ARGUMENTS` with this config file and these variables."""
    args = make_parser().parse_args(["run", "pantry", *arguments])
    args.games = None
    args.preferences = preferences.load(str(file), environment=environment)
    return session_config(args)


def test_a_flag_comes_before_a_variable_before_the_file_before_the_profile_before_the_default(file):
    paper = 1.2  # beta of the profile paper; the default profile has 20 for games
    file.write_text("")
    assert configured(file, "--profile", "paper").settings.beta == paper
    file.write_text('[session]\nprofile = "paper"\n')
    assert configured(file).settings.beta == paper
    file.write_text('[session]\nprofile = "paper"\n[settings]\nbeta = 3\n')
    assert configured(file).settings.beta == 3.0
    assert configured(file, "--profile", "reference").settings.beta == 3.0
    assert configured(file, JITRL_BETA="4").settings.beta == 4.0
    assert configured(file, "--set", "beta=5", JITRL_BETA="4").settings.beta == 5.0


def test_flags_that_are_not_typed_leave_the_file_its_word(file):
    file.write_text('[session]\nmodel = "prior/verbs"\nepisodes = 7\nseed = 3\nmemory = "own"\nagent = "static"\n')
    made = configured(file)
    assert (made.model, made.episodes, made.seed, made.memory, made.agent) == ("prior/verbs", 7, 3, "own", "static")
    made = configured(file, "--model", "prior/uniform", "--seed", "1", JITRL_EPISODES="9")
    assert (made.model, made.episodes, made.seed) == ("prior/uniform", 9, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[settings]\ngama = 1", "there is no setting 'gama' in [settings] (did you mean 'gamma'?)"),
        ("[settings]\nbeta = 5000", "in [settings], beta must lie between 0 and 1000, not 5000"),
        ('[settings]\nk = "ten"', "in [settings], k must be a whole number, not 'ten'"),
        ("[settings]\nk = true", "in [settings], k must be a whole number, not True"),
        ("[settings]\nbeta = nan", "in [settings], beta must lie between 0 and 1000, not nan"),
        (
            '[settings]\nselection = "best"',
            "in [settings], selection cannot be 'best'; choose one of: sample, greedy, first",
        ),
        ('[app]\nmodel = "x"', "there is no setting 'model' in [app]; it belongs into [session]"),
        ('theme = "jitrl-light"', "theme belongs into the table [app]"),
        ("[sesion]\nseed = 1", "there is no table [sesion] (did you mean 'session'?)"),
        ("[app\n", "is no TOML"),
        ("[keys]\nwatch.help = 3", "in [keys], watch.help must be a key in quotes"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence_with_file_and_name(file, text, says, capsys, tmp_path):
    file.write_text(text)
    assert main(["--config", str(file), "--saves", str(tmp_path), "run", "pantry", "--model", "prior/verbs"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("jitrl: ")
    assert str(file) in said
    assert says in said
    assert said.count("\n") == 1
    assert not (tmp_path / "sessions").exists()


def test_what_is_right_beside_a_mistake_counts_where_nothing_is_begun(file, tmp_path, capsys):
    file.write_text(f'[places]\nsaves = "{tmp_path}/here"\n[settings]\ngama = 1\n')
    assert main(["--config", str(file), "sessions"]) == 0
    assert "gama" in capsys.readouterr().err
    assert (tmp_path / "here").is_dir()


def test_the_doctor_tells_mistakes(file):
    file.write_text("[settings]\ngama = 1\n")
    args = argparse.Namespace(preferences=preferences.load(str(file), environment={}))
    assert [(check.state, check.found) for check in doctor._config(args)] == [
        ("ok", str(file)), ("fail", f"{file}: there is no setting 'gama' in [settings] (did you mean 'gamma'?)")
    ]  # fmt: skip


def test_a_wrong_variable_and_a_missing_named_file_are_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("JITRL_K", "many")
    assert main(["--saves", str(tmp_path), "run", "pantry", "--model", "prior/verbs"]) == 2
    assert "in the variable JITRL_K, k must be a whole number, not 'many'" in capsys.readouterr().err
    assert main(["--config", str(tmp_path / "no.toml"), "--saves", str(tmp_path), "sessions"]) == 2
    assert "there is no config file" in capsys.readouterr().err


def test_setting_a_value_keeps_comments_and_the_rest(file, capsys):
    text = '# mine\n[session]  # who\nmodel = "x/y"   # big\nseed = 4\n'
    file.write_text(text)
    assert main(["--config", str(file), "config", "set", "model", "prior/verbs"]) == 0
    assert file.read_text() == text.replace("x/y", "prior/verbs")
    assert main(["--config", str(file), "config", "set", "settings.beta", "4"]) == 0
    assert main(["--config", str(file), "config", "set", "keys.watch.step_once", "ctrl+n"]) == 0
    assert main(["--config", str(file), "config", "unset", "seed"]) == 0
    assert file.read_text().startswith('# mine\n[session]  # who\nmodel = "prior/verbs"')
    assert tomllib.loads(file.read_text()) == {
        "session": {"model": "prior/verbs"}, "settings": {"beta": 4.0}, "keys": {"watch.step_once": "ctrl+n"},
    }  # fmt: skip
    before = file.read_text()
    for name, value in (("beta", "5000"), ("gama", "1"), ("keys.watch.step_once", "space"), ("keys.watch.x", "y")):
        assert main(["--config", str(file), "config", "set", name, value]) == 2
    assert file.read_text() == before
    assert oct(file.stat().st_mode & 0o777) == "0o600"


def test_the_file_is_written_as_a_whole_or_not_at_all(file, monkeypatch):
    file.write_text("[settings]\nbeta = 1\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main(["--config", str(file), "config", "set", "beta", "2"]) == 1
    assert file.read_text() == "[settings]\nbeta = 1\n"
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_config_show_tells_where_each_value_comes_from(file, capsys, monkeypatch):
    file.write_text('[settings]\nk = 3\n[session]\nprofile = "paper"\n')
    monkeypatch.setenv("JITRL_GAMMA", "0.25")
    assert main(["--config", str(file), "--theme", "jitrl-paper", "config", "diff", "--json"]) == 0
    found = {one["key"]: (one["value"], one["source"], one["where"]) for one in json.loads(capsys.readouterr().out)}
    assert found["settings.k"] == (3, "file", str(file))
    assert found["settings.gamma"] == (0.25, "environment", "JITRL_GAMMA")
    assert found["app.theme"] == ("jitrl-paper", "flag", "--theme")
    assert found["settings.beta"] == (1.2, "profile", "paper")
    assert "settings.r" not in found


def test_every_setting_of_the_engine_is_declared_once():
    names = [option.name for option in schema.OPTIONS]
    assert len(set(names)) == len(names)
    declared = {option.name: option.default for option in schema.OPTIONS if option.section == "settings"}
    assert declared == {name: getattr(Settings(), name) for name in Settings.__dataclass_fields__}
    assert schema.BY_NAME["theme"].choices == CYCLE


@pytest.mark.parametrize(
    "content", [b"\xff\x00", b"[]", b'{"app.theme": 3, "game": 4}', b'{"app.theme": "none"}', b"{"]
)
def test_a_damaged_memory_of_the_app_is_as_none(tmp_path, content):
    file = tmp_path / "state.json"
    file.write_bytes(content)
    assert RememberedValues(file).values == {}
    RememberedValues(file).keep({"app.theme": "jitrl-light"})
    assert RememberedValues(file).values == {"app.theme": "jitrl-light"}


def test_where_nothing_can_be_remembered_nothing_breaks(tmp_path):
    (tmp_path / "no").write_text("a file, no folder")
    kept = RememberedValues(tmp_path / "no" / "state.json")
    kept.keep({"game": "pantry"})
    assert kept.values == {"game": "pantry"}
    assert RememberedValues(kept.file).values == {}


def test_last_choices_count_on_the_home_screen_alone(file):
    RememberedValues(config.state_file()).keep({"session.model": "prior/verbs", "app.speed": 4.0})
    made = preferences.load(environment={})
    assert made.value("session.model") == "local/smollm2"
    assert made.value("session.model", last=True) == "prior/verbs"
    assert made.found("app.speed").source == "remembered"
    file.write_text("[app]\nspeed = 2\n")
    assert preferences.load(str(file), environment={}).value("app.speed") == 2.0


def test_keys_are_remapped_by_name():
    keys = {"watch.step_once": "ctrl+n", "watch.toggle_pause": ".", "watch.look_back": "?"}
    table = {key.name: key for key in keymap.remapped(keymap.tables(kinds())["watch"], "watch", keys)}
    assert (table["step_once"].keys, table["step_once"].written) == ("ctrl+n", "ctrl+n")
    assert table["toggle_pause"].keys == "full_stop"  # free, because the other one moved
    assert table["look_back"].written == "←"  # ? is taken
    told = keymap.mistakes(keymap.tables(kinds()), {**keys, "watch.step_one": "x", "home.help": "hyper"})
    assert told == [
        "there is no action 'watch.step_one' (did you mean 'watch.step_once'?)",
        "watch.look_back cannot be '?': that is the key of watch.help; give that another key, too",
        "home.help: 'hyper' is no key; a key is for instance x, ?, ctrl+n, f5, space or comma",
    ]


def test_names_of_actions_are_unique_on_each_screen():
    for screen, keys in keymap.tables(kinds()).items():
        names = [key.name for key in keys]
        assert len(set(names)) == len(names), screen
        assert keymap.mistakes({screen: keys}, {f"{screen}.{key.name}": key.keys for key in keys}) == []


def test_the_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom jitrl_tui.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = ('textual', 'rich', 'tomlkit', 'litellm', 'jericho', 'tinydb')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_config_file_that_is_a_link_stays_one(tmp_path):
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text("")
    link.symlink_to(real)
    config.set_value(link, "app.theme", "jitrl-light")
    assert link.is_symlink()
    assert config.read(link).values == {"app.theme": "jitrl-light"}
