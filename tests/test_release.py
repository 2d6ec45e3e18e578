"""What a release is made of: files for other programs can be read, packages have what they should, versions agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from engine.commit import commit

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a source package of this checkout, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as packed:
        packed.extractall(folder, filter="data")
    source = next(folder.glob("jitrl-*/pyproject.toml")).parent
    subprocess.run([*build, "-t", "wheel"], cwd=source, check=True, capture_output=True)
    return folder


def test_a_wheel_that_is_built_from_the_source_package_tells_the_commit_and_has_the_pages(built, tmp_path):
    zipfile.ZipFile(next(built.glob("*.whl"))).extractall(tmp_path)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from jitrl_tui.cli import main; main(['--version'])"
    )
    told = subprocess.run(
        [sys.executable, "-I", "-c", script, str(tmp_path)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    name = commit()
    assert told == f"jitrl {PROJECT['project']['version']}" + (f" (commit {name})" if name else "")
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert {
        str(page.relative_to(tmp_path / "jitrl_tui/docs")) for page in tmp_path.glob("jitrl_tui/docs/**/*.md")
    } == pages


def test_the_source_package_has_docs_and_tests(built):
    source = next(built.glob("jitrl-*/pyproject.toml")).parent
    for file in (
        "docs/index.md",
        "docs/watch.gif",
        "tests/test_release.py",
        "CONTRIBUTING.md",
        "LICENSE",
        "hatch_build.py",
    ):
        assert (source / file).is_file(), file


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
