"""A session as a text for people (txt, md, html) or programs (json): what was read, what was typed, and the notes."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from engine.disk import new_version_of, printable
from engine.errors import UsageError
from engine.records import (
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    SessionStarted,
    SettingsChanged,
    Stepped,
    TakenBack,
)
from engine.session import levers
from engine.session.notes import Note

FORMATS = ("txt", "md", "html", "json")
_INLINE = re.compile(r"[\\`*_\[\]<>#|~&]")
_LEADING = re.compile(r"^(\s*\d*)([-+=.)])(?=\s|[-+=]|$)")
FORMAT = 1
"""Number of the JSON format, see docs/json.md."""


@dataclass(slots=True)
class TranscriptStep:
    """One step.

    Attributes:
        step: Number of the step in its episode, from 1.
        action: The command.
        by: "agent" or "human".
        why: The reason of the decision, "" if unknown.
        text: What was answered.
        place: Place after it, "" if unknown.
        reward: Points that it gave.
        score: Score after it.
    """

    step: int
    action: str
    by: str
    why: str
    text: str
    place: str
    reward: float
    score: float


@dataclass(slots=True)
class Part:
    """One episode.

    Attributes:
        episode: Its number, from 1.
        opening: The first text.
        steps: Its steps; those that were taken back are left out.
        score: Score at the end, or so far.
        ended: Whether it has ended.
        outcome: "won", "lost" or "".
        notes: The settings that a person changed in it, and the notes made in it.
    """

    episode: int
    opening: str
    steps: list[TranscriptStep] = field(default_factory=list)
    score: float = 0.0
    ended: bool = False
    outcome: str = ""
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True)
class Transcript:
    """A whole session.

    Attributes:
        session: Its name.
        game: Name of the game.
        title: Its title.
        agent: Name of the method.
        model: Name of the model.
        seed: Seed of the run.
        max_score: Highest reachable score, None if unknown.
        episodes: Its episodes.
        notes: Notes made before the first episode.
    """

    session: str = ""
    game: str = ""
    title: str = ""
    agent: str = ""
    model: str = ""
    seed: int = 0
    max_score: float | None = None
    episodes: list[Part] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def transcript(events: Iterable[Event], notes: Sequence[Note] = ()) -> Transcript:
    """Return the transcript of a recording's events."""
    made, why = Transcript(), ""
    for event in events:
        part = made.episodes[-1] if made.episodes else None
        match event:
            case SessionStarted():
                about = event.environment
                made.session, made.agent, made.model, made.seed = event.session, event.agent, event.model, event.seed
                made.game, made.title, made.max_score = about.name, about.title or about.name, about.max_score
            case EpisodeStarted():
                made.episodes.append(Part(event.episode, event.observation.text.strip()))
            case Decided():
                why = event.decision.why
            case Stepped() if part is not None:
                seen = event.observation
                part.steps.append(
                    TranscriptStep(event.step + 1, event.action, event.provenance, why, seen.text.strip(), seen.place,
                          event.reward, seen.score)
                )  # fmt: skip
                part.score, why = seen.score, ""
            case TakenBack() if part is not None:
                del part.steps[event.step :]
                part.score = event.observation.score
            case EpisodeEnded() if part is not None:
                part.score, part.ended, part.outcome = event.score, True, event.outcome
            case SettingsChanged():
                (part or made).notes.append(Note(levers.change_text(event), event.episode, event.step))
            case _:
                pass
    by_number = {part.episode: part for part in made.episodes}
    for note in notes:
        by_number.get(note.episode, made).notes.append(note)
    return made


def transcript_text(made: Transcript, form: str, *, thoughts: bool = False) -> str:
    """Return a transcript as text of a format.

    Args:
        thoughts: Whether to tell the reason of each action; JSON has it always.

    Raises:
        UsageError: There is no such format.
    """
    match form:
        case "txt":
            return "\n".join(_plain(made, thoughts)).rstrip() + "\n"
        case "md":
            return "\n".join(_markdown(made, thoughts)).rstrip() + "\n"
        case "html":
            return "\n".join(_page(made, thoughts)) + "\n"
        case "json":
            return json.dumps({"format": FORMAT, **asdict(made)}, indent=1) + "\n"
    raise UsageError(f"there is no format {form!r} for a transcript; choose one of: {', '.join(FORMATS)}")


def format_of(path: str | Path, wanted: str | None = None) -> str:
    """Return the format of a file: the wanted one, or the one that its name ends with.

    Raises:
        UsageError: Its name ends with none.
    """
    ending = wanted or Path(path).suffix.lstrip(".").lower()
    if ending not in FORMATS:
        raise UsageError(f"{printable(path)!r} ends with no format of a transcript; it is .txt, .md, .html or .json")
    return ending


def save(text: str, path: Path) -> None:
    """Write a transcript to a file that the user asked for, with the usual rights; an existing file is replaced.

    Raises:
        StorageError: It cannot be written; an existing file is unchanged.
    """
    with new_version_of(path) as partial, partial.open("x", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def _plain(made: Transcript, thoughts: bool) -> Iterator[str]:
    yield f"{made.title}. {_about(made)}"
    yield from (f"Note: {note.text}" for note in made.notes)
    for part in made.episodes:
        yield from ("", f"Episode {part.episode}", "", part.opening)
        yield from (f"[Note: {text}]" for text in _noted(part, 0))
        for step in part.steps:
            yield from ("", *([f"[{step.why}]"] if thoughts and step.why else []))
            yield from (f"> {step.action}{'   (you)' if step.by == 'human' else ''}", step.text)
            if step.reward:
                yield f"[{_gain(step, made.max_score)}]"
            yield from (f"[Note: {text}]" for text in _noted(part, step.step))
        yield from ("", _end(part, made.max_score))


def _markdown(made: Transcript, thoughts: bool) -> Iterator[str]:
    yield from (f"# {_literal(made.title)}", "", _literal(_about(made)))
    yield from (line for note in made.notes for line in ("", f"> **Note:** {_literal(note.text)}"))
    for part in made.episodes:
        yield from ("", f"## Episode {part.episode}", "", *_paragraphs(part.opening))
        for text in _noted(part, 0):
            yield from ("", f"> **Note:** {_literal(text)}")
        for step in part.steps:
            who = " (you)" if step.by == "human" else ""
            yield from ("", f"**{step.step}. {_literal(step.action)}**{who}", "")
            if thoughts and step.why:
                yield from (f"*{_literal(step.why)}*", "")
            yield from _paragraphs(step.text)
            if step.reward:
                yield from ("", f"*{_gain(step, made.max_score)}*")
            for text in _noted(part, step.step):
                yield from ("", f"> **Note:** {_literal(text)}")
        yield from ("", f"*{_end(part, made.max_score)}*")


_STYLE = (
    "body{max-width:44em;margin:2em auto;padding:0 1em;font:1em/1.5 Georgia,serif;color-scheme:light dark}"
    "p{white-space:pre-wrap;margin:.6em 0}.act{font-weight:bold}.you{color:#a60}.gain{color:#282}.why{opacity:.7}"
    "@media(prefers-color-scheme:dark){.you{color:#fb6}.gain{color:#8d8}}"
)


def _page(made: Transcript, thoughts: bool) -> Iterator[str]:
    """Yield the lines of a page that needs nothing from elsewhere and runs no code."""

    def line(text: str, kind: str = "", tag: str = "p") -> str:
        return f"<{tag}{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{html.escape(text)}</{tag}>"

    yield from ("<!doctype html>", '<html lang="en"><head><meta charset="utf-8">')
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>{html.escape(made.title)}</title><style>{_STYLE}</style></head><body>"
    yield from (line(made.title, tag="h1"), line(_about(made)))
    yield from (line(f"Note: {note.text}", "why") for note in made.notes)
    for part in made.episodes:
        yield from (line(f"Episode {part.episode}", tag="h2"), line(part.opening))
        yield from (line(f"Note: {text}", "why") for text in _noted(part, 0))
        for step in part.steps:
            human = step.by == "human"
            yield line(f"> {step.action}{' (you)' if human else ''}", "act you" if human else "act")
            if thoughts and step.why:
                yield line(step.why, "why")
            yield line(step.text)
            if step.reward:
                yield line(_gain(step, made.max_score), "gain")
            yield from (line(f"Note: {text}", "why") for text in _noted(part, step.step))
        yield line(_end(part, made.max_score), "why")
    yield "</body></html>"


def _about(made: Transcript) -> str:
    return f"Session {made.session}: agent {made.agent} with {made.model}, seed {made.seed}."


def _gain(step: TranscriptStep, most: float | None) -> str:
    points = f"{step.reward:+g} point{'' if abs(step.reward) == 1 else 's'}"
    return f"{points}, score {step.score:g}{f' of {most:g}' if most else ''}"


def _end(part: Part, most: float | None) -> str:
    how = f" ({part.outcome})" if part.outcome else ""
    state = "ended" if part.ended else "is not over"
    steps = f"{len(part.steps)} step{'' if len(part.steps) == 1 else 's'}"
    return f"Episode {part.episode} {state}: score {part.score:g}{f' of {most:g}' if most else ''} after {steps}{how}."


def _noted(part: Part, step: int) -> list[str]:
    """Return the notes that were made after so many steps of an episode; late ones go to its last step."""
    last = len(part.steps)
    return [note.text for note in part.notes if min(note.step, last) == step]


def _paragraphs(text: str) -> list[str]:
    """Return text as Markdown that looks the same: line breaks stay, and no character has a meaning."""
    lines = text.split("\n")
    following = [*lines[1:], ""]
    return [_literal(line) + ("  " if line.strip() and then.strip() else "")
            for line, then in zip(lines, following, strict=True)]  # fmt: skip


def _literal(text: str) -> str:
    """Return a line with a backslash before what has a meaning in Markdown."""
    return _LEADING.sub(r"\1\\\2", _INLINE.sub(r"\\\g<0>", text))
