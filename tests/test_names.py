"""Names of modules and classes: nouns or verbs that say what is done, and one name for one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOUNS = {"cooking", "embedding", "recording"}
"""Words in -ing that are nouns of the field or of a story."""
PACKAGES = ("engine", "jitrl_tui")


def modules() -> list[Path]:
    """Return the files of all modules."""
    return [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def test_no_module_is_named_after_an_activity():
    """Such names do not say what is in a module: `opening.py` may have what is opened, or what opens it."""
    found = [str(file.relative_to(ROOT)) for file in modules() if file.stem.endswith("ing")]
    assert [name for name in found if Path(name).stem not in NOUNS] == []


PRIVATE = frozenset(("hands", "life", "lifted", "lifting", "lived", "lives", "offer", "reliving", "retold", "strips",
                     "taking", "teller", "told"))  # fmt: skip
"""Words that once meant something in this project alone."""
USUAL = {"LiftedMemory", "Offer", "_lifted", "_lifting", "_render_strips", "action_offer", "lifted", "lives", "offer"}
"""Names with such a word in its usual meaning: a terminal's strips, lifting as relational learning has it, an offer."""


def test_names_are_made_of_words_that_a_stranger_knows():
    found = set()
    for file in modules():
        for name in re.findall(r"^ *(?:async )?(?:def|class) (\w+)", file.read_text("utf-8"), re.MULTILINE):
            words = {word.lower() for word in re.findall("[A-Z]?[a-z]+", name)}
            if words & PRIVATE and name not in USUAL:
                found.add(f"{file.relative_to(ROOT)} {name}")
    assert found == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_public_classes_have_one_name(package):
    found = defaultdict(list)
    for file in (ROOT / package).rglob("*.py"):
        for name in re.findall(r"^class ([A-Za-z]\w*)", file.read_text("utf-8"), re.MULTILINE):
            found[name].append(str(file.relative_to(ROOT)))
    assert not {name: files for name, files in found.items() if len(files) > 1}


def test_the_new_logit_is_written_in_one_way():
    """It is z′ with the sign for prime wherever a person reads it, also in the docs."""
    files = [*modules(), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "jitrl_tui").rglob("*.md")]
    assert [str(file.relative_to(ROOT)) for file in files if re.search(r"\bz'(?!\])", file.read_text("utf-8"))] == []
