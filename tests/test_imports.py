"""Starting is light: nothing heavy is imported before it is used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {
    "litellm",
    "jericho",
    "xllamacpp",
    "textual",
    "prompt_toolkit",
    "numpy",
    "tinydb",
    "spacy",
    "playwright",
}


def imported(program: str) -> set[str]:
    code = f"import sys, json; sys.path.insert(0, {str(ROOT)!r})\n{program}\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.split(".")[0] for name in json.loads(result.stdout.splitlines()[-1])}


@pytest.mark.parametrize(
    "program",
    [
        "import engine",
        "import engine.records, engine.settings, engine.codec, engine.errors, engine.paths, engine.session.store",
        "import jitrl_tui.cli; jitrl_tui.cli.make_parser()",
        "import engine.memory, engine.llm, engine.games.catalogue",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(program):
    assert imported(program) & HEAVY == set()


def test_the_app_opens_without_what_only_sessions_need():
    assert imported("import jitrl_tui.app") & (HEAVY - {"textual"}) == set()


def test_the_engine_never_imports_a_screen():
    assert (
        imported("import engine.session.loop, engine.agents") & {"textual", "prompt_toolkit", "rich", "jitrl_tui"}
        == set()
    )


def test_help_names_every_command_and_wrong_ones_are_one_sentence():
    result = subprocess.run(
        [sys.executable, "-m", "jitrl_tui.cli", "--help"], capture_output=True, text=True, cwd=ROOT
    )
    assert result.returncode == 0
    for command in ("watch", "play", "run", "replay", "sessions", "memory", "games", "models", "doctor"):
        assert f"\n  {command} " in result.stdout
    result = subprocess.run(
        [sys.executable, "-m", "jitrl_tui.cli", "fly"], capture_output=True, text=True, cwd=ROOT
    )
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
