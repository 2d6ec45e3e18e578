from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from engine.environments import profile
from engine.errors import GameError
from engine.llm.model_factory import open_remote
from engine.paths import saves_folder
from engine.web.browser import chromium, process
from engine.web.browser.driver import Driver
from engine.web.browser.limits import BrowserLimits
from engine.web.browser.network import Traffic, resolver_rules
from engine.web.questions import PAGE_ASKING
from tests.llm.server import Server

if os.environ.get("JITRL_TEST_SITES") == "install":
    # Asked for, as a machine that is there for testing would: what the sites need, and their data, once.
    from engine.web.sites.install import install
    from engine.web.sites.manager import SITES, Sites
    from tests.web.solving import borrowable

    if not borrowable(saves_folder()):
        install(saves_folder(), [*SITES.values()], lambda text: print(f"{text} ...", file=sys.stderr, flush=True))
        with Sites(saves_folder()) as _sites:
            for _status in _sites.up(stay=False):
                if _status.note:
                    print(f"{_status.name}: {_status.note}", file=sys.stderr)


def _pages_module():
    path = Path(__file__).with_name("pages.py")
    spec = importlib.util.spec_from_file_location("web_pages", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["web_pages"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def browser_path():
    why = chromium.missing()
    if why:
        pytest.skip(why)
    return chromium.require_browser()


@pytest.fixture(scope="session")
def one_site():
    with _pages_module().pages() as server:
        yield server


@pytest.fixture
def site(one_site):
    """A server of pages: the same one for all tests, so that they can share a browser, which knows its port."""
    _pages_module().begin(one_site)
    yield one_site
    one_site.hold.set()


class Loan:
    """A driver that is given back where it would be closed."""

    def __init__(self, driver, give_back):
        self.__dict__.update(_driver=driver, _give_back=give_back)

    def __getattr__(self, name):
        return getattr(self._driver, name)

    def __setattr__(self, name, value):
        setattr(self._driver, name, value)

    def close(self):
        self.__dict__["_give_back"], give_back = lambda: None, self._give_back
        give_back()


class Lender:
    """Hands the browser that one environment has done with to the next one of the same rules and memory.

    The two that were given back last are kept.
    """

    def __init__(self):
        self._free = {}

    def __call__(self, executable, gate, limits=None):
        limits = limits or BrowserLimits()
        may = (executable, process.resolver_rules(gate), limits.memory)
        driver = self._free.pop(may, None) or Driver(executable, gate, limits)
        driver.gate, driver.limits, driver.traffic, driver.on_wait = gate, limits, Traffic(), lambda text: None
        return Loan(driver, lambda: self._take(may, driver))

    def _take(self, may, driver):
        driver.limits = BrowserLimits()
        try:
            driver.leave()
        except GameError:
            driver.close()
            return
        if other := self._free.pop(may, None):
            other.close()
        self._free[may] = driver
        if len(self._free) > 2:
            self._free.pop(next(iter(self._free))).close()

    def close(self):
        for driver in self._free.values():
            driver.close()


@pytest.fixture(scope="session")
def lender():
    lent = Lender()
    yield lent
    lent.close()


@pytest.fixture
def strict_browser(lender, monkeypatch):
    """Start a browser only where none is left over: that takes longer than most tests."""
    monkeypatch.setattr("engine.web.environment.Driver", lender)


@pytest.fixture
def shared_browser(strict_browser, monkeypatch):
    """The same with browsers for which every port of this machine has an address: one fits all servers of the tests."""

    def rules(gate):
        return resolver_rules(gate) if gate.moved else "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"

    monkeypatch.setattr(process, "resolver_rules", rules)


@pytest.fixture
def pages():
    """What makes another server of such pages."""
    return _pages_module().pages


@pytest.fixture
def server():
    """A language-model server on loopback that answers as it is told."""
    with Server().running() as running:
        yield running


@pytest.fixture
def model(server):
    settings = profile("default", "web", logits="verbalized")
    opened = open_remote("openai/test", settings, None, {"OPENAI_API_BASE": server.base}, asking=PAGE_ASKING)
    yield opened
    opened.close()
