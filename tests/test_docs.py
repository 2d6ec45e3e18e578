"""The pages about formats say what is so: fields of recordings, and fields of what commands print as JSON."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from engine.pages import page
from jitrl_tui.cli import main
from jitrl_tui.commands.headless import FORMAT
from tests import draw_imports, write_formats, write_schemas, write_settings
from tests.arena.made_runs import games

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "json.md").read_text(encoding="utf-8")
KINDS = {
    "text": str, "integer": int, "number": (int, float), "boolean": bool, "list": list, "object": dict,
    "null": type(None),
}  # fmt: skip
SECTIONS = write_schemas.fields()


def documented(command: str) -> dict[str, tuple[type, ...]]:
    """Return the fields that the page has for a command, each with the types that it may have."""
    found = {}
    for name, kind, _ in SECTIONS[command]:
        words = re.split(r", | or ", kind.strip())
        types = [KINDS[word] for word in words]
        found[name] = tuple(one for each in types for one in (each if isinstance(each, tuple) else (each,)))
    return found


def fields(value: object, known: dict[str, tuple[type, ...]], at: str = "") -> list[tuple[str, object]]:
    """Return the fields of a JSON value with their values; where a name with `{...}` is known, keys are free."""
    if isinstance(value, list):
        return [found for each in value if isinstance(each, (dict, list)) for found in fields(each, known, f"{at}[]")]
    if not isinstance(value, dict):
        return []
    found = []
    for key, inner in value.items():
        name = f"{at}{{...}}" if f"{at}{{...}}" in known else f"{at}.{key}" if at else key
        found += [(name, inner), *fields(inner, known, name)]
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saves folder in which two episodes were played."""
    saves = tmp_path_factory.mktemp("saves")
    assert main(["--saves", str(saves), "run", "pantry", "--model", "prior/verbs", "--episodes", "2", "--steps", "6",
                 "--quiet", "--json", str(saves / "result.json")]) == 0  # fmt: skip
    return saves


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another session, in a saves folder of its own."""
    saves = tmp_path_factory.mktemp("other")
    assert main(["--saves", str(saves), "run", "pantry", "--model", "prior/verbs", "--episodes", "1", "--steps", "6",
                 "--seed", "5", "--estimator", "knn", "--quiet"]) == 0  # fmt: skip
    return next((saves / "sessions").iterdir())


@pytest.fixture(scope="module")
def session(played: Path) -> Path:
    """The session that was played, before races add theirs."""
    (found,) = (played / "sessions").iterdir()
    return found


@pytest.fixture(scope="module")
def race(played: Path, session: Path) -> str:
    """Name of a race in the saves folder."""
    assert main(["--saves", str(played), "race", "pantry", "--arm", "static", "--arm", "random",
                 "--model", "prior/verbs", "--episodes", "1", "--steps", "6", "--plain"]) == 0  # fmt: skip
    return next((played / "races").iterdir()).stem


@pytest.mark.parametrize("command", SECTIONS)
def test_a_command_prints_the_fields_that_the_page_lists(command, played, session, other, race, capsys):
    known = documented(command)
    stands_for = {
        "SESSION": str(session), "OTHER": str(other), "RACE": race, "RECORDING": str(session),
        "RUN": str(games(seeds=2, episodes=2).write(played / "made")),
        "GAME": "pantry", "SCOPE": "pantry", "WORD": "kitchen", "A": str(played), "B": str(other.parent.parent),
        "PROFILE": "default",
    }  # fmt: skip
    if command.startswith("run "):
        printed = (played / "result.json").read_text()
    else:
        arguments = [stands_for.get(word, word) for word in command.split()]
        capsys.readouterr()
        assert main(["--saves", str(played), *arguments]) in (0, 1, 3)
        printed = capsys.readouterr().out
    schemas = json.loads((write_schemas.FOLDER / "outputs.json").read_text(encoding="utf-8"))
    Draft202012Validator(schemas["$defs"][command]).validate(json.loads(printed))
    found = fields(json.loads(printed), known)
    for name, value in found:
        assert name in known, f"`{name}` is not on the page"
        assert type(value) in known[name], f"`{name}` is {value!r}"
    assert {name for name, _ in found} == {name for name in known if not name.endswith("[]")}


def test_the_page_has_the_number_that_results_have(played):
    assert json.loads((played / "result.json").read_text())["format"] == FORMAT
    assert PAGE.startswith(f"# Output of commands as JSON: format {FORMAT}\n")


def test_the_page_about_recordings_is_what_the_code_says():
    assert write_formats.FILE.read_text(encoding="utf-8") == write_formats.page(), "python -m tests.write_formats"
    export = write_formats.EXPORT.read_text(encoding="utf-8")
    assert export == write_formats.export_page(), "python -m tests.write_formats"


@pytest.mark.parametrize("name", write_schemas.SCHEMAS)
def test_the_schemas_are_what_the_code_and_the_page_say(name):
    shipped = (write_schemas.FOLDER / name).read_text(encoding="utf-8")
    assert shipped == write_schemas.text(name), "python -m tests.write_schemas"
    Draft202012Validator.check_schema(json.loads(shipped))


def test_each_line_of_a_recording_is_as_the_schema_says_and_other_lines_are_not(session, other):
    schema = Draft202012Validator(json.loads((write_schemas.FOLDER / "recording.json").read_text(encoding="utf-8")))
    lines = [json.loads(line) for each in (session, other) for line in (each / "events.jsonl").read_text().splitlines()]
    assert {line["event"] for line in lines} >= {"SessionStarted", "Decided", "Stepped", "EpisodeEnded", "SessionEnded"}
    for line in lines:
        schema.validate(line)
    step = next(line for line in lines if line["event"] == "Stepped")
    for wrong in ({"reward": "much"}, {"event": "Flown"}, {"observation": {"text": 3}}):
        assert not schema.is_valid(step | wrong)
    assert not schema.is_valid({name: value for name, value in step.items() if name != "action"})


def test_the_page_about_settings_is_what_the_code_says():
    assert write_settings.FILE.read_text(encoding="utf-8") == write_settings.page(), "python -m tests.write_settings"


def test_the_picture_of_the_imports_is_what_the_code_says():
    drawn = draw_imports.svg(draw_imports.imports())
    assert draw_imports.FILE.read_text(encoding="utf-8") == drawn, "python -m tests.draw_imports"


ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
ROOMS = [DOCS.parent / name for name in ("engine", "jitrl_tui", "tests")]


@pytest.fixture(scope="module")
def there() -> set[str]:
    """What the page about the layout may name: files, folders and modules of the code, its classes and functions."""
    found = {f"{room.name}{end}" for room in ROOMS for end in ("", "/")}
    for room in ROOMS:
        for path in room.rglob("*"):
            if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__"):
                parts = path.relative_to(DOCS.parent).parts
                ends = ["/".join(parts[at:]) for at in range(len(parts))]
                found |= {end for one in ends for end in (one, f"{one}/", one.removesuffix(".py"))}
            if path.suffix == ".py":
                found |= {*re.findall(r"^ *(?:class|def) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)}
    return found


def named(text: str) -> list[str]:
    """Return the names of code in a text in Markdown: what stands in backticks, without commands."""
    marked = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    modules = [word.replace(".", "/") for word in re.findall(r"`python -m (tests\.\w+)`", text)]
    names = [name for name in marked if " " not in name]
    return [name if re.search(r"\.(py|md|toml)$", name) else name.replace(".", "/") for name in names] + modules


def test_the_page_about_the_layout_names_only_what_is_there(there):
    outside = {"pyproject.toml", "o"}  # the second is a key
    assert len(named(ARCHITECTURE)) > 100
    assert [name for name in named(ARCHITECTURE) if name not in there | outside] == []
    assert [name for name in named("`engine/session/` `hiding` `engine/gone.py`") if name not in there] == [
        "hiding", "engine/gone.py"
    ]  # fmt: skip


def test_the_floors_on_the_page_are_those_of_the_contract():
    contracts = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [one["layers"] for one in contracts["contracts"] if one["name"] == "The floors of the engine"]
    floor = {name: at for at, names in enumerate(layers) for name in re.findall(r"engine\.(\w+)", names)}
    drawn = re.search(r"^ engine\.bench .*?^```", ARCHITECTURE, re.DOTALL | re.MULTILINE)
    lines = [re.split(" {2,}", line.strip())[0] for line in drawn[0].splitlines()[:-1]]
    floors = [{floor[name] for name in re.findall(r"\w+", line.replace("engine.", ""))} for line in lines]
    assert [len(each) for each in floors] == [1] * len(lines)
    assert [max(each) for each in floors] == sorted({max(each) for each in floors})


def headings(page: Path) -> set[str]:
    """Return what links to the headings of a page end with, as GitHub makes it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*sorted(DOCS.rglob("*.md")), *sorted(DOCS.parent.glob("*.md"))])
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link, heading in re.findall(r"\]\(([^)#:]*?)(?:#([^)]*))?\)", text):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not heading or heading in headings(target), f"{link}#{heading}"


def test_the_site_has_every_page_once():
    def pages(entry):
        if isinstance(entry, str):
            return [entry]
        return [page for inner in (entry.values() if isinstance(entry, dict) else entry) for page in pages(inner)]

    listed = pages(yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    generated = {"changelog.md", "contributing.md", "security.md", "conduct.md", "keys.md"}  # mkdocs_hooks.py
    assert sorted(listed) == sorted({str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} | generated)


def test_messages_name_pages_by_where_they_are():
    """A wheel has no folder docs/ beside it: `engine.pages.page` says where a page is."""
    for file in [*DOCS.parent.glob("engine/**/*.py"), *DOCS.parent.glob("jitrl_tui/**/*.py")]:
        text = file.read_text(encoding="utf-8")
        names = re.findall(r"\bpage\([\"']([\w/-]+)[\"']\)", text) if "from engine.pages import page" in text else []
        for name in names:
            assert Path(page(name)).is_file(), f"{file}: {name}"
        tree = ast.parse(text if "docs/" in text else "")
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
                assert not re.search(r"docs/[\w/-]+\.md", node.value), f"{file}: {node.value}"
    for file in DOCS.parent.glob("engine/**/*.toml"):
        assert "docs/" not in file.read_text(encoding="utf-8"), file


def test_each_field_of_a_recording_has_a_meaning():
    assert "| |\n" not in write_formats.page()
