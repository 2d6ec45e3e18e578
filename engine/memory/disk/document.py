"""Episodes to and from the documents that are stored, checked and bounded.

A document keeps each distinct state, history and list of valid actions once; its steps point to them by
index. `docs/memory-format.md` describes every field, `engine.limits` has the bounds. How an episode ended is stored
as `done`, `won` and `died`, which earlier versions read, too.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any

from engine import limits
from engine.errors import BadFile
from engine.limits import ACTIONS, LARGEST_REWARD, NAME, STEPS, TEXT, TOKENS, short_text
from engine.records import OUTCOMES, Episode, State, Step

EPISODES, KEPT = "episodes", "kept"
"""Names of the tables of a memory: its episodes, and the records that methods keep."""
FORGOTTEN = "forgotten"
"""Provenance of a step whose content was taken out; its reward stays, so that other returns do not change."""

PROVENANCE = re.compile(r"agent|human|forgotten|imported:.{1,200}", re.DOTALL)
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, which could steer a terminal, and lone surrogates, which have no UTF-8."""
_EPISODE_FIELDS: tuple[tuple[str, type], ...] = (
    ("uid", str), ("scope", str), ("number", int), ("agent", str), ("model", str), ("seed", int),
    ("session", str), ("score", float), ("max_score", float),
    ("started", float), ("wall_s", float), ("token_scheme", int),
)  # fmt: skip
_END_FIELDS = (("done", bool), ("won", bool), ("died", bool), ("truncated", bool))
_KNOWN = {name for name, _ in (*_EPISODE_FIELDS, *_END_FIELDS)} | {
    "first", "states", "histories", "valid", "steps", "final",
}  # fmt: skip
_NAMES = ("agent", "model", "session", "scope")
_CLIPPED = (*_NAMES, "place", "action", "provenance", "world_hash")
_is_reward = functools.partial(limits.is_number, most=LARGEST_REWARD)
_OPTIONAL_STEP = {"provenance": "agent", "changed": True, "world_hash": "", "env_reward": 0.0, "score": 0.0}


def to_document(episode: Episode, first: int) -> dict[str, Any]:
    """Return the document of an episode whose step 0 is entry `first` of its scope.

    Texts and lists are clipped to the limits, and control characters replaced.

    Raises:
        BadFile: It cannot be stored at all: no uid, no steps or too many, a number that is not finite or too large.
    """
    if not 0 < len(episode.uid) <= NAME or not episode.uid.isprintable():
        raise BadFile(f"an episode needs a uid of 1 to {NAME} printable characters")
    if episode.outcome not in OUTCOMES:
        raise BadFile(f"an episode was won or lost, or has no outcome; {short_text(episode.outcome)} is none")
    states: dict[tuple[str, tuple[str, ...], str], int] = {}
    histories: dict[tuple[str, tuple[str, ...]], int] = {}
    valid: dict[tuple[str, ...], int] = {}
    places = [
        (
            states.setdefault((state.text, state.tokens, state.place), len(states)),
            histories.setdefault((state.history, state.history_tokens), len(histories)),
        )
        for state in [*[step.state for step in episode.steps], episode.final]
    ]
    steps = []
    for step, (state, history) in zip(episode.steps, places, strict=False):
        fields: dict[str, Any] = {
            "state": state,
            "history": history,
            "action": step.action,
            "reward": step.reward,
            "valid": valid.setdefault(step.valid_actions, len(valid)),
        }
        for name, usual in _OPTIONAL_STEP.items():
            value = getattr(step, name)
            if value != usual:
                fields[name] = value
        steps.append(fields)
    document = {
        **{name: getattr(episode, name) for name, _ in _EPISODE_FIELDS},
        "done": episode.terminated,
        "won": episode.outcome == "won",
        "died": episode.outcome == "lost",
        "truncated": episode.truncated,
        "first": first,
        "states": [{"text": text, "tokens": list(tokens), "place": place} for text, tokens, place in states],
        "histories": [{"text": text, "tokens": list(tokens)} for text, tokens in histories],
        "valid": list(map(list, valid)),
        "steps": steps,
        "final": list(places[-1]),
    }
    _clip(document)
    check(document)
    return document


def to_episode(document: Mapping[str, Any]) -> Episode:
    """Return the episode of a document.

    Raises:
        BadFile: The document is none of an episode.
    """
    check(document)
    states, histories = document["states"], document["histories"]
    valid = [tuple(map(intern, actions)) for actions in document["valid"]]  # each text once for all episodes
    built: dict[tuple[int, int], State] = {}

    def state(index: int, history: int) -> State:
        key = (index, history)
        if key not in built:
            s, h = states[index], histories[history]
            tokens, history_tokens = tuple(map(intern, s["tokens"])), tuple(h["tokens"])
            built[key] = State(s["text"], tokens, h["text"], history_tokens, s.get("place", ""))
        return built[key]

    steps = tuple(
        Step(
            state=state(fields["state"], fields["history"]),
            action=intern(fields["action"]),
            reward=float(fields["reward"]),
            env_reward=float(fields.get("env_reward", 0.0)),
            score=float(fields.get("score", 0.0)),
            provenance=fields.get("provenance", "agent"),
            valid_actions=valid[fields["valid"]],
            changed=fields.get("changed", True),
            world_hash=fields.get("world_hash", ""),
        )
        for fields in document["steps"]
    )
    values = {name: document[name] for name, _ in _EPISODE_FIELDS if document.get(name) is not None}
    terminated = bool(document.get("done"))
    return Episode(
        **values,
        steps=steps,
        final=state(*document["final"]),
        terminated=terminated,
        # Earlier versions stored no `truncated`: what the environment had not ended had run out of steps.
        truncated=bool(document.get("truncated", not terminated)),
        outcome="won" if document.get("won") else "lost" if document.get("died") else "",
    )


def check(document: Mapping[str, Any]) -> None:
    """Make sure that a document from a file is one of an episode, whole and within the limits.

    Raises:
        BadFile: It is not; the sentence says where.
    """
    for name, kind in (*_EPISODE_FIELDS, *_END_FIELDS):
        value = document.get(name)
        if name in ("uid", "scope", "number") and value is None:
            raise BadFile(f"an episode lacks its {name}")
        if value is not None and not _is(value, kind):
            raise BadFile(f"the {name} of an episode should be {kind.__name__}, not {short_text(value)}")
    if not document["uid"] or not all(limits.is_count(document.get(name)) for name in ("first", "number")):
        raise BadFile("an episode lacks its uid, its number or its first entry")
    for name in document.keys() - _KNOWN:
        limits.check_json(document[name], "a field that this version does not know")
    kept = [*_listed(document, "states"), *_listed(document, "histories")]
    try:
        texts, tokens = [one["text"] for one in kept], [one["tokens"] for one in kept]
        places = [one.get("place", "") for one in kept]
    except (KeyError, TypeError, AttributeError):
        raise BadFile("a state of an episode lacks its text or its tokens") from None
    _check_texts(texts, TEXT, "texts")
    _check_texts(places, NAME, "places")
    _check_lists(tokens, TOKENS, "tokens")
    valid = _listed(document, "valid")
    _check_lists(valid, ACTIONS, "valid actions")
    sizes = (len(document["states"]), len(document["histories"]), len(valid))
    _check_steps(_listed(document, "steps"), sizes)
    final = _listed(document, "final")
    if len(final) != 2 or not all(map(_are_within, zip(final, strict=True), sizes)):
        raise BadFile("an episode lacks its final state")


def _check_steps(steps: list[Any], sizes: tuple[int, int, int]) -> None:
    """Look at all steps at once: this is done for each episode of a memory that is opened."""
    if not 0 < len(steps) <= STEPS:
        raise BadFile(f"an episode of {len(steps)} steps is not one (1 to {STEPS})")
    try:
        columns = [[step[name] for step in steps] for name in ("state", "history", "valid", "action", "reward")]
        more = {name: [step.get(name, usual) for step in steps] for name, usual in _OPTIONAL_STEP.items()}
    except (KeyError, TypeError, AttributeError):
        raise BadFile("a step of an episode lacks its state, action or reward") from None
    *places, actions, rewards = columns
    if not all(map(_are_within, places, sizes)):
        raise BadFile("a step of an episode points to a state that is not there")
    _check_texts(actions, NAME, "actions")
    _check_texts([*more["provenance"], *more["world_hash"]], NAME, "provenances and hashes")
    if not limits.are_numbers([*rewards, *more["env_reward"], *more["score"]], LARGEST_REWARD):
        raise BadFile(f"a step's reward or score is not a finite number of at most {LARGEST_REWARD:g}")
    if set(map(type, more["changed"])) != {bool}:
        raise BadFile("whether a step changed anything should be true or false")
    for provenance in set(more["provenance"]):
        if not PROVENANCE.fullmatch(provenance):
            raise BadFile(f"{short_text(provenance)} is no provenance: agent, human or imported:NAME")


def _check_lists(lists: list[Any], most: int, what: str) -> None:
    if not set(map(type, lists)) <= {list} or max(map(len, lists), default=0) > most:
        raise BadFile(f"the {what} of an episode should be lists of at most {most} texts")
    _check_texts(list(itertools.chain.from_iterable(lists)), NAME, what)


def _check_texts(texts: list[Any], longest: int, what: str) -> None:
    """Make sure that these are texts of so many characters and an ellipsis, which is added where one was clipped."""
    if texts and (
        set(map(type, texts)) != {str}
        or max(map(len, texts)) > longest + 1
        or not limits.is_text("".join(texts), most=limits.LINE)
    ):
        raise BadFile(f"the {what} of an episode should be texts of at most {longest} characters")


def _are_within(numbers: Sequence[Any], size: int) -> bool:
    """Whether all are places in a list of this size."""
    return set(map(type, numbers)) == {int} and min(numbers) >= 0 and max(numbers) < size


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return _is_reward(value)
    if kind is int:
        return limits.is_whole(value)
    if kind is str:
        return limits.is_text(value, NAME + 1)
    return isinstance(value, kind)


def _listed(document: Mapping[str, Any], name: str) -> list[Any]:
    value = document.get(name)
    if not isinstance(value, list):
        raise BadFile(f"an episode lacks its {name}")
    return value


def clipped(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters and an ellipsis, without control characters."""
    if len(text) > limit:
        text = text[:limit] + "…"
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def _clip(document: dict[str, Any]) -> None:
    """Clip texts and lists of a document, and replace control characters. Most need none of it, which is seen first."""
    kept, steps = [*document["states"], *document["histories"]], document["steps"]
    lists = [one["tokens"] for one in kept] + document["valid"]
    long = [one["text"] for one in kept]
    short = [document[name] for name in _NAMES]
    short += [one.get("place", "") for one in kept]
    for step in steps:
        short += (step["action"], step.get("provenance", ""), step.get("world_hash", ""))
    short += itertools.chain.from_iterable(lists)
    if (
        max(map(len, short)) <= NAME and max(map(len, long)) <= TEXT and max(map(len, lists)) <= min(TOKENS, ACTIONS)
        and not _UNFIT.search("".join([*short, *long]))
    ):  # fmt: skip
        return
    for one in kept:
        one["text"], one["tokens"] = clipped(one["text"], TEXT), _clipped_all(one["tokens"], TOKENS)
    document["valid"] = [_clipped_all(actions, ACTIONS) for actions in document["valid"]]
    for fields in (document, *kept, *steps):
        fields |= {name: clipped(fields[name], NAME) for name in _CLIPPED if name in fields}


def _clipped_all(texts: list[str], most: int) -> list[str]:
    return [clipped(text, NAME) for text in texts[:most]]


def counter(about: Mapping[str, Any], name: str, least: int) -> int:
    """Return a counter of a journal's first line; `least` where it is missing or smaller."""
    value = about.get(name, least)
    return value if limits.is_whole(value) and value >= least else least
