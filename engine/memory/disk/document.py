"""Episodes to and from the documents that are stored, checked and bounded.

A document keeps each distinct state, history and list of valid actions once; its steps point to them by
index. `docs/memory-format.md` describes every field, `engine.limits` has the bounds. How an episode ended is stored
as `done`, `won` and `died`, which earlier versions read, too.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from sys import intern
from typing import Any

from engine import limits
from engine.errors import BadFile
from engine.limits import ACTIONS, LARGEST_REWARD, NAME, STEPS, TEXT, TOKENS, shown
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
_is_reward = functools.partial(limits.is_number, most=LARGEST_REWARD)
_OPTIONAL_STEP = {"provenance": "agent", "changed": True, "world_hash": "", "env_reward": 0.0, "score": 0.0}


def bounded(episode: Episode) -> Episode:
    """Return the episode with texts and lists clipped to the limits, without control characters.

    Raises:
        BadFile: It cannot be stored at all: no uid, no steps or too many, a number that is not finite or too large.
    """
    if not 0 < len(episode.uid) <= NAME or not episode.uid.isprintable():
        raise BadFile(f"an episode needs a uid of 1 to {NAME} printable characters")
    if not 0 < len(episode.steps) <= STEPS:
        raise BadFile(f"an episode of {len(episode.steps)} steps cannot be stored (1 to {STEPS})")
    for step in episode.steps:
        if step.provenance != "agent" and not PROVENANCE.fullmatch(step.provenance):
            raise BadFile(f"{shown(step.provenance)} is no provenance: agent, human or imported:NAME")
    if not limits.are_numbers([x for s in episode.steps for x in (s.reward, s.env_reward, s.score)], LARGEST_REWARD):
        raise BadFile(f"a step's reward or score is not a finite number of at most {LARGEST_REWARD:g}")
    if episode.outcome not in OUTCOMES:
        raise BadFile(f"an episode was won or lost, or has no outcome; {shown(episode.outcome)} is none")
    numbers = (episode.score, episode.max_score or 0.0, episode.started, episode.wall_s)
    if not all(map(_is_reward, numbers)):
        raise BadFile(f"an episode's score or time is not a finite number of at most {LARGEST_REWARD:g}")
    whole = (episode.seed, episode.token_scheme)
    if not (limits.is_count(episode.number) and all(map(limits.is_whole, whole))):
        raise BadFile("an episode's number or seed is too large")
    if _fits(episode):
        return episode
    seen: dict[State, State] = {}
    return replace(
        episode,
        steps=tuple(_bounded_step(step, seen) for step in episode.steps),
        final=_bounded_state(episode.final, seen),
        agent=clipped(episode.agent, NAME),
        model=clipped(episode.model, NAME),
        session=clipped(episode.session, NAME),
        scope=clipped(episode.scope, NAME),
    )


def to_document(episode: Episode, first: int) -> dict[str, Any]:
    """Return the document of an episode whose step 0 is entry `first` of its scope."""
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
    return {
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
            raise BadFile(f"the {name} of an episode should be {kind.__name__}, not {shown(value)}")
    if not document["uid"] or not all(limits.is_count(document.get(name)) for name in ("first", "number")):
        raise BadFile("an episode lacks its uid, its number or its first entry")
    for name in document.keys() - _KNOWN:
        limits.check_json(document[name], "a field that this version does not know")
    states = _listed(document, "states")
    histories = _listed(document, "histories")
    for kept in (*states, *histories):
        if not isinstance(kept, dict) or not isinstance(kept.get("text"), str):
            raise BadFile("a state of an episode has no text")
        if not limits.is_text(kept["text"], TEXT + 1):
            raise BadFile("a state of an episode is longer than memory takes, or has no UTF-8")
        _check_texts(kept.get("tokens"), TOKENS, "tokens")
        if not limits.is_text(kept.get("place", ""), NAME + 1):
            raise BadFile(f"the place of a state should be a text of at most {NAME} characters")
    valid = _listed(document, "valid")
    for actions in valid:
        _check_texts(actions, ACTIONS, "valid actions")
    steps = _listed(document, "steps")
    if not 0 < len(steps) <= STEPS:
        raise BadFile(f"an episode of {len(steps)} steps is not one")
    sizes = (len(states), len(histories), len(valid))
    for fields in steps:
        _check_step(fields, sizes)
    final = _listed(document, "final")
    if len(final) != 2 or not (_within(final[0], len(states)) and _within(final[1], len(histories))):
        raise BadFile("an episode lacks its final state")


def _check_step(fields: Any, sizes: tuple[int, int, int]) -> None:
    # Asked for every step of a memory that is opened; JSON gives exact types, so `type` is enough.
    try:
        places = (fields["state"], fields["history"], fields["valid"])
        action, reward = fields["action"], fields["reward"]
    except (KeyError, TypeError):
        raise BadFile("a step of an episode lacks its state, action or reward") from None
    for place, size in zip(places, sizes, strict=True):
        if type(place) is not int or not 0 <= place < size:
            raise BadFile("a step of an episode points to a state that is not there")
    if not limits.is_text(action, NAME + 1):
        raise BadFile("the action of a step should be a text")
    if not _is_reward(reward):
        raise BadFile(f"the reward of a step should be a number, not {shown(reward)}")
    for name in fields.keys() & _OPTIONAL_STEP.keys():
        if not _is(fields[name], type(_OPTIONAL_STEP[name])):
            raise BadFile(f"the {name} of a step cannot be {shown(fields[name])}")
    if "provenance" in fields and not PROVENANCE.fullmatch(fields["provenance"]):
        raise BadFile(f"{shown(fields['provenance'])} is no provenance")


def _check_texts(value: Any, limit: int, what: str) -> None:
    if not isinstance(value, list) or len(value) > limit:
        raise BadFile(f"the {what} of an episode should be a list of at most {limit} texts")
    if value and (
        set(map(type, value)) != {str} or max(map(len, value)) > NAME + 1 or not limits.is_text("".join(value))
    ):
        raise BadFile(f"the {what} of an episode should be texts of at most {NAME} characters")


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return _is_reward(value)
    if kind is int:
        return limits.is_whole(value)
    if kind is str:
        return limits.is_text(value, NAME + 1)
    return isinstance(value, kind)


def _within(value: Any, size: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < size


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


def _fits(episode: Episode) -> bool:
    """Whether nothing of an episode has to be clipped. That is the usual case, and takes few calls to find out."""
    steps = episode.steps
    states = {id(state): state for state in [episode.final, *[step.state for step in steps]]}.values()
    lists = list({id(step.valid_actions): step.valid_actions for step in steps}.values())
    for state in states:
        lists += (state.tokens, state.history_tokens)
    short = [episode.agent, episode.model, episode.session, episode.scope, *itertools.chain.from_iterable(lists)]
    short += [state.place for state in states]
    for step in steps:
        short += (step.action, step.provenance, step.world_hash)
    long = [text for state in states for text in (state.text, state.history)]
    return (
        max(map(len, short)) <= NAME and max(map(len, long)) <= TEXT and max(map(len, lists)) <= min(TOKENS, ACTIONS)
        and not _UNFIT.search("".join([*short, *long]))
    )  # fmt: skip


def _texts(texts: tuple[str, ...], limit: int) -> tuple[str, ...]:
    if not texts:
        return texts
    if len(texts) <= limit and max(map(len, texts)) <= NAME and not _UNFIT.search("".join(texts)):
        return texts
    return tuple(clipped(text, NAME) for text in texts[:limit])


def _bounded_state(state: State, seen: dict[State, State]) -> State:
    known = seen.get(state)
    if known is None:
        known = seen[state] = State(
            clipped(state.text, TEXT),
            _texts(state.tokens, TOKENS),
            clipped(state.history, TEXT),
            _texts(state.history_tokens, TOKENS),
            clipped(state.place, NAME),
        )
    return known


def _bounded_step(step: Step, seen: dict[State, State]) -> Step:
    return Step(
        _bounded_state(step.state, seen),
        clipped(step.action, NAME),
        step.reward,
        step.env_reward,
        step.score,
        clipped(step.provenance, NAME),
        _texts(step.valid_actions, ACTIONS),
        step.changed,
        clipped(step.world_hash, NAME),
    )


def counter(about: Mapping[str, Any], name: str, least: int) -> int:
    """Return a counter of a journal's first line; `least` where it is missing or smaller."""
    value = about.get(name, least)
    return value if limits.is_whole(value) and value >= least else least
