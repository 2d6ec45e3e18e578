"""Whether a model can write and judge: a short test with questions of our own, remembered for a month.

The paper's method asks a model for step rewards, for summaries of states and for histories. A model that cannot
answer such questions would be replaced by rules at every step, so it is asked once, before anything is played.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine.errors import ModelError
from engine.llm import prompts
from engine.llm.model import Model

FILE = "writing.json"
KEPT_S = 30 * 86400.0
TRIES = 2
FAILED = "{} did not pass the short writing test"

STATE, HISTORY, REWARDS, WEB_REWARDS = "state", "history", "rewards", "web_rewards"
"""What is tested: the names of the prompts."""

_ROOM = (
    "Step 0: Cellar\nYou are in a damp cellar. A wooden ladder leads up. On a dusty shelf lie a tin box and a "
    "rusty key."
)
_NOUNS = ("cellar", "ladder", "shelf", "box", "key")
_STEPS = (
    "Step 0: Cellar\nA wooden ladder leads up. A steel door bars the way east. You are carrying a rusty key.\n"
    "-> Action: unlock door with key\n-> Reward: +10 (score 10)\n\n"
    "Step 1: The door is open now. Behind it something glitters.\n"
    "-> Action: sing (nothing in the world changed)\n-> Reward: +0 (score 10)\n\n"
    "Step 2: Nobody hears you.\n-> Action: east\n-> Reward: +25 (score 35)\n\n"
)
_END = "End (won): Treasury\nThis is what you came for. You have won."
_WEB_STEPS = (
    "Step 0: [shop/SLUG: nothing yet] Put the blue kettle into the basket\n-> Action: click(<link[Terms]>)\n"
    "-> Result: Terms and conditions\n\n"
    "Step 1: [shop/SLUG: nothing yet] Put the blue kettle into the basket\n-> Action: click(<button[Add to basket]>)\n"
    "-> Result: The blue kettle is in your basket\n\nEnd: [basket: nothing yet]"
)


def why_not(model: Model, what: str, cache: Path | None, clock: Callable[[], float] = time.time) -> str:
    """Return why `model` does not answer questions of this kind usably, "" if it does.

    It is asked at most twice, once a month. That a model did not answer at all is not kept: it may be able to the next
    time.

    Args:
        what: One of STATE, HISTORY, REWARDS, WEB_REWARDS.
        cache: Folder in which the result is kept, None for nowhere.

    Raises:
        MissingError: The network or a key is missing.
    """
    key = f"{model.name} {what} {prompts.digest(what)}"
    known = _load(cache)
    entry = known.get(key)
    if isinstance(entry, dict) and clock() - float(entry.get("at", 0.0)) < KEPT_S:
        return "" if entry.get("can") else FAILED.format(model.name)
    answered, problem = _tested(model, what)
    if cache is not None and answered:
        _save(cache, {**known, key: {"can": not problem, "at": clock()}})
    return problem


def _tested(model: Model, what: str) -> tuple[bool, str]:
    """Return whether there was an answer, and why none could be used, "" if one could."""
    from engine.evaluator import SCHEMA

    answered, problem = False, ""
    question, passes = _QUESTIONS[what]()
    for tries in range(TRIES):
        try:
            reply = model.complete(
                what.removeprefix("web_"), question.chat(), SCHEMA if what.endswith("rewards") else None,
                usable=passes, fresh=tries > 0,
            )  # fmt: skip
        except ModelError as error:
            problem = f"{model.name} did not answer the short writing test: {error}"
            continue
        if passes(reply.text):
            return True, ""
        answered, problem = True, FAILED.format(model.name)
    return answered, problem


def _state() -> tuple[prompts.Prompt, Callable[[str], bool]]:
    from engine.games.states.summaries import read_state

    def passes(text: str) -> bool:
        nouns = " ".join(read_state(text))
        return 2 * sum(noun in nouns for noun in _NOUNS) > len(_NOUNS)

    return prompts.render("state", trajectory=_ROOM), passes


def _history() -> tuple[prompts.Prompt, Callable[[str], bool]]:
    from engine.games.states.summaries import read_history

    def passes(text: str) -> bool:
        with contextlib.suppress(ModelError):
            return bool(read_history(text, ""))
        return False

    return prompts.render("history", trajectory=_STEPS + _END), passes


def _rewards() -> tuple[prompts.Prompt, Callable[[str], bool]]:
    prompt = prompts.render("rewards", trajectory=_STEPS + _END, total="3", final_score="35", steps="0, 1, 2")
    return prompt, lambda text: _ranks(text, best=2, worst=1, steps=3)


def _web_rewards() -> tuple[prompts.Prompt, Callable[[str], bool]]:
    prompt = prompts.render(
        "web_rewards", trajectory=_WEB_STEPS, total="2", verdict="the task was DONE", steps="0, 1"
    )
    return prompt, lambda text: _ranks(text, best=1, worst=0, steps=2)


_QUESTIONS = {STATE: _state, HISTORY: _history, REWARDS: _rewards, WEB_REWARDS: _web_rewards}


def _ranks(text: str, *, best: int, worst: int, steps: int) -> bool:
    """Return whether every step has a score, and the useful one a higher one than the useless one."""
    from engine.llm.reading import parse

    scores = {t: score for t, _, score, _ in parse.scores(text)}
    return all(t in scores for t in range(steps)) and scores[best] > scores[worst]


def _load(cache: Path | None) -> dict[str, Any]:
    if cache is not None:
        with contextlib.suppress(OSError, ValueError):
            known = json.loads((cache / FILE).read_text(encoding="utf-8"))
            if isinstance(known, dict):
                return known
    return {}


def _save(cache: Path, known: Mapping[str, Any]) -> None:
    """Keep what is known, at best: where it cannot be written, the test is made again."""
    with contextlib.suppress(OSError):
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = cache / f".{FILE}.{os.getpid()}"
        part.write_text(json.dumps(known, indent=1), encoding="utf-8")
        part.replace(cache / FILE)
