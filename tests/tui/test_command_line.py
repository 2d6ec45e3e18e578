"""The command line as a whole: its help, its suggestions, its options and its completion."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.agents.jitrl import JitrlAgent
from engine.session import store
from jitrl_tui import cli
from jitrl_tui.arguments import EVERYWHERE, EXAMPLES, PAGES
from jitrl_tui.commands.up import SHELLS

ROOT = Path(__file__).parents[2]
PARSER = cli.make_parser()


def parsers(parser: argparse.ArgumentParser = PARSER) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers(inner)


def parsed(line: str) -> argparse.Namespace:
    return PARSER.parse_args(cli._expanded(shlex.split(line)))


@pytest.fixture(scope="module")
def saves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saves folder with two sessions."""
    folder = tmp_path_factory.mktemp("saves")
    for seed in ("1", "2"):
        assert cli.main(["run", "pantry", "--model", "prior/verbs", "--episodes", "1", "--steps", "3", "--quiet",
                         "--seed", seed, "--saves", str(folder)]) == 0  # fmt: skip
    return folder


def test_the_help_of_every_command_fits_80_columns_and_ends_with_what_all_have(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for parser in parsers():
        text = parser.format_help()
        lines = [line for line in text.splitlines() if len(line) > 80]
        assert [line for line in lines if not line.startswith(("  jitrl ", "more: "))] == [], parser.prog
        titles = [group.title for group in parser._action_groups if group._group_actions]
        assert titles[-1] == EVERYWHERE, parser.prog
        assert "usage: jitrl" in text


def test_the_help_groups_all_commands_and_hides_internal_ones():
    text = PARSER.format_help()
    for title, names in cli.GROUPS.items():
        listed = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [name for name in names if f"  {name} " in listed] == list(names)
    assert "sessions-" not in text


def test_examples_are_commands_that_can_be_typed():
    assert {*EXAMPLES} == {"", "help", *cli.COMMANDS}
    lines = [line for name, told in EXAMPLES.items() for line in told if name != "completion"]
    for line in lines:
        if line.startswith("jitrl help"):
            continue
        parsed(line.partition(" | ")[0].removeprefix("jitrl "))
    assert [page for page in PAGES.values() if not (ROOT / "docs" / f"{page}.md").is_file()] == []


def test_defaults_are_labelled():
    for parser in parsers():
        for action in parser._actions:
            assert "(%(default)s)" not in str(action.help), f"{parser.prog} {action.option_strings}"


def test_help_of_a_command_is_the_same_both_ways(capsys):
    said = []
    for words in (["help", "bench", "run"], ["bench", "run", "--help"]):
        with pytest.raises(SystemExit) as end:
            cli.main(words)
        assert end.value.code == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0].startswith("usage: jitrl bench run")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("wach", "there is no command 'wach' (did you mean 'watch'?)"),
        ("memory shwo", "there is no memory command 'shwo' (did you mean 'show'?)"),
        ("help memry", "there is no command 'memry' (did you mean 'memory'?)"),
        ("run --epsiodes 3", "there is no option '--epsiodes' (did you mean '--episodes'?)"),
        ("run pantry --ep 3", "there is no option '--ep'"),
        ("run pantry --profile papr", "there is no profile 'papr' (did you mean 'paper'?)"),
        ("run pantry --agent jitlr", "there is no agent 'jitlr' (did you mean 'jitrl'?)"),
        ("run pantry --set bta=3", "there is no setting 'bta' (did you mean 'beta'?)"),
        ("config set betta 3", "there is no setting 'betta' (did you mean 'beta'?)"),
        ("export x --to csvv", "'csvv' is none of: csv, "),
        ("run pantry and more", "this is one argument too many: 'and'"),
        ("completion tcsh", "'tcsh' is none of: bash, zsh, fish"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_nearest_name(line, sentence, capsys, tmp_path):
    try:
        code = cli.main([*line.split(), "--saves", str(tmp_path)])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert (code, said.out, said.err.count("\n")) == (2, "", 1)
    assert sentence in said.err


def test_a_wrong_session_is_told_with_the_nearest_name(saves, capsys):
    name = next(store.saved_sessions(saves)).name
    for line in ("sessions rm {} --yes", "replay {}", "curves {}", "run pantry --resume {}"):
        assert cli.main([*line.format(f"{name}x").split(), "--saves", str(saves)]) == 2
        assert f"did you mean '{name}'?" in capsys.readouterr().err


def test_no_option_can_be_abbreviated():
    assert [parser.prog for parser in parsers() if parser.allow_abbrev] == []


def test_files_are_written_with_the_same_option_and_old_names_are_still_taken():
    for parser in parsers():
        for action in parser._actions:
            if {"-o", "--output"} & {*action.option_strings}:
                assert action.option_strings == ["-o", "--output"], parser.prog
    assert parsed("curves --export x.svg").output == parsed("curves -o x.svg").output == Path("x.svg")
    assert parsed("bench report last --out x").output == parsed("bench report last -o x").output == Path("x")
    assert parsed("memory export x").file == parsed("memory export -o x").file == "x"
    assert parsed("memory export").file is None
    assert parsed("memory recover pantry --to x").to == parsed("memory recover pantry -o x").to == Path("x")
    assert (parsed("run pantry --json").json, parsed("run pantry --json x").json) == ("-", "x")
    assert parsed("run pantry -o x").output == "x"


@pytest.mark.parametrize(
    "line",
    ["export {}", "curves {} --json", "whatif {} --json", "sessions export {}", "replay {} --plain",
     "compare {} {} --json", "run pantry --resume {} --json"],
)  # fmt: skip
def test_last_is_the_session_that_was_played_last(line, saves, capsys):
    name = max((saves / "sessions").iterdir(), key=lambda folder: (folder / "events.jsonl").stat().st_mtime).name
    said = []
    for named in (name, "last"):
        assert cli.main([*line.format(named, named).split(), "--saves", str(saves), "--quiet"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0]
    assert said[0] == said[1]


def test_quiet_says_nothing_of_what_went_well_and_verbose_tells_why_it_did_not(saves, capsys, tmp_path):
    line = ["export", "last", "-o", str(tmp_path / "x.csv"), "--saves", str(saves)]
    assert cli.main(line) == 0
    assert "wrote" in capsys.readouterr().err
    assert cli.main(["-q", *line]) == 0
    assert capsys.readouterr() == ("", "")
    broken = [*line[:3], str(tmp_path / "none" / "x.csv"), *line[4:]]
    assert cli.main([*broken, "-q"]) == 1
    plain = capsys.readouterr().err
    assert plain.count("\n") == 1
    assert cli.main(["--verbose", *broken]) == 1
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.endswith(plain)


def completed(shell: str, lines: list[str], saves: Path) -> list[list[str]]:
    """Return what a shell offers at the end of each line."""
    program = Path(sys.executable).with_name("jitrl")
    script = {
        "bash": 'eval "$(jitrl completion bash)"; for line; do COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9; '
                "COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); "
                "_python_argcomplete jitrl; printf '%s\\n' \"${COMPREPLY[@]}\"; echo .; done",
        "zsh": 'autoload -U compinit; compinit -D 2>/dev/null; eval "$(jitrl completion zsh)"; '
               'print -r -- ${(k)_comps[jitrl]} ${_comps[jitrl]}; echo .',
        "fish": "jitrl completion fish | source; for line in $argv; complete -C $line; echo .; end",
    }[shell]  # fmt: skip
    words = [shell, "-c", script, *lines] if shell == "fish" else [shell, "-c", script, shell, *lines]
    env = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(saves), "JITRL_SAVES": str(saves), "TERM": "dumb"}
    result = subprocess.run(words, capture_output=True, text=True, env=env, cwd=saves, timeout=120)
    *offers, _ = f"\n{result.stdout}".split("\n.\n")
    return [[each.split("\t")[0].strip() for each in offer.split("\n") if each] for offer in offers]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_options_and_names(shell, saves):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    if shell == "zsh":  # its completion works only in a line editor: only that it is registered can be seen here
        assert "_python_argcomplete" in str(completed(shell, [""], saves))
        return
    name = next(store.saved_sessions(saves)).name
    lines = ["jitrl wat", "jitrl run --ep", "jitrl run pan", f"jitrl replay {name[:6]}", "jitrl run pantry --set bet"]
    commands, options, games, names, settings = completed(shell, lines, saves)
    assert commands == ["watch"]
    assert "--episodes" in options
    assert "pantry" in games
    assert name in names
    assert "beta=" in " ".join(settings)


def test_run_writes_the_same_result_wherever_it_goes(saves, capsys, tmp_path):
    file = tmp_path / "result.json"
    line = ["run", "pantry", "--resume", "last", "--saves", str(saves), "--quiet"]
    assert cli.main([*line, "-o", str(file)]) == 0
    assert cli.main([*line, "--json"]) == 0
    assert json.loads(file.read_text()) == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["feast"], "is a session of pantry, not of feast; go on with: jitrl run pantry --resume "),
        (["pantry", "--episodes", "30"], "has --episodes 1, which stays as it is"),
        (["pantry", "--model", "prior/uniform"], "has --model prior/verbs, which stays as it is"),
        (["pantry", "--set", "beta=9"], "has beta 20.0, which stays as it is"),
    ],
)
def test_what_a_session_does_not_have_cannot_be_asked_of_it_when_it_is_resumed(saves, capsys, typed, said):
    before = {path: path.stat().st_mtime_ns for path in saves.rglob("*")}
    assert cli.main(["run", *typed, "--resume", "last", "--saves", str(saves), "--quiet"]) == 2
    assert said in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in saves.rglob("*")} == before


def test_an_exception_that_no_command_foresaw_is_a_sentence_and_a_file(tmp_path, capsys, monkeypatch):
    def fails(agent, *_):
        raise ValueError(f"no {os.environ['OPENAI_API_KEY']}\033[2J")

    monkeypatch.setenv("OPENAI_API_KEY", "sk-swordfish-123456")
    monkeypatch.setattr(JitrlAgent, "decide", fails)
    line = ["run", "pantry", "--model", "prior/uniform", "--episodes", "1", "--saves", str(tmp_path), "--quiet"]
    assert cli.main(line) == 1
    said = capsys.readouterr().err
    (file,) = (tmp_path / "log").glob("jitrl-crash-*.txt")
    assert said.startswith("jitrl: something went wrong that should not have (ValueError: no ")
    assert said.endswith(f"what was stored is kept. The details are in {file}.\n")
    assert "in fails" in file.read_text()
    assert all("swordfish" not in text and "\033" not in text for text in (said, file.read_text()))
