"""What a machine may lack: an encoding, a home, the right beginning of a file."""

from __future__ import annotations

import io
import json
import os
import pwd
import sys
from pathlib import Path

import pytest

from engine import paths
from engine.bench import suite as suites
from jitrl_tui.cli import main
from jitrl_tui.system import output

BOM = "\ufeff"


@pytest.mark.parametrize(
    "command",
    [["memory"], ["memory", "ls"], ["memory", "verify"], ["memory", "stats"], ["games", "map", "pantry"],
     ["run", "pantry"]],
)  # fmt: skip
@pytest.mark.parametrize("address", ["mysql://host/memory", ""])
def test_a_memory_that_is_no_address_is_refused_by_every_command(tmp_path, capsys, command, address):
    assert main([*command, "--memory", address, "--saves", str(tmp_path)]) == 2
    assert "is no address of a shared memory; one is postgresql://HOST/DATABASE" in capsys.readouterr().err
    assert not (tmp_path / "sessions").exists()


def test_files_may_begin_with_a_byte_order_mark(tmp_path, capsys):
    config = tmp_path / "config.toml"
    config.write_text(f"{BOM}[session]\nepisodes = 3\n", encoding="utf-8")
    assert main(["config", "show", "--config", str(config)]) == 0
    assert "episodes            3        " in capsys.readouterr().out
    suite, quick = tmp_path / "mine.toml", Path(suites.__file__).with_name("suites") / "quick.toml"
    suite.write_text(BOM + quick.read_text(encoding="utf-8"), encoding="utf-8")
    assert suites.load(str(suite)).title == suites.load("quick").title


def stream(encoding, *, terminal):
    made = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    made.isatty = lambda: terminal
    return made


@pytest.mark.parametrize(
    ("encoding", "terminal", "seen"),
    [("ascii", True, "caf? ?"), ("latin-1", True, "caf\xe9 ?"), ("ascii", False, r"caf\u00e9 \ud83d\ude00"),
     ("utf-8", True, "café 😀")],
)  # fmt: skip
def test_what_an_encoding_does_not_have_is_replaced(monkeypatch, encoding, terminal, seen):
    out = stream(encoding, terminal=terminal)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8"))
    output.guard()
    print(json.dumps("café 😀", ensure_ascii=False))
    sys.stdout.flush()
    told = out.buffer.getvalue().decode(encoding)
    assert told == f'"{seen}"\n'
    assert terminal or json.loads(told) == "café 😀"
    assert sys.stdin.readline() == "caf\ufffd\n"


@pytest.mark.parametrize("home", [None, "", "here"])
def test_somebody_without_a_home_is_told_where_things_cannot_be_kept(tmp_path, monkeypatch, capsys, home):
    def nobody(uid):
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setattr(paths, "NOWHERE", "/proc/nonexistent")  # where not even root can make a folder
    for name in ("HOME", "XDG_CONFIG_HOME", "JITRL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(tmp_path)
    run = ["run", "pantry", "--model", "prior/uniform", "--episodes", "1", "--steps", "1"]
    assert main([*run, "--saves", "~/saves"]) == 1
    assert "choose another folder with --saves DIR" in capsys.readouterr().err
    assert main([*run, "--saves", str(tmp_path / "saves")]) == 0
    assert sorted(os.listdir(tmp_path)) == ["saves"]
