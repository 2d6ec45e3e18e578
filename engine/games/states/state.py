"""Turns observations of a game into abstracted states (paper, App. E), without calling a model.

Tokens are made from the place, the description of the scene, and the inventory. Things that pass are left out:

- Wandering characters are missing from the observation's `scene`.
- A sentence that follows both `look` and `inventory`, or that was printed after the last action, is ambience (a song
  bird, a failing lamp, a glowing sword, an announcement, hunger).
- Score and moves are not part of a state.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from engine import texts
from engine.environment import Abstractor, Writing
from engine.games.states.phrases import read, scenery_tokens, sentences
from engine.records import Observation, State

_MOST_NOUNS = 40
_HEADING = re.compile(r"^\W*you(?: are| have|['’](?:re|ve))\b[^:]*(?::|$)", re.I)
_ENDS = ".!?\"')"
_BANNER = re.compile(r"copyright|trademark|release|revision|serial|version|rights reserved|\bby\b", re.I)


@dataclass(frozen=True, slots=True)
class _Taken:
    """One step of the current episode: observation, action, and points gained."""

    seen: Observation
    action: str
    gain: float


@dataclass(frozen=True, slots=True)
class _Milestone:
    action: str
    result: str
    gain: float


class GameAbstractor:
    """Makes states and the history of one episode. Implements `engine.environment.Abstractor`.

    Args:
        of: Makes text and tokens of a situation; takes and returns what `abstract` does. None for `abstract`.
    """

    def __init__(self, of: Callable[..., tuple[str, tuple[str, ...]]] | None = None) -> None:
        self._of = of or abstract
        self._steps: list[_Taken] = []
        self._milestones: list[_Milestone] = []
        self._route: list[tuple[str, float]] = []
        self._goal = ""
        self._now: State | None = None
        self._seen: Observation | None = None
        self._known: dict[tuple[str, str, str, str, int, tuple[str, ...]], tuple[str, tuple[str, ...]]] = {}

    def begin(self, observation: Observation) -> State:
        """Start a new episode and return the state of its first observation."""
        self._steps, self._milestones = [], []
        self._route = [(observation.place, observation.score)]
        self._goal = _goal(observation)
        self._seen = observation
        self._now = self._state(observation)
        return self._now

    def advance(self, action: str, observation: Observation) -> State:
        """Return the state after `action` led to `observation`.

        Raises:
            RuntimeError: No episode was started.
        """
        if self._now is None or self._seen is None:
            raise RuntimeError("call `begin` before `advance`")
        seen = self._seen
        gain = observation.score - seen.score
        self._steps.append(_Taken(seen, action, gain))
        if gain > 0:
            self._milestones.append(_Milestone(action, _result(seen, observation), gain))
        self._walk(observation)
        self._seen = observation
        self._now = self._state(observation)
        return self._now

    def recent(self, steps: int) -> str:
        """Return the last `steps` steps as text, oldest first: observation, action and reward of each."""
        first = max(0, len(self._steps) - max(0, steps))
        return "\n\n".join(
            step_text(number, taken.seen.text, taken.action, taken.gain)
            for number, taken in enumerate(self._steps[first:], first)
        )

    def situation(self, observation: Observation) -> str:
        """Return the current situation as text for a prompt; see the function `situation`."""
        return situation(observation)

    def written(self, writing: Writing) -> Abstractor:
        """Return the abstractor for these settings: this one, or one around it for raw or model-written texts."""
        settings = writing.settings
        abstractor: Abstractor = self
        if settings.state == "raw":
            from engine.games.states.summaries import RawStates

            abstractor = RawStates(abstractor, settings.ngram)
        if settings.state == "llm" or settings.history != "rules":
            from engine.games.states.summaries import WrittenAbstractor

            abstractor = WrittenAbstractor(abstractor, writing)
        return abstractor

    # ----------------------------------------------------------------------------------------- history

    def _walk(self, observation: Observation) -> None:
        """Extend the route. Returning to a place without a gain removes the loop from it."""
        place, score = observation.place, observation.score
        if not place or place == self._route[-1][0]:
            self._route[-1] = (self._route[-1][0], score)
            return
        for at, (earlier, then) in enumerate(self._route):
            if earlier == place and then >= score:
                del self._route[at + 1 :]
                return
        self._route.append((place, score))

    def _state(self, observation: Observation) -> State:
        text, tokens = self._abstract(observation)
        places = [place for place, _ in self._route if place]
        progress = "\n".join(
            f"✓ M{number}: {milestone.action}→{milestone.result}"
            for number, milestone in enumerate(self._milestones, 1)
        )
        history = (
            f"[SUMMARY] {self._summary(observation)}\n"
            f"[PROGRESS] {progress or 'No Progress'}\n"
            f"[LOCATION] Location: {'→'.join(places) or 'unknown'}"
        )
        done = {f"done:{milestone.action.lower()}" for milestone in self._milestones}
        passed = {f"via:{place.lower()}" for place in places}
        return State(text, tokens, history, tuple(sorted(done | passed)), observation.place)

    def _summary(self, observation: Observation) -> str:
        most = "" if observation.max_score is None else f" of {observation.max_score:g}"
        parts = [self._goal] if self._goal else []
        parts.append(f"After {len(self._steps)} steps the score is {observation.score:g}{most}.")
        if self._milestones:
            last = self._milestones[-1]
            parts.append(f"The last progress was {last.action} ({last.gain:+g}).")
        carried = _nouns(_inventory_lines(observation.inventory))
        parts.append(f"Carrying {', '.join(carried)}." if carried else "Carrying nothing.")
        if observation.over:
            parts.append("The game is won." if observation.outcome == "won" else "The game is over.")
        elif observation.place:
            parts.append(f"Now at {observation.place}.")
        return " ".join(parts)

    # -------------------------------------------------------------------------------------- abstraction

    def _abstract(self, observation: Observation) -> tuple[str, tuple[str, ...]]:
        """Return the state's text and tokens, cached by what is seen."""
        scene = observation.scene or observation.description or observation.text
        said = observation.text if observation.description else ""
        marks = observation.marks
        key = (scene, observation.inventory, observation.place, said, observation.room, marks)
        known = self._known.get(key)
        if known is None:
            known = self._of(scene, observation.inventory, observation.place, said, observation.room, marks)
            if len(self._known) > 4096:
                self._known.clear()
            self._known[key] = known
        return known


def situation(seen: Observation) -> str:
    """Return a situation as text for prompts: the last answer, the description of the place, the inventory.

    A part that an earlier part already contains is left out.
    """
    parts: list[str] = []
    for part in (seen.text, seen.description or seen.place, seen.inventory):
        known = " ".join(" ".join(parts).split())
        if part.strip() and " ".join(part.split()) not in known:
            parts.append(texts.compact(part))
    return "\n\n".join(parts)


def step_text(number: int, text: str, action: str, gain: float) -> str:
    """Return one step as a paragraph: observation, action, reward."""
    return f"Step {number}: {texts.compact(text)}\n-> Action: {action}\n-> Reward: {gain:+g}"


def abstract(
    scene: str, inventory: str, place: str, said: str = "", room: int = 0, marks: tuple[str, ...] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the text `[State: noun, ...]` and the sorted tokens of one observation.

    Tokens are `place:NAME` or `place:NAME#ROOM`, `see:THING` or `see:SENTENCE`, `have:THING`, `have:MARK`, and
    `load:CHECKSUM` of everything carried. The checksum separates states with different inventories even if they have
    many other tokens in common.

    Args:
        scene: What `look` prints, without wandering characters.
        inventory: What `inventory` prints.
        place: Name of the place, "" if unknown.
        said: What was printed after the last action.
        room: Number that separates places of the same name, 0 if unknown.
        marks: Changes of carried things, as in `Observation.marks`.
    """
    seen, held = sentences(scene), sentences(inventory)
    ambience = set(seen) & set(held)
    seen = [line for line in seen if not _names(line, place)]
    spoken = sentences(said)
    if not _describes(spoken, seen, place):
        ambience |= {line for line in spoken if line[-1] in _ENDS} & set(seen)
    seen = [line for line in seen if line not in ambience]
    held = _held([line for line in held if line not in ambience])
    things = sorted({str(phrase) for line in held for phrase in read(line).phrases})
    tokens = scenery_tokens("see", seen) | {f"have:{thing}" for thing in things}
    tokens |= {f"have:{mark}" for mark in marks}
    if place:
        tokens.add(f"place:{place.lower()}#{room}" if room else f"place:{place.lower()}")
    if things:
        tokens.add(f"load:{zlib.crc32('+'.join(things).encode()):08x}")
    nouns = dict.fromkeys(filter(None, [place, *_nouns(seen)[:_MOST_NOUNS]]))
    carried = [f"carried {noun}" for noun in _nouns(held)]
    return f"[State: {', '.join([*nouns, *carried])}]", tuple(sorted(tokens))


def _describes(spoken: list[str], seen: list[str], place: str) -> bool:
    """Whether an answer describes the place: it names it, or has its first line or a title in common."""
    return any(
        line in seen[:1] or _names(line, place) or (line in seen and line[-1] not in _ENDS) for line in spoken
    )


def _names(line: str, place: str) -> bool:
    """Whether a line is only the name of the place."""
    return bool(place) and line.strip("-=. \t").lower() == place.lower()


def _held(lines: list[str]) -> list[str]:
    """Return the things that an inventory lists, without "You are carrying" and without other sentences."""
    listed = [line for line in lines if ": " in line or _HEADING.match(line)]
    found = []
    for line in listed or lines:
        heading = _HEADING.match(line)
        rest = line[heading.end() :].strip() if heading else line
        if rest:
            found.append(rest)
    return found


def _inventory_lines(inventory: str) -> list[str]:
    return _held(sentences(inventory))


def _nouns(lines: list[str]) -> list[str]:
    """Return the distinct noun phrases of lines, in order."""
    found: dict[str, None] = {}
    for line in lines:
        for phrase in read(line).phrases:
            found[f"{phrase.words} ({', '.join(phrase.state)})" if phrase.state else phrase.words] = None
    return list(found)


def _result(before: Observation, after: Observation) -> str:
    """Return what a step that gained points led to: a new possession, a new place, or a thing in the answer."""
    had = set(_nouns(_inventory_lines(before.inventory)))
    new = [noun for noun in _nouns(_inventory_lines(after.inventory)) if noun not in had]
    if new:
        return new[0]
    if after.place and after.place != before.place:
        return after.place
    nouns = [noun for line in sentences(after.text)[:2] for noun in _nouns([line])]
    return nouns[0] if nouns else "done"


def _goal(observation: Observation) -> str:
    """Return the first prose paragraph of the opening text, unless it belongs to the description of the place."""
    for paragraph in re.split(r"\n\s*\n", observation.text):
        text = " ".join(paragraph.split())
        if len(text.split()) < 8 or _BANNER.search(text):
            continue
        if text[:60] in " ".join(observation.description.split()):
            break
        return text if len(text) <= 300 else text[:300].rpartition(". ")[0] + "."
    return ""
