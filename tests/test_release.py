"""What a release is made of: files for other programs can be read, packages have what they should, versions agree."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from engine.commit import commit
from jitrl_tui.cli import main

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a source package of this checkout, unpacked."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), "-t", "sdist"]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as packed:
        packed.extractall(folder, filter="data")
    return next(folder.glob("jitrl-*/pyproject.toml")).parent


def test_a_package_tells_the_commit_that_it_was_built_from(source):
    script = "import sys; sys.path.insert(0, sys.argv[1]); from engine.commit import commit; print(commit())"
    told = subprocess.run([sys.executable, "-I", "-c", script, str(source)], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == commit()


def test_version_tells_the_commit(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    named = f" (commit {commit()})" if commit() else ""
    assert capsys.readouterr().out.strip() == f"jitrl {version('jitrl')}{named}"


def test_the_source_package_has_docs_and_tests(source):
    wanted = "docs/index.md docs/watch.gif tests/test_release.py CONTRIBUTING.md LICENSE hatch_build.py mkdocs.yml"
    for file in wanted.split():
        assert (source / file).is_file(), file


def test_messages_of_an_installed_package_name_pages_that_it_has(tmp_path):
    shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    (placed,) = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].items()
    shutil.copytree(ROOT / placed[0], tmp_path / placed[1])
    script = "import sys; sys.path.insert(0, sys.argv[1]); from engine.pages import page; print(page('results/web'))"
    told = subprocess.run([sys.executable, "-I", "-c", script, tmp_path], check=True, capture_output=True, text=True)
    assert Path(told.stdout.strip()) == tmp_path / "engine/docs/results/web.md"
    assert Path(told.stdout.strip()).is_file()


def test_the_readme_of_a_package_has_no_link_that_leads_nowhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    building = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(building)
    links = r"\]\(([^)]+)\)"
    known = building.from_elsewhere(text, "https://example.org/jitrl")
    assert {*re.findall(links, known)} >= {"https://example.org/jitrl/raw/HEAD/docs/watch.gif"}
    for changed in (known, building.from_elsewhere(text, "")):
        assert all(link.startswith("https://") for link in re.findall(links, changed))
        assert "z′(s, a) = z(s, a)" in changed


def test_the_changelog_is_sorted_by_version_and_begins_with_this_one():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    assert ".".join(versions[0]) == PROJECT["project"]["version"]
    assert [tuple(map(int, one)) for one in versions] == sorted(
        [tuple(map(int, one)) for one in versions], reverse=True
    )
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert {*re.findall(r"^### (.+)$", text, re.MULTILINE)} <= kinds


@pytest.mark.parametrize(
    "file", [*FORMS, *WORKFLOWS, ROOT / ".pre-commit-config.yaml"], ids=lambda file: file.name
)
def test_yaml_can_be_read(file):
    assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)


def test_issue_forms_have_what_a_form_needs():
    for file in FORMS:
        form = yaml.safe_load(file.read_text(encoding="utf-8"))
        if file.stem == "config":
            continue
        assert form["name"], form["description"]
        assert {part["type"] for part in form["body"]} <= {
            "markdown",
            "textarea",
            "input",
            "dropdown",
            "checkboxes",
        }
        ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
        assert len(ids) == len({*ids})


def test_every_python_that_the_package_names_is_tested():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert {"run": ".ci/run"} in jobs["linux"]["steps"]
    named = {
        found[-1]
        for line in PROJECT["project"]["classifiers"]
        if (found := re.findall(r"Python :: (3\.\d+)$", line))
    }
    assert named <= {*jobs["linux"]["strategy"]["matrix"]["python"]}


def test_hooks_call_programs_of_the_environment():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0][
        "hooks"
    ]
    for hook in hooks:
        program = Path(hook["entry"].split()[0])
        assert program.parent == Path(".venv/bin")
        assert (Path(sys.executable).parent / program.name).is_file(), program


def test_the_container_for_developers_is_json():
    described = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    assert described["postCreateCommand"] == "make setup"
