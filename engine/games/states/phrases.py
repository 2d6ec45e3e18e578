"""Extracts noun phrases and state tokens from a game's text, by rules and without knowledge of the game.

Sentences are split into phrases at function words ("a small mailbox, which is closed" gives "small mailbox" with
the state "closed"). In descriptions of scenery a token stands for a whole sentence, in lists for a single thing. So
a long description does not outweigh the one thing that changed.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

_LONGEST = 40

_LIST = re.compile(r"^\W*(?:there (?:is|are)|you (?:can |also )*(?:see|notice)|nearby (?:is|are))\b", re.I)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]»”“]*\s+(?=[\"'(\[«„“¿¡]?[^\W_a-zß-öø-ÿ])")
_DRAWING = re.compile(r"\S {3,}\S")
"""A line in which gaps have a meaning: part of a map, or of a puzzle drawn with letters."""
_LEXEME = re.compile(r"\([^()]*\)|[^\W\d_](?:[^\W\d_]|['’-])*|[.,;:!?]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COPULA = _words("is are was were be been appears appear seems seem looks stays remains")
_RELATIVE = _words("which that who and also now very slightly quite currently still it they both to be")
_HOLDERS = _words("contains contain containing holds holding bears bearing")
_PLACES = _words("on in inside under beneath behind upon within")
_FUNCTION = _words(
    """a an the this that these those there here it its they them their he him his she her you your yours i me my we
    us our one ones some any all both each every other another such same more most much many few several no not nor
    none and or but so if as than then when while where which who whom whose what how why because though although
    however before after during since until via among amid atop underneath alongside of to at by for from
    with without into onto upon on in inside outside out off over under above below
    beneath behind beside besides between beyond through throughout across along around about against toward towards
    near nearby up down away back ahead together apart is are was were be been being am has have had having do does
    did done can could will would shall should may might must seem seems seemed appear appears appeared look looks
    looking see seen sees seeing lie lies lying lay stand stands standing sit sits sitting hang hangs hanging lead
    leads leading go goes going come comes coming run runs running head heads heading continue continues continuing
    contain contains containing hold holds holding carry carrying carries wear wearing bear bears make makes made
    take takes get gets give gives let lets keep keeps remain remains become becomes exit exits also only just very
    too quite rather really probably perhaps almost already still yet now again once always never ever even well
    else notice notices find finds feel feels nothing something anything everything empty-handed consists
    """
)


@dataclass(slots=True)
class Phrase:
    """One noun phrase.

    Attributes:
        words: Its words as printed, in lower case.
        holder: Phrase of the thing that it is in or on, "" if the sentence does not say.
        state: Statements about it, such as "open" or "providing light".
    """

    words: str
    holder: str = ""
    state: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        states = f"={'+'.join(self.state)}" if self.state else ""
        return f"{self.words}{states}@{self.holder}" if self.holder else f"{self.words}{states}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The phrases of one sentence, and whether it lists things instead of describing scenery."""

    phrases: tuple[Phrase, ...]
    lists: bool


def sentences(text: str) -> list[str]:
    """Return the sentences and list items of `text`.

    A line that ends with a colon is the heading of the more deeply indented lines after it. Those are returned as
    "HEADING: item".
    """
    found: list[str] = []
    headings: list[tuple[int, str]] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped:
            continue
        indent = len(line) - len(line.lstrip())
        while headings and indent <= headings[-1][0]:
            headings.pop()
        if stripped.endswith(":"):
            headings.append((indent, stripped[:-1]))
            continue
        heading = f"{headings[-1][1]}: " if headings else ""
        found += [heading + part for part in _SENTENCE.split(stripped)]
    return found


def read(sentence: str) -> Sentence:
    """Return the noun phrases of one sentence, in order."""
    heading, colon, rest = sentence.partition(": ")
    if colon:
        holder = [phrase.words for phrase in _phrases(heading)]
        return Sentence(tuple(_phrases(rest, holder[-1] if holder else "")), True)
    phrases = tuple(_phrases(sentence))
    return Sentence(phrases, len(phrases) <= 2 or bool(_LIST.match(sentence)))


def _phrases(text: str, holder: str = "") -> list[Phrase]:
    found: list[Phrase] = []
    words: list[str] = []
    between: list[str] = []
    inside = holder
    pending = ""

    def close() -> None:
        nonlocal inside, pending
        if not words:
            return
        phrase = " ".join(words)
        words.clear()
        if found and _says_state(between):
            found[-1].state.append(phrase)
        else:
            if not found and between and between[0] in _PLACES:
                pending = phrase  # "On the table is ...": the next phrase is on it
            elif found and (_HOLDERS & set(between) or _on_it(between)):
                inside = found[0].words if _on_it(between) else found[-1].words
            elif pending:
                inside, pending = pending, ""
            found.append(Phrase(phrase, inside))
        between.clear()

    for lexeme in _LEXEME.findall(text):
        if lexeme[0] == "(":
            close()
            if found:
                found[-1].state.append(lexeme[1:-1].strip().lower())
            continue
        word = lexeme.lower().strip("'’-")
        if not word or word in _FUNCTION or not word[0].isalpha():
            if words and words[-1].endswith("ing") and len(words) > 1 and word in _PLACES:
                words.pop()  # "young woman sitting behind"
            close()
            between.append(word or lexeme)
        else:
            words.append(word)
    close()
    return found


def _says_state(between: list[str]) -> bool:
    """Whether the words between two phrases make the second one a statement about the first."""
    return any(word in _COPULA for word in between) and all(
        word in _COPULA or word in _RELATIVE or word == "," for word in between
    )


def _on_it(between: list[str]) -> bool:
    """Whether the words between two phrases read "... and on it (is) ..."."""
    return any(
        first in _PLACES and second in ("it", "which", "them")
        for first, second in itertools.pairwise(between)
    )


def scenery_tokens(prefix: str, lines: Iterable[str]) -> set[str]:
    """Return the tokens of descriptive text: one per sentence, or one per thing where things are listed."""
    tokens: set[str] = set()
    for line in lines:
        if _DRAWING.search(line):
            tokens.add(f"{prefix}:{short(line)}")
            continue
        sentence = read(line)
        loose = [phrase for phrase in sentence.phrases if sentence.lists or phrase.holder]
        rest = sorted(str(phrase) for phrase in sentence.phrases if not (sentence.lists or phrase.holder))
        tokens.update(f"{prefix}:{short(str(phrase))}" for phrase in loose)
        if rest:
            tokens.add(f"{prefix}:{short(' '.join(rest))}")
    return tokens


def short(text: str) -> str:
    """Return `text`; if it is long, its beginning and a checksum."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 9].rstrip()}~{zlib.crc32(text.encode()):08x}"
