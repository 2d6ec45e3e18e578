from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from engine.web import chromium


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
