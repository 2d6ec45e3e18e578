"""What is particular to text adventures: how states are read, and what the words of actions and tokens name.

All other modules work on sets of tokens. All that depends on how a token is spelled is here:

* A token is a class, a name, and then, where there is any, the state of the thing and what holds it: `see:lamp=lit`,
  `see:leaflet@mailbox`, `have:key`.

* A state is taken apart into a place, what is carried (`have:` tokens) and what is seen there (all other tokens).
* An action names things by its words. "all" names everything, so what is done to all is done to the lamp, too.
* A place may go by another name at times, an alias. The dark hides the name of every room, and a number tells which
  room it is: what comes of actions is counted apart under each name then.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar, cast

from engine.records import State

Tokens = frozenset[str]
EMPTY: Tokens = frozenset()
Key = tuple[str, str]
"""A place and an action there."""

_SMALL = frozenset({"all", "the", "with", "from", "into", "onto", "off", "out", "under", "behind", "about", "for"})
_SETS, _WORDS = 1 << 13, 1 << 15
"""Answers that are kept: those with sets of tokens, which take some kB each, and those with words. A long run meets far
more of them than it needs again."""
_Known = TypeVar("_Known", bound=Hashable)


@functools.lru_cache(maxsize=_SETS)
def _first_of(known: Hashable) -> Hashable:
    return known


def kept_once(known: _Known) -> _Known:
    """Return the first object equal to this one: what comes again and again takes memory once, its hash is known."""
    return cast(_Known, _first_of(known))


@functools.lru_cache(maxsize=_SETS)
def union(tokens: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Return the tokens of both sets: the same object each time, whose hash is known then."""
    return tokens | others if tokens else others


class Situation(NamedTuple):
    """A state taken apart.

    Attributes:
        have: What is carried.
        see: What is at the place.
    """

    place: str
    have: Tokens
    see: Tokens

    @property
    def context(self) -> Tokens:
        """What is carried and seen together."""
        return union(self.have, self.see)


def situation(state: State) -> Situation:
    """Take a state apart by the classes of its tokens; digests (`load:`) only repeat the others."""
    have, see, place = [], [], state.place.lower()
    for token in state.tokens:
        if token.startswith("have:"):
            have.append(token)
        elif token.startswith("place:"):
            # A room that has a number is the same by day and in the dark, whatever it is called then.
            _, known, room = token.partition("#")
            place = f"room {room}" if known else token
            see += [token] if known else []
        elif not token.startswith("load:"):
            see.append(token)
    return kept_once(Situation(place, kept_once(frozenset(have)), kept_once(frozenset(see))))


@functools.lru_cache(maxsize=_WORDS)
def verb(action: str) -> str:
    """Return the first word of an action."""
    return action.split(" ", 1)[0]


@functools.lru_cache(maxsize=_WORDS)
def objects(action: str) -> frozenset[str]:
    """Return the words of an action that can name something: not its verb, nor short words."""
    return _nouns(action.split()[1:])


def _nouns(words: Iterable[str]) -> frozenset[str]:
    """Return those of some words that can name something: no short ones."""
    return frozenset(word for word in words if len(word) > 2 and word not in _SMALL)


@functools.lru_cache(maxsize=_WORDS)
def concerns(action: str, token: str) -> bool:
    """Return whether an action is done to what a token stands for, or with it: names it, or all there is."""
    return "all" in action.split()[1:] or not objects(action).isdisjoint(names_in(token))


@functools.lru_cache(maxsize=_WORDS)
def words_of_token(token: str) -> frozenset[str]:
    """Return the words of a token, without its class; nor a room's number, by which the dark were news in each room."""
    kind, _, text = token.partition(":")
    if kind == "place":
        text = text.partition("#")[0]
    return frozenset(text.replace("@", " ").replace("=", " ").split())


@functools.lru_cache(maxsize=_SETS)
def name_in(context: Tokens) -> str:
    """Return the name that a place goes by in a context, "" if it has no other."""
    return min((token.partition("#")[0] for token in context if token.startswith("place:")), default="")


@functools.lru_cache(maxsize=_WORDS)
def names_in(token: str) -> frozenset[str]:
    """Return the words of a token that can name something."""
    return _nouns(words_of_token(token))


@functools.lru_cache(maxsize=_SETS)
def words_of(tokens: Tokens) -> frozenset[str]:
    """Return the words of tokens."""
    return frozenset().union(*map(words_of_token, tokens))


def without_state(token: str) -> str:
    """Return a token without the state of the thing: the same for a lamp that is lit and one that is not."""
    return token.partition("=")[0]


def place_for_people(place: str) -> str:
    """Return the name of a place without its class."""
    return place.removeprefix("place:")
