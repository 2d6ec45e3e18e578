"""Fixtures every room may use."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from engine import children, forks
from jitrl_tui import preferences
from jitrl_tui.preferences.schema import OPTIONS
from tests import commands, examples
from tests.tui.driving import draw_nothing, no_idle, press, rested

# No test, and no process that a test starts, sees or changes what the user of this machine has set.
_USER = Path(tempfile.mkdtemp(prefix="jitrl-test-user-"))
atexit.register(shutil.rmtree, _USER, ignore_errors=True)
os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(_USER / "config"), str(_USER / "state")
_SET = ("JITRL_CONFIG", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "TEXTUAL_THEME")
for _name in (*_SET, *(option.variable for option in OPTIONS)):
    os.environ.pop(_name, None)

# Each browser is driven by a node of its own, which compiles the same program at each start. Node keeps it here.
os.environ.setdefault("NODE_COMPILE_CACHE", str(Path(__file__).parents[1] / ".pytest_cache" / "node"))

# Workers that the product starts are forked from a process that has imported what they need.
commands.find_warm()
children.start = commands.start

examples.load()


_parse = Stylesheet._parse_rules
_rules: dict[Any, list[RuleSet]] = {}


def _parsed_once(sheet: Stylesheet, *given: Any, **named: Any) -> list[RuleSet]:
    key = given, *sorted(named.items()), *sorted(sheet._variables.items())
    if key not in _rules:
        _rules[key] = _parse(sheet, *given, **named)
    return _rules[key]


# Each app of a test has the same styles, and parsing them is a sixth of its start.
Stylesheet._parse_rules = _parsed_once  # type: ignore[method-assign]


def pytest_collection_finish() -> None:
    """Look for garbage less often, and not among what all tests share. It takes a third of the time otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5000, 10, 10)


@pytest.fixture(autouse=True)
def nothing_set() -> Iterator[None]:
    """Begin and end each test with nothing set or remembered."""
    preferences.use(preferences.Preferences())
    shutil.rmtree(_USER, ignore_errors=True)
    yield
    preferences.use(preferences.Preferences())
    StylesCache.get_inner_outer.cache_clear()  # it keeps what was drawn of a thousand widgets


@pytest.fixture(autouse=True)
def keys_wait_for_their_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each key that a test presses wait for the screen that should take it, and for no more."""
    monkeypatch.setattr(Pilot, "press", press)
    monkeypatch.setattr(Pilot, "_wait_for_screen", rested)
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", no_idle)


@pytest.fixture(autouse=True)
def no_frames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw a screen where a test reads it (`screen_text`), not 60 times a second for a terminal that is not there."""
    if "frames" not in request.fixturenames:
        monkeypatch.setattr(Compositor, "render_update", draw_nothing)


@pytest.fixture
def frames() -> None:
    """Draw every frame after all."""


@pytest.fixture
def own_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the product start each worker as it does for people, with an interpreter of its own."""
    monkeypatch.setattr(commands, "_place", "")
    forks.forget()


def _games_folder() -> Path | None:
    here = Path(__file__).resolve().parent.parent
    given = os.environ.get("JITRL_TEST_GAMES")
    for folder in ([Path(given)] if given else []) + [here.parent / "shared" / "games"]:
        if (folder / "zork1.z5").is_file():
            return folder
    return None


@pytest.fixture(scope="session")
def games_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with zork1.z5, zork3.z5 and library.z5 alone, which are never part of this project."""
    folder = _games_folder()
    if folder is None:
        pytest.skip("zork1.z5 is not here; point JITRL_TEST_GAMES at a folder that holds it")
    from tests.games.faults import others

    named = tmp_path_factory.mktemp("games")
    for path in others(folder):
        shutil.copy(path, named)
    return named
