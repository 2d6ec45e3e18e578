"""From observations of a game to abstracted states (paper, App. E), without a model call.

Tokens are made of the place, of what the description shows, and of what is carried. What passes by
leaves no trace in them: wanderers are left out by the observation's `scene`; sentences that follow both
a look and a look at the inventory, or that the last action was answered with, are ambience of the moment
(a song bird, a failing lamp, a glowing sword, an announcement, hunger), not part of the place. Score and
moves are no part of a state.
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

TOKEN_SCHEME = 2
"""Changes whenever the same observation would give other tokens."""

_MOST_NOUNS = 40
_HEADING = re.compile(r"^\W*you (?:are|have|'re)\b[^:]*(?::|$)", re.I)
_ENDS = ".!?\"')"
_BANNER = re.compile(r"copyright|trademark|release|revision|serial|version|rights reserved|\bby\b", re.I)


@dataclass(frozen=True, slots=True)
class _Taken:
    """One step of the episode so far."""

    seen: Observation
    action: str
    gain: float


@dataclass(frozen=True, slots=True)
class _Milestone:
    action: str
    result: str
    gain: float


class GameAbstractor:
    """Keeps one episode's history. Implements `engine.environment.Abstractor`.

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
        """Forget the last episode and return the state of the first observation."""
        self._steps, self._milestones = [], []
        self._route = [(observation.place, observation.score)]
        self._goal = _goal(observation)
        self._seen = observation
        self._now = self._state(observation)
        return self._now

    def advance(self, action: str, observation: Observation) -> State:
        """Return the state after `action` led to `observation`."""
        if self._now is None or self._seen is None:
            raise RuntimeError("begin an episode before going on with it")
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
        """Return the last `steps` steps, oldest first: what was printed before each, what was done, what it gained."""
        first = max(0, len(self._steps) - max(0, steps))
        return "\n\n".join(
            told(number, taken.seen.text, taken.action, taken.gain)
            for number, taken in enumerate(self._steps[first:], first)
        )

    def situation(self, observation: Observation) -> str:
        """Return what the last action was answered with, then place and inventory where they add something."""
        return situation(observation)

    def written(self, writing: Writing) -> Abstractor:
        """Return this abstractor, or one around it that writes states and histories as the settings ask."""
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
        """Go on with the route; coming back without a gain cuts the loop out."""
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
        """Return the state's text and tokens; what was seen before is looked up."""
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
    """Return a situation as prompts tell it: the last answer, what looking around prints, what is carried.

    What the answer has in it already is not told again.
    """
    parts: list[str] = []
    for part in (seen.text, seen.description or seen.place, seen.inventory):
        known = " ".join(" ".join(parts).split())
        if part.strip() and " ".join(part.split()) not in known:
            parts.append(texts.compact(part))
    return "\n\n".join(parts)


def told(number: int, text: str, action: str, gain: float) -> str:
    """Return one step as a paragraph: observation, action, reward."""
    return f"Step {number}: {texts.compact(text)}\n-> Action: {action}\n-> Reward: {gain:+g}"


def abstract(
    scene: str, inventory: str, place: str, said: str = "", room: int = 0, marks: tuple[str, ...] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the text `[State: noun, ...]` and the sorted tokens of one situation.

    Args:
        scene: What `look` prints, wanderers left out.
        inventory: What `inventory` prints.
        place: Name of the place, "" if unknown.
        said: What the last action was answered with.
        room: Tells places of the same name apart, 0 if unknown.
        marks: What has changed about carried things, as in `Observation.marks`.

    Tokens are `place:NAME` or `place:NAME#ROOM`, `see:THING` or `see:SENTENCE`, `have:THING`, `have:MARK`, and
    `load:CHECKSUM` over all that is carried, which keeps states with different loads apart even among many
    other tokens.
    """
    seen, held = sentences(scene), sentences(inventory)
    ambience = set(seen) & set(held)
    seen = [line for line in seen if not _names(line, place)]
    told = sentences(said)
    if not _describes(told, seen, place):
        ambience |= {line for line in told if line[-1] in _ENDS} & set(seen)
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


def _describes(told: list[str], seen: list[str], place: str) -> bool:
    """Return whether an answer describes the place: names it, or shares its first line or a title."""
    return any(
        line in seen[:1] or _names(line, place) or (line in seen and line[-1] not in _ENDS) for line in told
    )


def _names(line: str, place: str) -> bool:
    """Return whether a line is nothing but the name of the place."""
    return bool(place) and line.strip("-=. \t").lower() == place.lower()


def _held(lines: list[str]) -> list[str]:
    """Return what an inventory lists, without "You are carrying"; other sentences are no part of it."""
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
    """Return the noun phrases of lines in the order they stand in, each once."""
    found: dict[str, None] = {}
    for line in lines:
        for phrase in read(line).phrases:
            found[f"{phrase.words} ({', '.join(phrase.state)})" if phrase.state else phrase.words] = None
    return list(found)


def _result(before: Observation, after: Observation) -> str:
    """Return the key object or result of a step that gained points."""
    had = set(_nouns(_inventory_lines(before.inventory)))
    new = [noun for noun in _nouns(_inventory_lines(after.inventory)) if noun not in had]
    if new:
        return new[0]
    if after.place and after.place != before.place:
        return after.place
    nouns = [noun for line in sentences(after.text)[:2] for noun in _nouns([line])]
    return nouns[0] if nouns else "done"


def _goal(observation: Observation) -> str:
    """Return the first paragraph of the opening that is prose and no part of the place's description."""
    for paragraph in re.split(r"\n\s*\n", observation.text):
        told = " ".join(paragraph.split())
        if len(told.split()) < 8 or _BANNER.search(told):
            continue
        if told[:60] in " ".join(observation.description.split()):
            break
        return told if len(told) <= 300 else told[:300].rpartition(". ")[0] + "."
    return ""
