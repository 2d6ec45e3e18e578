"""Words commands as people write them, from a grammar with truncated words and many synonyms."""

from __future__ import annotations

import bisect
import functools
import itertools

from engine.games.actions.grammar import Pattern, Slot

_PREPOSITION_WORDS = """
in on with at to from under behind through about around off over down up out across against away for between
by inside into onto of beneath below underneath toward towards using outside next
"""
_PREPOSITIONS = _PREPOSITION_WORDS.split()
_USUAL = {word: rank for rank, word in enumerate(_PREPOSITIONS)}


@functools.cache
def _counts() -> dict[str, int]:
    """Return how often people used each verb in the transcripts that come with Jericho; {} if there are none."""
    import json
    from importlib.resources import files

    try:
        text = files("jericho").joinpath("clubfloyd_verb_counts.json").read_text(encoding="utf-8")
        return {str(word): int(count) for word, count in json.loads(text).items()}
    except (OSError, ValueError, ModuleNotFoundError):
        return {}


@functools.cache
def _words() -> list[tuple[str, int]]:
    """Return the words that people used and all prepositions, sorted, with how often they were used."""
    return sorted([*_counts().items(), *((word, 1) for word in _PREPOSITIONS)])


@functools.cache
def whole_word(word: str, length: int) -> str:
    """Return the usual word that begins with a truncated dictionary word; the word itself if none is known.

    Args:
        word: A dictionary word.
        length: Number of letters to which the dictionary truncates words.
    """
    if len(word) < length:
        return word
    words = _words()
    rest = itertools.islice(words, bisect.bisect_left(words, (word, 0)), None)
    known = [(count, other) for other, count in itertools.takewhile(lambda pair: pair[0].startswith(word), rest)]
    return max(known, key=lambda pair: (pair[0], pair[1]))[1] if known else word


def usage(word: str) -> int:
    """Return how often people used a verb in the transcripts."""
    return _counts().get(word, 0)


def preposition(options: tuple[str, ...], length: int, *, instrument: bool) -> str:
    """Return the most usual of several synonymous prepositions.

    Args:
        options: The prepositions, as in the dictionary.
        length: Number of letters to which the dictionary truncates words.
        instrument: Whether a thing comes before it; then "with" is preferred to "through".
    """
    words = [whole_word(option, length) for option in options]
    if not instrument and "through" in words:
        return "through"
    return min(words, key=lambda word: (_USUAL.get(word, 99), len(word), word))


def phrase(pattern: Pattern, length: int) -> str:
    """Return a pattern as text with "{}" for each slot; `length` as in `whole_word`."""
    verbs = [whole_word(verb, length) for verb in pattern.verbs]
    words = [max(verbs, key=lambda verb: (usage(verb), -len(verb), verb))]
    slots = 0
    for part in pattern.parts:
        if isinstance(part, Slot):
            words.append("{}")
            slots += 1
        else:
            words.append(preposition(part, length, instrument=slots > 0))
    return " ".join(words)
