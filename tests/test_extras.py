"""`jitrl up EXTRA`, and what commands say where an extra, a compiler or the network is missing."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from engine import extras, installer
from engine.errors import MissingError
from engine.session import store
from engine.settings import SessionConfig
from jitrl_tui.cli import main

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MISSING = "socks"
"""An extra that the development environment does not have."""


def names(packages: list[str]) -> set[str]:
    return {re.split(r"[=<>\[ ;]", one)[0] for one in packages}


def up(tmp_path: Path, capsys: pytest.CaptureFixture[str], *wanted: str) -> tuple[int, str]:
    """Return the exit code of `jitrl up`, and the last line that it told."""
    code = main(["--saves", str(tmp_path), "up", *wanted])
    return code, capsys.readouterr().err.splitlines()[-1]


def test_each_extra_of_the_project_can_be_had() -> None:
    apart = {"browsergym"}  # the sentence that asks for it says how it is made
    assert set(PROJECT["project"]["optional-dependencies"]) - apart == set(extras.EXTRAS) - {"play"}
    for name, packages in PROJECT["project"]["optional-dependencies"].items():
        if name in extras.EXTRAS:
            assert names(installer.requirements(name)) == names(packages)


def test_what_a_wheel_carries_is_what_a_checkout_has() -> None:
    carried = installer.requirements("play")
    assert carried == [one for one in PROJECT["dependency-groups"]["play"] if "hatchling" not in one]
    lock, listed = (ROOT / "requirements.lock").read_text(), (ROOT / "engine/carried.txt").read_text()
    for package in carried:
        hashes = [re.findall(r"sha256:\w+", text[text.index(package) :].split("\n\n")[0].partition("==")[2])
                  for text in (lock, listed)]  # fmt: skip
        assert hashes[1][0] == hashes[0][0]
    assert not names(PROJECT["project"]["dependencies"]) & {*names(carried), "llm", "llama-cpp-python", "spacy"}


def test_a_broken_extra_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "socksio.py").write_text("raise AttributeError('half of it is gone')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingError, match=r"does not load \(half of it is gone\); install it with: jitrl up socks"):
        extras.load(MISSING, "socksio")


def test_a_system_that_manages_its_packages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(installer.sysconfig, "get_path", lambda name: str(tmp_path))
    code, told = up(tmp_path, capsys, MISSING)
    assert (code, "managed by the system; install jitrl into an environment of its own" in told) == (3, True)


def test_packages_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer.sysconfig, "get_path", lambda name: "/nowhere")
    code, told = up(tmp_path, capsys, MISSING)
    assert (code, "/nowhere cannot be written" in told) == (3, True)


def test_no_network(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PIP_CONFIG_FILE", "/dev/null"), ("PIP_INDEX_URL", "http://127.0.0.1:9/"),
                        ("PIP_FIND_LINKS", ""), ("PIP_NO_CACHE_DIR", "1"), ("UV_INDEX_URL", "http://127.0.0.1:9/"),
                        ("UV_NO_CACHE", "1"), ("UV_HTTP_RETRIES", "0")):  # fmt: skip
        monkeypatch.setenv(name, value)
    code, told = up(tmp_path, capsys, MISSING)
    assert (code, "is the package index reachable?" in told) == (3, True)
    assert str(tmp_path / "cache" / "install.log") in told


def test_no_compiler_and_no_installer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda *_: False)
    monkeypatch.setenv("PATH", str(tmp_path))
    code, told = up(tmp_path, capsys, "play")
    assert (code, "apt install gcc make" in told) == (3, True)
    monkeypatch.setattr(installer, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    code, told = up(tmp_path, capsys, MISSING)
    assert (code, "neither pip nor uv is here" in told) == (3, True)


@pytest.mark.parametrize("words", [("run", "pantry", "--model", "prior/verbs"), ("games", "info", "/x/story.z5")])
def test_without_jericho_a_sentence_says_what_to_type(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = extras.importlib.util.find_spec
    monkeypatch.setattr(extras.importlib.util, "find_spec", lambda name: None if name == "jericho" else found(name))
    code = main(["--saves", str(tmp_path), *words])
    err = capsys.readouterr().err
    if words[0] == "run":
        assert (code, err.count("\n"), "jitrl up play" in err) == (3, 1, True), err
    assert "Traceback" not in err


def test_closed_input_ends_each_command_that_may_ask(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = store.create(tmp_path, SessionConfig("pantry", model="prior/verbs"), "run")
    for words, expected in (
        (("watch", "pantry", "--model", "prior/verbs", "--plain", "--ask"), 2),
        (("sessions", "rm", saved.name), 2),
        (("play", "pantry", "--model", "prior/verbs", "--plain"), 0),
        (("watch", "pantry", "--games", str(tmp_path / "cache"), "--plain", "--ask"), 2),
        (("bench", "run", "quick", "--models", "openai/gpt-4o"), 2),
        (("up", MISSING, "nothing"), 2),
    ):
        monkeypatch.setattr(sys, "stdin", None)
        code = main(["--saves", str(tmp_path), *words])
        err = capsys.readouterr().err
        assert (code, "Traceback" in err) == (expected, False), (words, err)
