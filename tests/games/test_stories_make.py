"""`jitrl games make`."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

import pytest

from engine.errors import MissingError, UsageError
from engine.games.catalogue import read_story
from jitrl_tui.commands.games.make import register_make


def run(*words):
    parser = argparse.ArgumentParser()
    register_make(parser.add_subparsers())
    args = parser.parse_args(["make", *words])
    return args.handler(args)


def test_a_bad_name_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(UsageError, match="small letters"):
        run("--name", "../evil", "-o", str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [("--kind", "maze"), ("--size", "huge"), ("--seed", "x")])
def test_what_cannot_be_is_a_usage_error(words, capsys):
    with pytest.raises(SystemExit) as ended:
        run(*words)
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("textworld") is not None, reason="TextWorld is installed here")
def test_without_textworld_it_says_how_to_get_it(tmp_path):
    with pytest.raises(MissingError, match="jitrl up make") as missing:
        run("-o", str(tmp_path))
    assert missing.value.exit_code == 3
    assert not list(tmp_path.iterdir())


@pytest.mark.soak
@pytest.mark.skipif(find_spec("textworld") is None, reason="TextWorld is not installed")
@pytest.mark.parametrize("kind", ["cooking", "house"])
def test_what_was_made_is_found_and_supported(tmp_path, kind):
    assert run("--kind", kind, "--seed", "5", "-o", str(tmp_path)) == 0
    story = read_story(tmp_path / f"tw-{kind}-small-5.z8")
    assert story.supported
    assert story.max_score >= 8
