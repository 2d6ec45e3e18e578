"""Names are terms of the field, which docs/glossary.md has, or plain English; one name is for one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOUNS = {"cooking", "embedding", "recording"}
"""Words in -ing that are nouns of the field or of a story."""
PACKAGES = ("engine", "jitrl_tui")


def modules() -> list[Path]:
    """Return the files of all modules."""
    return [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def words_of(name: str) -> list[str]:
    """Return the words of an identifier in lower case."""
    return [word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def test_no_module_is_named_after_an_activity():
    """Such names do not say what is in a module: `opening.py` may have what is opened, or what opens it."""
    found = [str(file.relative_to(ROOT)) for file in modules() if file.stem.endswith("ing")]
    assert [name for name in found if Path(name).stem not in NOUNS] == []


PRIVATE = frozenset((
    "bearings", "glances", "hands", "keeping", "lens", "lived", "offer", "offered", "offers", "reliving", "retold",
    "strips", "taking", "teller", "telling", "told",
))  # fmt: skip
"""Words that once meant something in this project alone."""
USUAL = frozenset(("OFFERS", "_offers", "_render_strips", "_strips", "offer", "strips", "told_characters"))
"""Names with such a word in its usual meaning: lines of a terminal, what a shop offers. The last one is a setting."""
PHRASES = re.compile(r"\b(bearings|glances|hands on|lens|lived|reliving|retold|tak(en|ing) up again)\b", re.IGNORECASE)
"""What is not said in docstrings and in the docs either."""
SEEN = (*PRIVATE, "up again")
"""A file with any of it has one of these texts."""
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def names_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module gives: to classes, functions, arguments, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def test_names_and_docstrings_are_made_of_words_that_a_stranger_knows():
    found = set()
    for file in modules():
        text, where = file.read_text("utf-8"), str(file.relative_to(ROOT))
        lower = (where + text).lower()
        if not any(word in lower for word in SEEN):
            continue
        tree = ast.parse(text)
        found |= {f"{where} {name}" for name in names_in(tree) if PRIVATE & {*words_of(name)} and name not in USUAL}
        found |= {f"{where} is the name of a module"} if PRIVATE & {*words_of(file.stem)} else set()
        docs = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]
        found |= {f"{where}: {match[0]}" for text in docs for match in PHRASES.finditer(text)}
    for file in [*(ROOT / "docs").glob("*.md"), *(ROOT / "jitrl_tui/help").glob("*.md")]:
        found |= {f"{file.name}: {match[0]}" for match in PHRASES.finditer(file.read_text("utf-8"))}
    assert found == set()


def test_no_two_public_classes_have_one_name():
    """Nor has one of the screens the name of one of the engine."""
    found = defaultdict(list)
    for file in modules():
        for name in re.findall(r"^class ([A-Za-z]\w*)", file.read_text("utf-8"), re.MULTILINE):
            found[name].append(str(file.relative_to(ROOT)))
    assert not {name: files for name, files in found.items() if len(files) > 1}


TERMS = ("abstractor", "action", "advantage", "agent", "branch", "candidate", "environment", "episode", "estimator",
         "evaluator", "logit", "memory", "neighbour", "observation", "policy", "prior", "recording", "replay", "resume",
         "return", "reward", "scope", "session", "state", "step", "trajectory", "transition", "what-if")  # fmt: skip
"""Terms that the code cannot do without."""


def glossary() -> dict[str, str]:
    """Return the meanings of the glossary's terms, which stand without their symbols."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE)
    return {re.sub(r",.*| \(.*", "", term).lower(): meaning for term, meaning in rows if term != "word"}


def test_the_glossary_has_the_terms_of_the_field_and_says_each_in_a_line():
    meanings = glossary()
    assert [term for term in TERMS if term not in meanings] == []
    assert {term: text for term, text in meanings.items() if not 2 <= len(text.split()) <= 40} == {}


ROOMS = ("records", "session", "memory", "values", "agents")
"""Folders of the engine whose public classes everything else is made of."""
PLAIN = frozenset(re.findall("[a-z]+", """
    account again agreement answer at bank basis beginnings call called changed changes command compared
    comparison config configuration connection context control corrected count counters cursor database db
    decided difference edits effects embedder enabled end ended entries evo expected experience explorer failed
    folder followed follower forget graph group growing hazards histories hit hold host human imagined import
    influence info item jitrl judged judgement keeper kind knn learning learnt line listener liveness llm
    lockstep log logged lookahead makers mark memo memrl method named nearest news node not note notebook notice
    open option orders origin outbox outcome page part paths paused person planner played position preconditions
    presence progress prompted proposal query race reached reader reasoning recalled recorded recorder recovered
    redactor reflexion refused relay relayed remembered remote repeatable replayed reply request requested
    reread result resumed retrieved retriever router row rule run running said save saved score search semantic
    server sets shown source span started static steered steering stepped stop stopwatch stored table taken
    tally terms test text thinking transaction try uniform unknown unreachable update use valuation value
    vectors verification vetoes view visible waiting ways webrl workflow world writer writing yields
"""))  # fmt: skip
"""Words of public classes that mean there what they mean in any English text about programs."""


def test_public_classes_are_named_with_words_of_the_glossary_or_plain_ones():
    """A new term gets a line in docs/glossary.md; a plain word is added above."""
    known = {word for term in glossary() for word in re.findall("[a-z]+", term)} | PLAIN
    files = [file for room in ROOMS for file in (ROOT / "engine" / room).rglob("*.py")]
    files += [*(ROOT / "engine").glob("environment*.py"), ROOT / "engine/kinds.py", ROOT / "engine/evaluator.py"]
    names = {
        node.name
        for file in files
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    words = {word: name for name in names for word in words_of(name)}
    assert {name: word for word, name in words.items() if not {word, word.removesuffix("s")} & known} == {}
    assert [word for word in PLAIN if not {word, word + "s"} & {*words}] == []  # no word is left over


def test_the_new_logit_is_written_in_one_way():
    """It is z′ with the sign for prime wherever a person reads it, also in the docs."""
    files = [*modules(), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "jitrl_tui").rglob("*.md")]
    assert [str(file.relative_to(ROOT)) for file in files if re.search(r"\bz'(?!\])", file.read_text("utf-8"))] == []
