"""Names of environments, taken apart."""

from __future__ import annotations

import pytest

from engine.errors import UsageError
from engine.gym.names import parse


def test_a_package_an_id_with_slashes_and_keyword_arguments():
    wanted = parse("gym:ale_py/ALE/Pong-v5?frameskip=4&slippery=False&deep=true&name=4x4&desc=['SF','HG']")
    assert (wanted.package, wanted.env_id) == ("ale_py", "ALE/Pong-v5")
    assert wanted.given == {
        "frameskip": 4, "slippery": False, "deep": True, "name": "4x4", "desc": ["SF", "HG"],
    }  # fmt: skip


def test_none_is_a_word_and_None_is_nothing():
    assert parse("gym:textworld/tw-simple?goal=none&limit=None").given == {"goal": "none", "limit": None}


def test_a_literal_that_cannot_go_to_another_process_is_a_text():
    assert parse("gym:p/E-v0?a={1,2}&b=b'x'").given == {"a": "{1,2}", "b": "b'x'"}


def test_options_of_the_adapter_are_no_keyword_arguments():
    wanted = parse(
        "gym:p/E-v0?actions=left, right&text=tty_chars,message&ignore=T:\\d+&ended=reward"
        "&templates=go {way}|take {thing} from {place}&way=up,down&other=1"
    )
    assert wanted.actions == ("left", "right")
    assert wanted.text == ("tty_chars", "message")
    assert wanted.ignore == "T:\\d+"
    assert wanted.ended == "reward"
    assert wanted.templates == ("go {way}", "take {thing} from {place}")
    assert wanted.slots == {"way": ("up", "down")}
    assert wanted.given == {"other": 1}


def test_values_are_percent_decoded():
    assert parse("gym:p/E-v0?word=a%26b+c").given == {"word": "a&b+c"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gym:", "PACKAGE/ENV_ID"),
        ("gym:gymnasium", "PACKAGE/ENV_ID"),
        ("gym:gymnasium/", "PACKAGE/ENV_ID"),
        ("gym:../etc/E-v0", "PACKAGE/ENV_ID"),
        ("gym:p/E-v0?slippery", "KEY=VALUE"),
        ("gym:p/E-v0?ignore=(", "regular expression"),
        ("gym:p/E-v0?ended=maybe", "won, lost, reward"),
    ],
)
def test_what_is_no_name_is_refused_in_a_sentence(name, said):
    with pytest.raises(UsageError, match=said):
        parse(name)
