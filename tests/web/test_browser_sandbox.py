"""Chromium's own sandbox: on where it can be, off with a reason where it cannot."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from engine.web.browser import chromium
from engine.web.browser.driver import Driver
from engine.web.browser.network import gate_for
from tests.web.pages import until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")

NOBODY = 65534


@pytest.fixture
def plain_browser(browser_path):
    """A browser that runs as an ordinary user: as this one, or as nobody if this one is root."""
    if os.geteuid() != 0:
        yield browser_path
        return
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is not here, so root cannot start a browser as another user")
    home = Path(tempfile.mkdtemp(prefix="jitrl-test-"))
    home.chmod(0o755)
    (home / "profile").mkdir()
    os.chown(home / "profile", NOBODY, NOBODY)
    (home / "browser").write_text(
        f"#!/bin/sh\nHOME={home}/profile exec {setpriv} --reuid={NOBODY} --regid={NOBODY} --clear-groups "
        f'{browser_path} "$@" --user-data-dir={home}/profile\n'
    )
    (home / "browser").chmod(0o755)
    yield str(home / "browser")
    shutil.rmtree(home, ignore_errors=True)


def test_the_browser_without_windows_is_taken_first(tmp_path, monkeypatch):
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("chromium", "chromium-headless-shell"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert chromium.find_browser() == str(tmp_path / name)


def processes(port: int) -> list[tuple[list[str], str]]:
    """Return arguments and state of the browser that may reach a port, and of what it started."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_text(errors="replace").replace("\0", " ").split()
            found[int(folder.name)] = (arguments, (folder / "status").read_text())
        except OSError:
            continue
    parents = {
        pid: int(state.partition("PPid:\t")[2].split("\n")[0]) for pid, (_, state) in found.items() if "PPid" in state
    }
    tree = {pid for pid, (arguments, _) in found.items() if any(f"127.0.0.1:{port}" in each for each in arguments)}
    while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return [found[pid] for pid in tree]


def started(browser: str, port: int) -> list[tuple[list[str], str]]:
    driver = Driver(browser, gate_for([f"http://127.0.0.1:{port}/"]))
    try:
        driver.begin(["data:text/html,<h1>Here</h1>"])
        return processes(port)
    finally:
        driver.close()
        driver.close()
        assert until(lambda: not processes(port))


def pages(found: list[tuple[list[str], str]]) -> list[str]:
    return [state for arguments, state in found if "--type=renderer" in arguments]


def test_pages_run_in_chromiums_sandbox_for_an_ordinary_user(plain_browser, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    if why := chromium.why_no_sandbox(plain_browser):
        pytest.skip(f"Chromium's sandbox cannot be used here: {why}")
    found = started(plain_browser, 40_101)
    assert pages(found)
    assert not any("--no-sandbox" in arguments for arguments, _ in found)
    assert all("Seccomp:\t2" in state for state in pages(found))


def test_a_browser_that_refuses_its_sandbox_is_started_without(browser_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("Chromium refuses its sandbox to root")
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert chromium.why_no_sandbox(browser_path) == "this user may not make user namespaces"
    found = started(browser_path, 40_102)
    assert pages(found)
    assert any("--no-sandbox" in arguments for arguments, _ in found)


def test_root_is_told_why_the_sandbox_is_off(browser_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert chromium.why_no_sandbox(browser_path) == "this user is root"


def test_a_browser_that_does_not_start_is_not_mistaken_for_one_without_sandbox(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert "does not start" in chromium.why_no_sandbox(str(tmp_path / "none"))
