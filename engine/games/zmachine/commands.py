"""Commands that a story never sees, because they would leak state between episodes or end the interpreter.

The grammar of Inform's stories says which verbs control the program, and the routine of such a verb has the instruction
that saves, restores, restarts or ends the interpreter. So these verbs are known in every language. For other stories
they are the words of English ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.games.actions.grammar import StoryGrammar
from engine.games.actions.vocabulary import PREPOSITION, VERB, Vocabulary
from engine.games.zmachine.story import BadStory, Instruction, StoryFile

_SAVES = "jitrl keeps its own saves, so the game's {} is not used."
_RECORDS = "jitrl records every session, so the game's {} is not used."
_RESTARTS = "An episode begins anew only when it has ended, so the game's {} is not used."
_QUITS = "An episode ends with the game or the step limit; leave with jitrl's own keys."
_UNDOES = "What is done is done: within an episode the game's {} is not used."
_OURS = {
    "save": _SAVES, "restore": _SAVES, "restart": _RESTARTS, "quit": _QUITS, "q": _QUITS, "undo": _UNDOES,
    "script": _RECORDS, "unscript": _RECORDS, "noscript": _RECORDS, "transcript": _RECORDS,
}  # fmt: skip
"""These commands of English stories, and the answer to each."""
_INSTRUCTIONS = {
    ("0", 10): _QUITS, ("0", 7): _RESTARTS, ("0", 5): _SAVES, ("0", 6): _SAVES, ("x", 0): _SAVES, ("x", 1): _SAVES,
    ("v", 19): _RECORDS, ("v", 20): _RECORDS,
}  # fmt: skip
"""quit, restart, save, restore, output_stream and input_stream, and the answer to a verb whose routine has one."""
_CALLS = frozenset({("v", 0), ("v", 25), ("1", 8), ("1", 15), ("2", 25), ("2", 26)})
_FILES = ([2], [4], [0xFFFE], [0xFFFC])
"""Operands of output_stream by which transcripts and recordings begin and end."""
_LETTERS_READ = 6
_PARTS = re.compile(r"[.;,\"]|\bthen\b")

_NEVER_WORDS = """
    save restore restor restart restar quit q script scripting unscript unscri noscript transcript transcrip
    verbose verbos brief superbrief superb superbrie super normal long short version versio $ve verify $verify
    again g oops o undo score scores full fullscore notify pronouns nouns places objects help hint hints info
    about credits command comman record unrecord replay random recording trace showverb showobj showheap tree
    goto gonear purloin abstract scope actions routines timers daemons messages changes faults nofaults tw-print
    tw-trace-actions tw-extra-infos #rand #comm #reco #unre $random $record $command win winnag die max_scor
    endofobje menu license licence terms eula copyright responses test showme showheap relations rules quotes
"""
_NEVER = frozenset(_NEVER_WORDS.split())


def for_program(verbs: Iterable[str]) -> bool:
    """Whether one of some verbs is for the program or for its makers, rather than for the player's character.

    A verb that begins with no letter or digit, such as "$ve", always is.
    """
    return any(verb in _NEVER or not verb[:1].isalnum() for verb in verbs)


def is_like_one_for_program(word: str) -> bool:
    """Whether a word begins with a verb for the program: a story may have more words for it, such as "savend"."""
    return for_program((word,)) or _like(word) is not None


def _like(word: str) -> str | None:
    """Return our answer to a verb for the program with which a word begins, None if there is no such verb."""
    return next((answer for verb, answer in _OURS.items() if len(verb) > 1 and word.startswith(verb)), None)


class Controls:
    """The verbs of one story that it must not see.

    Args:
        story: The story file, None if it cannot be read.
        grammar: Its grammar, None if unknown.
    """

    def __init__(self, story: StoryFile | None = None, grammar: StoryGrammar | None = None) -> None:
        self._story = story
        self._answers = {word[:_LETTERS_READ]: answer for word, answer in _OURS.items()}
        self._names: frozenset[str] = frozenset()
        if story is None or grammar is None or grammar.layout == "zil":
            self._story = None
            return
        meta = {word: pattern.action for pattern in grammar.patterns if pattern.meta for word in pattern.verbs}
        usual = {story.cut(word): answer for word, answer in _OURS.items()}
        known = {*meta, story.cut("undo")} if meta else usual.keys()  # Inform 7 does not mark them in the grammar
        self._answers = {word: answer for word, answer in usual.items() if word in known}
        for word, action in meta.items():
            answer = _answer(story, grammar.action_routines.get(action, ()))
            if answer:
                self._answers[word] = answer
        vocabulary = Vocabulary(story)
        self._names = frozenset(word for word in self._answers if vocabulary.known_by(word))

    def intercepted(self, command: str) -> str | None:
        """Return our answer if any part of `command` is one that the game must not see.

        A parser reads the first letters of a word. Words such as "then" begin a further command, and OOPS puts a word
        into the command before: they are neither verbs nor prepositions.
        """
        for part in _PARTS.split(command.lower()):
            words = part.split()
            for at, word in enumerate(words):
                read = self._story.cut(word) if self._story is not None else word[:_LETTERS_READ]
                answer = self._answers.get(read)
                if self._story is None and answer is None:
                    answer = _like(word)
                if answer and (at == 0 or self._begins(words[at - 1], read)):
                    return answer.format(word.upper())
        return None

    def _begins(self, before: str, word: str) -> bool:
        """Whether a word begins a command after another one."""
        if self._story is None:
            return before in ("oops", "o")
        entry = self._story.dictionary.get(self._story.cut(before))
        return word not in self._names and entry is not None and not entry[1][0] & (VERB | PREPOSITION)


def _matters(instruction: Instruction) -> bool:
    """Whether it is no output_stream to the screen or to memory, as stories use it to measure a text."""
    streams = [value for variable, value in instruction.operands[:1] if not variable]
    return (instruction.kind, instruction.number) != ("v", 19) or streams[:1] in _FILES


def _answer(story: StoryFile, routines: tuple[int, ...]) -> str:
    """Return the answer to a verb with these routines, "" if they and those that they call have no such instruction."""
    found: set[tuple[str, int]] = set()
    called: set[int] = set()
    for depth in range(2):
        for at in called if depth else filter(None, routines):
            try:
                instructions = story.routine(at)
            except BadStory:
                continue
            found |= {(i.kind, i.number) for i in instructions if _matters(i)}
            if not depth:
                calls = [i.operands for i in instructions if (i.kind, i.number) in _CALLS and i.operands]
                called |= {story.unpack(value) for (variable, value), *_ in calls if not variable and value}
    return next((answer for instruction, answer in _INSTRUCTIONS.items() if instruction in found), "")
