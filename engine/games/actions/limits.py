"""The limits of the search for valid actions, each with its reason.

They keep a search short where a story's text or code names very much. They decide which actions are found, so all
sessions use the same ones, and a change of one needs a new `engine.games.actions.search.SCHEME`.
"""

from __future__ import annotations

NUMBERS = 10
"""Numbers out of the texts that are tried. A dial has about ten positions; a page of statistics has hundreds."""
DARK = 600
"""Things that are tried by name where the player cannot see. A large story has about so many."""
HEARD = 12
"""Words out of the texts that name nothing here and are tried as spells or topics. A spell book lists about ten."""
SPOKEN = 8
"""Of these, words that the story accepts as commands. Where it accepts nearly any word, they are no spells."""
GENERAL = 40
"""Actions that a called routine may ask for. One with more is a general service, such as printing messages, and says
nothing about a thing. More topics than this are ignored, too."""
WRITERS = 4
"""Actions whose own routines write the same global variable. One that more of them write is no fact of the world."""
EVERYDAY = 8
"""Verbs that are tried early on every thing: about as many as people use all the time."""
DEPTH = 2
"""Calls that are followed from a routine. Deeper ones lead into the library, which all things share."""
READING = 1
"""The same, for what a routine looks at. Deeper ones look at what concerns the parser or the clock."""
REFUSED = 6
"""Pairs of things to which a story without a known grammar must not understand a wording before it is given up. Among
so many are four different things."""
ABBREVIATION = 2
"""Letters of a word that is short for another one: "ne", "x"."""
