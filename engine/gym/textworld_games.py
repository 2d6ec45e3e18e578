"""TextWorld's games with Gymnasium's interface. Runs in the worker process only.

An id is the path of a game made by `tw-make`, or the name of a challenge of TextWorld (`tw-simple`,
`tw-coin_collector`, ...), with its options as keyword arguments. A challenge is compiled once and cached.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from engine.disk import printable, read_bytes
from engine.gym.maker_base import MadeEnvironment, NoSuchEnvironment, versions
from engine.gym.unfit import Unfit

_PROMPT = re.compile(r"\n>[^\n]*\Z")
"""The end of a game's output: the prompt, and a line with place, score and moves."""
_HEADING = re.compile(r"^-= (.+?) =-$", re.M)
_SHOWN = ("description", "inventory", "admissible_commands", "score", "max_score", "won", "lost", "moves", "objective")


def make(env_id: str, given: Mapping[str, Any], cache: Path) -> MadeEnvironment:
    """Make a game.

    Raises:
        NoSuch: There is no such file or challenge.
        Unfit: An option is invalid, or the game shows no text.
    """
    from textworld.challenges import CHALLENGES

    path = Path(env_id).expanduser()
    if path.suffix == ".json":
        raise Unfit(f"{env_id} describes a game and prints nothing; name the story beside it, {path.stem}.z8")
    if env_id in CHALLENGES:
        path = _compiled(env_id, given, cache)
    elif not path.exists():
        raise NoSuchEnvironment(sorted(CHALLENGES))
    elif given:
        raise Unfit(f"a game file takes no options such as {next(iter(given))}")
    try:
        data = read_bytes(path)
    except OSError as error:
        raise Unfit(f"{printable(path)} cannot be read: {error.strerror}") from None
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    return MadeEnvironment(TextWorldGame(path), f"{path}, {versions('textworld')}", digest)


class GameCommands:
    """The action space of a game: all texts except commands that end it, restart it, or go back in it."""

    reserved = ("quit", "q", "restart", "restore", "save", "undo")

    def contains(self, command: str) -> bool:
        """Whether a command is allowed."""
        return command.split()[:1] != [] and command.split()[0].lower() not in self.reserved

    def __str__(self) -> str:
        return f"TextWorld's commands without {', '.join(self.reserved)}"


class TextWorldGame:
    """A game file. Observations are its output without prompt and status line.

    In the first observation, the objective and the description of the first room replace the drawn title.
    """

    action_space = GameCommands()

    def __init__(self, path: Path) -> None:
        import textworld.gym

        infos = textworld.EnvInfos(**dict.fromkeys(_SHOWN, True))
        name = textworld.gym.register_game(str(path), infos, max_episode_steps=None)
        self._game = textworld.gym.make(name)
        self._score = 0.0

    @property
    def unwrapped(self) -> TextWorldGame:
        """The environment itself."""
        return self

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode. `seed` has no effect, because the game file is fixed."""
        text, infos = self._game.reset()
        self._score = 0.0
        opening = [str(infos.get("objective") or ""), str(infos.get("description") or "")]
        return "\n\n".join(filter(None, opening)) or _said(text), _placed(infos)

    def step(self, command: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a command."""
        text, score, done, infos = self._game.step(command)
        before, self._score = self._score, float(score)
        return _said(text), self._score - before, bool(done), False, _placed(infos)

    def close(self) -> None:
        """End the game."""
        self._game.close()


def _said(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", _PROMPT.sub("", text)).strip()


def _placed(infos: dict[str, Any]) -> dict[str, Any]:
    heading = _HEADING.search(str(infos.get("description") or ""))
    return {**infos, "location": heading.group(1) if heading else ""}


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises Unfit on errors instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise Unfit(f"{self.prog} cannot be made like that: {message}")


def _compiled(challenge: str, given: Mapping[str, Any], cache: Path) -> Path:
    """Return the path of a challenge's story file. It is compiled if it is not in the cache.

    Raises:
        Unfit: An option is missing or invalid.
    """
    import textworld
    from textworld.challenges import CHALLENGES

    _, make_game, add_arguments = CHALLENGES[challenge]
    parser = _Parser(prog=challenge, add_help=False)
    add_arguments(parser)
    parser.add_argument("--seed", type=int, default=1)
    settings = vars(parser.parse_args([part for key, value in given.items() for part in _flag(key, value)]))
    key = json.dumps([challenge, sorted(settings.items()), versions("textworld")], default=str)
    story = cache / f"{challenge}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.z8"
    if story.is_file():
        return story
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        options = textworld.GameOptions()
        options.seeds = settings["seed"]
        options.path = str(Path(scratch) / "game.z8")
        options.file_ext = ".z8"
        made = Path(textworld.generator.compile_game(make_game(settings, options), options))
        # The story is moved last, so if it exists, its other files exist, too.
        os.replace(made.with_suffix(".json"), story.with_suffix(".json"))
        os.replace(made, story)
    return story


def _flag(key: str, value: Any) -> list[str]:
    name = f"--{key.replace('_', '-')}"
    if value is True:
        return [name]
    return [] if value in (False, None) else [name, str(value)]
