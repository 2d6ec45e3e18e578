"""Analyses a story once, before it is played: grammar, parser variables, facts, noise, player object.

The analysis uses only the story file and a fixed sequence of moves at the start. So its result is always the same, and
is cached on disk.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.codec import from_plain
from engine.disk import read_text, write_private
from engine.games.actions.grammar import StoryGrammar, read_grammar
from engine.games.actions.handlers import Handlers
from engine.games.actions.search import ActionFinder
from engine.games.actions.templates import TemplateFinder, command_words
from engine.games.zmachine.commands import Controls
from engine.games.zmachine.counts import StoryCounts, find_counts
from engine.games.zmachine.keys import leave
from engine.games.zmachine.machine import Machine
from engine.games.zmachine.parser_globals import ParserGlobals, find_parser_globals, find_player
from engine.games.zmachine.status import find_score
from engine.games.zmachine.story import BadStory, StoryFile
from engine.games.zmachine.survey import look_around
from engine.games.zmachine.vocabulary import Wording

ANSWERS = ("no", "1", "yes")
_QUESTIONS = 3
"""Questions that are answered, all alike: for instructions no, for a name any word, in a menu its first item."""
SCHEME = 9
"""Version of the analysis. Increase it when the analysis changes."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of the analysis.

    Attributes:
        story: The story file, None if it cannot be read as data.
        grammar: None if its layout is not known.
        parser_globals: None if the parser's variables were not found.
        facts: Numbers of the global variables that belong to the world state.
        noisy: (address, bits) in the object table that change without a command's doing.
        settings: Addresses of the properties that belong to the world state.
        player: Number of the player's object, 0 if unknown.
        counts: What is known of score, turns and end; of a story that Jericho knows nothing.
        answers: Commands that answer the questions before a story's first command, () if it asks none.
        words: Words that the story takes for commands, if its grammar or its parser's variables are not known.
    """

    story: StoryFile | None
    grammar: StoryGrammar | None = None
    parser_globals: ParserGlobals | None = None
    facts: tuple[int, ...] = ()
    noisy: tuple[tuple[int, int], ...] = ()
    settings: tuple[int, ...] = ()
    player: int = 0
    counts: StoryCounts = field(default_factory=StoryCounts)
    answers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def wording(self) -> Wording:
        """The words by which the story takes its most common commands."""
        return self.parser_globals.wording if self.parser_globals else Wording()


def analyse(machine: Machine, data: bytes, *, player: int, kept: Path | None) -> Analysis:
    """Analyse the story that `machine` has just started.

    Args:
        machine: The interpreter, in the story's first state; it is left in that state.
        data: The story file.
        player: Number of the player's object, if the interpreter knows this story; else 0.
        kept: File to cache the result in, None for none.
    """
    try:
        story = StoryFile(data)
        grammar = read_grammar(story)
        known = _load(kept)
        if known is None:
            known = _find_out(machine, story, grammar, player)
            _save(kept, known)
        parser_globals = None
        if known["bearings"] is not None:
            parts = known["bearings"]
            parser_globals = ParserGlobals(
                action_globals=tuple(parts["action_globals"]),
                noun_globals=tuple(parts["noun_globals"]),
                wording=from_plain(Wording, parts["wording"]),
                absent=frozenset(parts["absent"]),
                words=tuple(parts["words"]),
                stand=tuple(parts["stand"]),
            )
        noisy = tuple((int(at), int(bits)) for at, bits in known["noisy"])
        counts = StoryCounts(**known["counts"])
        answers = tuple(map(str, known["answers"]))
        facts, player = tuple(known["facts"]), int(known["player"])
        settings = tuple(map(int, known["settings"]))
        words = tuple(map(str, known["words"]))
        return Analysis(story, grammar, parser_globals, facts, noisy, settings, player, counts, answers, words)
    except (BadStory, KeyError, TypeError, ValueError):
        return Analysis(None, player=player)


def _find_out(machine: Machine, story: StoryFile, grammar: StoryGrammar | None, player: int) -> dict[str, Any]:
    begun = machine.take()
    try:
        parser_globals: ParserGlobals | None = None
        answers: tuple[str, ...] = ()
        if grammar is not None:
            parser_globals, answers = _first_globals(machine, story, grammar, asks=not player)
        words = () if parser_globals and parser_globals.noun_globals else command_words(machine, story)
        return {
            **_survey(machine, story, grammar, parser_globals, player), "answers": list(answers), "words": list(words)
        }
    finally:
        machine.put(begun)


def _first_globals(
    machine: Machine, story: StoryFile, grammar: StoryGrammar, *, asks: bool
) -> tuple[ParserGlobals | None, tuple[str, ...]]:
    """Return the parser's variables, and the answers to the questions that the story asks before it takes commands.

    The machine is left behind these questions, and behind screens that wait for a key.
    """
    leave(machine, "")
    begun = machine.take()
    parser_globals = find_parser_globals(machine, story, grammar)
    for answer in ANSWERS if asks and parser_globals is None else ():
        machine.put(begun)
        for times in range(1, _QUESTIONS + 1):
            leave(machine, machine.answer(answer))
            parser_globals = find_parser_globals(machine, story, grammar)
            if parser_globals is not None and parser_globals.noun_globals:
                return parser_globals, (answer,) * times
    if asks and parser_globals is None:
        machine.put(begun)
    return parser_globals, ()


def _survey(
    machine: Machine, story: StoryFile, grammar: StoryGrammar | None, parser_globals: ParserGlobals | None, player: int
) -> dict[str, Any]:
    wording = parser_globals.wording if parser_globals else Wording()
    seen = look_around(machine, story, grammar, parser_globals.words if parser_globals else (), wording)
    facts: frozenset[int] = frozenset()
    settings: list[int] = []
    if grammar is not None and parser_globals is not None:
        handlers = Handlers(story, grammar, parser_globals.action_globals)
        facts = handlers.facts - seen.restless
        settings = [at for at in handlers.settings() if not {at, at + 1} & seen.stirred]
        facts -= {*parser_globals.noun_globals, *parser_globals.action_globals}
    return {
        "bearings": None if parser_globals is None else {
            **asdict(parser_globals), "absent": sorted(parser_globals.absent)
        },
        "facts": sorted(number for number in facts if number < 240),
        "settings": settings,
        "noisy": [list(pair) for pair in seen.noisy],
        "player": player or seen.player or (find_player(machine, story, parser_globals) if parser_globals else 0),
        "counts": asdict(StoryCounts() if player else _counts(machine, story, grammar, wording)),
    }


def _counts(machine: Machine, story: StoryFile, grammar: StoryGrammar | None, wording: Wording) -> StoryCounts:
    found = StoryCounts()
    if grammar is not None:
        found = find_counts(machine, story, grammar, Controls(story, grammar), wording.idle[0])
    return found if found.score is not None else replace(found, score=find_score(machine, story))


def _load(kept: Path | None) -> dict[str, Any] | None:
    """Return the cached analysis, None if there is none or it cannot be read."""
    if kept is None:
        return None
    try:
        known = json.loads(read_text(kept))
    except (OSError, ValueError):
        return None
    wanted = {"bearings", "facts", "settings", "noisy", "player", "counts", "answers", "words"}
    return known if isinstance(known, dict) and wanted <= set(known) else None


def _save(kept: Path | None, known: dict[str, Any]) -> None:
    if kept is None:
        return
    with contextlib.suppress(OSError):
        write_private(kept, json.dumps(known))


def finder_of(
    analysis: Analysis, bindings: dict[str, Any] | None, poison: frozenset[str]
) -> ActionFinder | TemplateFinder | None:
    """Return what finds actions in a story, None if nothing can.

    Args:
        analysis: What is known of the story.
        bindings: What Jericho knows of it, None for a story that it does not know.
        poison: Commands that are never tried.
    """
    if analysis.story is None:
        return None
    if analysis.grammar is not None and analysis.parser_globals and analysis.parser_globals.noun_globals:
        return ActionFinder(
            analysis.story,
            analysis.grammar,
            analysis.parser_globals,
            player=analysis.player,
            poison=poison,
        )
    if bindings:
        from jericho.template_action_generator import TemplateActionGenerator

        templates = list(TemplateActionGenerator(bindings).templates)
        return TemplateFinder(analysis.story, templates, analysis.words, player=analysis.player, poison=poison)
    return None
