"""Names of modules and classes: nouns or verbs that say what is done, and one name for one thing."""

from __future__ import annotations

import ast
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


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_public_classes_have_one_name(package):
    found = defaultdict(list)
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(ROOT)))
    assert not {name: files for name, files in found.items() if len(files) > 1}
