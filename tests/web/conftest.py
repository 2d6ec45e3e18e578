from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from engine.environments import profile
from engine.llm.opening import open_remote
from engine.paths import saves_folder
from engine.web.asking import PAGE_ASKING
from engine.web.browser import chromium
from tests.llm.server import Server

if os.environ.get("JITRL_TEST_SITES") == "install":
    # Asked for, as a machine that is there for testing would: what the sites need, and their data, once.
    from engine.web.sites.install import install
    from engine.web.sites.manager import Sites
    from tests.web.solving import borrowable

    if not borrowable(saves_folder()):
        install(saves_folder(), lambda text: print(f"{text} ...", file=sys.stderr, flush=True))
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


@pytest.fixture
def site():
    with _pages_module().pages() as server:
        yield server


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
