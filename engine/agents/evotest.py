"""EvoTest: the model rewrites the agent's configuration after each episode; UCB chooses which one it rewrites.

A configuration is a guide for the prompt, routines, and two numbers. Routines are patterns: words that the environment
prints, and a hint that is shown while they are on display. Nothing that a model wrote is executed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engine import texts
from engine.agents.base import AgentContext, Turn
from engine.agents.episode_learner import (
    TEXT,
    LearningAgent,
    jaccard,
    last_gain,
    last_lines,
    origin,
    rows,
    schema,
    that_fit,
)
from engine.agents.static import Recalled
from engine.llm.prompts import Folder
from engine.records import Basis, BasisItem, Episode, Kept, State
from engine.settings import LearningSettings

PROMPTS = Folder("engine.agents.prompts.evotest")
SCHEMA = schema(
    guide=TEXT,
    routines={"type": "array", "items": schema(when=TEXT, do=TEXT)},
    temperature={"type": "number"},
    examples={"type": "integer"},
)
GUIDE = "YOUR GUIDE, rewritten after earlier episodes. Follow it:"
ROUTINES = "FOR THIS SITUATION:"
EXAMPLES = "ACTIONS THAT GAINED POINTS IN SIMILAR SITUATIONS:"


class Configuration(NamedTuple):
    """How an episode is played.

    Attributes:
        routines: (words that are printed, hint) pairs.
        temperature: Divides the model's logits.
        examples: How many actions that gained points are shown.
    """

    guide: str
    routines: tuple[tuple[str, str], ...]
    temperature: float
    examples: int

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        routines = [{"when": when, "do": do} for when, do in self.routines]
        return {**self._asdict(), "routines": routines}


class ConfigNode(NamedTuple):
    """An episode that was played with a configuration.

    Attributes:
        uid: Of the episode.
        parent: Uid of the episode whose configuration was rewritten into this one, "" for none.
        score: As a share of what could be reached, as far as that is known.
    """

    uid: str
    parent: str
    score: float


class EvoTestAgent(LearningAgent):
    """Keeps of each episode how it was played, what came of it, and the configuration that is next."""

    kind = "configuration"

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context, "evotest")
        self._configuration = _first(self.settings)
        self._parent = ""
        self._gains: list[tuple[Kept, Mapping[str, Any]]] = []

    def begin_episode(self, state: State) -> None:
        """Take the configuration that was written last; the first one has no guide."""
        super().begin_episode(state)
        self._configuration, self._parent = _first(self.settings), ""
        if self.known:
            following = self.known[-1].data.get("next")
            self._configuration = self._read(following) or self._configuration
            self._parent = str(self.known[-1].data.get("parent_of_next", ""))
        by_content = {
            (str(row.get("tokens")), str(row.get("action"))): (one, row)
            for one in self.known
            for row in rows(one, "gains")
        }
        self._gains = list(by_content.values())

    def recall(self, turn: Turn) -> Recalled:
        """Return the guide, the routines whose words are on display, and gains in similar states."""
        has = self._configuration
        written = self.known[-1] if self.known else Kept("", "")
        seen = turn.present.casefold()
        named = [(GUIDE, BasisItem(has.guide, origin(written), uid=written.uid))] if has.guide else []
        named += [
            (ROUTINES, BasisItem(do, f"{origin(written)}, routine", uid=written.uid))
            for when, do in has.routines
            if when.casefold() in seen
        ]
        named += [(EXAMPLES, item) for item in self._examples(turn.state, has.examples)]
        named = that_fit(named, self.settings.memory_tokens, lambda each: each[1].text)
        items = [item for _, item in named]
        if has.temperature != 1.0:
            numbers = f"The model's logits are divided by {has.temperature:g}."
            items.append(BasisItem(numbers, f"{origin(written)}, temperature", uid=written.uid))
        heads = dict.fromkeys(head for head, _ in named)
        sections = {h: "\n".join([h, *(f"- {item.text}" for one, item in named if one == h)]) for h in heads}
        record = sections.pop(EXAMPLES, "")
        basis = (Basis(self.kind, "Guide", tuple(items)),) if items else ()
        return Recalled("\n\n".join(sections.values()), basis, has.temperature, record)

    def learn(self, episode: Episode) -> None:
        """Let the model rewrite the configuration that UCB chooses; one call. After a win the same one goes on."""
        stuck = episode.steps[last_gain(episode) :]
        failed = episode.outcome == "lost" or len(stuck) >= self.settings.stuck_steps
        data = {
            "lived": self._configuration.plain(),
            "parent": self._parent,
            "score": episode.score,
            "max_score": episode.max_score,
            "transcript": last_lines("\n\n".join(self.paragraphs(episode)), self.settings.learning_tokens),
            "gains": self._gained(episode),
            "failure": [step.action for step in stuck[-self.settings.stuck_steps :]] if failed else [],
        }
        played = {one.episode_uid: one.data for one in self.known} | {episode.uid: data}
        following, parent = self._configuration, self._parent
        if episode.outcome != "won":
            parent = choose_node(_nodes(played), self.settings.ucb, self.settings.ucb_decay)
            following = self._evolved(played, parent)
        text = f"Guide: {following.guide}" if following.guide else "No guide."
        self.context.kept.add(self.kind, text, {**data, "next": following.plain(), "parent_of_next": parent})

    def _evolved(self, played: Mapping[str, Mapping[str, Any]], uid: str) -> Configuration:
        """Return what the model makes of the configuration of an episode."""
        data, s = played[uid], self.settings
        has = self._read(data.get("lived")) or _first(s)
        failures = [f for one in played.values() if isinstance(f := one.get("failure"), (list, tuple)) and f]
        failed = [" > ".join(map(str, f)) for f in failures[::-1][: s.failures]]
        return self.ask(
            "configuration",
            PROMPTS,
            "evolve",
            lambda answer: found if (found := self._read(answer)) and found.guide else None,
            SCHEMA,
            guide=has.guide or "none yet",
            routines="\n".join(f"- when: {when} - do: {do}" for when, do in has.routines) or "none yet",
            temperature=f"{has.temperature:g}",
            examples=str(has.examples),
            rewritten=str(sum(one.get("parent") == uid for one in played.values())),
            coldest=f"{s.coldest:g}",
            hottest=f"{s.hottest:g}",
            most_examples=str(s.most_examples),
            best=f"{max(_score(one) for one in played.values()):g}",
            failures="\n".join(that_fit(failed, s.learning_tokens // 4, str)) or "nothing yet",
            transcript=str(data.get("transcript", "")),
            count=str(s.routines),
        )

    def _read(self, value: Any) -> Configuration | None:
        """Return a configuration of JSON values, held to the ranges; None if it is none."""
        if not isinstance(value, Mapping):
            return None
        s, usual = self.settings, _first(self.settings)
        listed = value.get("routines")
        routines = [
            (when, do)
            for row in (listed if isinstance(listed, (list, tuple)) else ())
            if isinstance(row, Mapping) and (when := self.short(row.get("when"))) and (do := self.short(row.get("do")))
        ]
        temperature = _number(value.get("temperature"), usual.temperature)
        examples = _number(value.get("examples"), usual.examples)
        return Configuration(
            self.short(value.get("guide")),
            tuple(routines[: s.routines]),
            min(max(temperature, s.coldest), s.hottest),
            int(min(max(examples, 0), s.most_examples)),
        )

    def _gained(self, episode: Episode) -> list[dict[str, Any]]:
        """Return the steps that gained points, the last ones where there are more than `key_states`."""
        return [
            {
                "tokens": list(step.state.tokens),
                "state": texts.clipped(step.state.text, self.settings.told_characters),
                "action": step.action,
                "gain": step.env_reward,
            }
            for step in episode.steps
            if step.env_reward > 0
        ][-self.settings.key_states :]

    def _examples(self, state: State, most: int) -> list[BasisItem]:
        """Return the gains in the most similar states, the newest of equally similar ones first."""
        here = set(state.tokens)
        scored = [(_likeness(here, row), one, row) for one, row in reversed(self._gains)]
        best = sorted((each for each in scored if each[0] > 0), key=lambda each: -each[0])[:most]
        return [
            BasisItem(
                f"{row.get('state', '')}: {row.get('action', '')} ({_number(row.get('gain'), 0.0):+g})",
                f"{origin(one)}, similarity {similarity:.2f}",
                uid=one.uid,
            )
            for similarity, one, row in best
        ]


def choose_node(nodes: Sequence[ConfigNode], c: float, decay: float) -> str:
    """Return the uid of the node that is rewritten next: the one with the largest upper confidence bound.

    The bound is score + c decay^depth sqrt(ln(max(2, N)) / (1 + children)), N the number of nodes. Of equal ones the
    newest is taken.
    """
    parents = {node.uid: node.parent for node in nodes}
    children = {uid: sum(node.parent == uid for node in nodes) for uid in parents}

    def depth(uid: str) -> int:
        seen: set[str] = set()
        while (uid := parents.get(uid, "")) and uid not in seen:
            seen.add(uid)
        return len(seen)

    def bound(node: ConfigNode) -> float:
        tried = math.sqrt(math.log(max(2, len(nodes))) / (1 + children[node.uid]))
        return node.score + c * decay ** depth(node.uid) * tried

    return max(reversed(nodes), key=bound).uid


def _nodes(played: Mapping[str, Mapping[str, Any]]) -> list[ConfigNode]:
    """Return the episodes as nodes: scores are shares of the maximum, or of the largest score where nobody knows it."""
    largest = max((abs(_score(one)) for one in played.values()), default=0.0) or 1.0
    return [
        ConfigNode(uid, str(one.get("parent", "")), _score(one) / (_number(one.get("max_score"), 0.0) or largest))
        for uid, one in played.items()
    ]


def _first(settings: LearningSettings) -> Configuration:
    return Configuration("", (), 1.0, min(settings.examples, settings.most_examples))


def _score(data: Mapping[str, Any]) -> float:
    return _number(data.get("score"), 0.0)


def _number(value: Any, usual: float) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else usual


def _likeness(here: set[str], row: Mapping[str, Any]) -> float:
    tokens = row.get("tokens")
    return jaccard(here, set(map(str, tokens))) if isinstance(tokens, (list, tuple)) else 0.0
