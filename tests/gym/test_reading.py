"""Texts with colours, and states of what is drawn."""

from __future__ import annotations

import pytest

from engine.gym.environment import abstract
from engine.gym.marks import plain


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("\x1b[41mS\x1b[0mFFF", "[S]FFF"),
        ("|\x1b[35mR\x1b[0m: |\x1b[34;1mB\x1b[0m|", "|<magenta R>: |<blue B>|"),
        ("\x1b[43m \x1b[0m.", "[ ]."),
        ("\x1b[32;44mT\x1b[0m", "[green T]"),
        ("\x1b[38;5;196mhot\x1b[39m \x1b[7mhere\x1b[27m", "<coloured hot> [here]"),
        ("\x1b[37;40mplain\x1b[0m", "plain"),
        ("\x1b[41mAB\nCD\x1b[0m", "[AB]\n[CD]"),
        ("\x1b[2J\x1b[1;1Hmap\x1b]0;title\x07", "map"),
        ("a\tb\x00\x07c\u202e\r\nd  \n\n", "a       bc\nd"),
    ],
)
def test_colours_become_marks_and_control_characters_go(drawn, text):
    assert plain(drawn) == text


def tokens(scene, **more):
    return set(abstract(scene, "", "", **more)[1])


def test_the_same_line_in_another_row_is_another_state():
    assert tokens("[A]AA\nAAA") != tokens("AAA\n[A]AA")
    assert tokens("AAA\nAAA") != tokens("AAA")


def test_a_number_makes_another_state_where_nouns_do_not():
    fourteen, fifteen = tokens("The sum of your cards is 14."), tokens("The sum of your cards is 15.")
    assert fourteen != fifteen
    assert tokens("The sum of your cards is high.") == tokens("The sum of your cards is high.")


def test_prose_has_the_tokens_of_games():
    from engine.games.states.state import abstract as of_games

    scene = "Kitchen\nYou see a small table. On the table is a brass key."
    assert abstract(scene, "You are carrying a lamp.", "Kitchen") == of_games(
        scene, "You are carrying a lamp.", "Kitchen"
    )


def test_what_is_drawn_can_be_read_in_the_states_text():
    assert abstract("#.@.#\nA rat bites.", "", "")[0] == "[State: rat bites, #.@.#]"
