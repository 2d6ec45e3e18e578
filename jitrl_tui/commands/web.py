"""`jitrl web`: local web sites and their tasks."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import MissingError
from engine.paths import saves_folder
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from engine.web.sites.manager import Sites, SiteStatus
    from engine.web.tasks.suites import WebTask

SITES = ("shop", "fossil", "encyclopedia", "forum", "map", "miniwob")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its actions."""
    parser = subparsers.add_parser("web", parents=[common], help="start local web sites and list web tasks")
    parser.set_defaults(handler=_status, json=False, sites=[])
    actions = parser.add_subparsers(metavar="ACTION")

    up = actions.add_parser("up", parents=[common], help="start local sites on 127.0.0.1")
    _sites(up)
    up.add_argument(
        "--install",
        action="store_true",
        help="first get the packages of these sites into saves/web/venv (250 MB for all)",
    )
    up.set_defaults(handler=_up)
    reset = actions.add_parser("reset", parents=[common], help="put the sites' data back to the beginning")
    _sites(reset)
    reset.set_defaults(handler=_reset)
    down = actions.add_parser("down", parents=[common], help="end the sites")
    _sites(down)
    down.set_defaults(handler=_down)
    status = actions.add_parser("status", parents=[common], help="tell which sites answer, and where")
    _sites(status)
    status.set_defaults(handler=_status)
    doctor = actions.add_parser("doctor", parents=[common], help="tell what the sites need, what is here, how large")
    _sites(doctor)
    doctor.set_defaults(handler=_doctor)
    ls = actions.add_parser("ls", parents=[common], help="list web tasks")
    ls.add_argument(
        "--suite",
        help="local, miniwob, webarena, webarena-lite, webarena-verified, browsergym; "
        "all that are here, but for browsergym",
    )
    ls.add_argument("--site", help="only tasks that use this site, such as shopping_admin")
    ls.add_argument("--json", action="store_true", help="a list on stdout")
    ls.set_defaults(handler=_ls)


def _sites(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sites", metavar="SITE", nargs="*", help=f"{', '.join(SITES)}; all where none is named"
    )
    parser.add_argument("--json", action="store_true", help="a list on stdout")


def _open(args: argparse.Namespace) -> Sites:
    from engine.web.sites.manager import Sites

    return Sites(saves_folder(args.saves), _say)


def _up(args: argparse.Namespace) -> int:
    sites = _open(args)
    if args.install:
        from engine.web.sites.install import install
        from engine.web.sites.manager import choose_sites

        install(saves_folder(args.saves), choose_sites(args.sites), _say)
    began = time.monotonic()
    found = sites.up(args.sites)
    _show(found, args.json)
    print(f"this took {time.monotonic() - began:.1f} s", file=sys.stderr)
    bad = [status for status in found if status.state != "up"]
    return 0 if not bad else 1 if any(status.state == "failing" for status in bad) else 3


def _reset(args: argparse.Namespace) -> int:
    _show(_open(args).reset(args.sites), args.json)
    return 0


def _down(args: argparse.Namespace) -> int:
    ended = _open(args).down(args.sites)
    if args.json:
        print(json.dumps(list(ended)))
    elif ended:
        print(f"ended: {', '.join(ended)}")
    else:
        print("none of them ran", file=sys.stderr)
    return 0


def _status(args: argparse.Namespace) -> int:
    _show(_open(args).status(args.sites), args.json)
    return 0


def _doctor(args: argparse.Namespace) -> int:
    """Tell for each site what is missing and how to get it, else how large its data are."""
    from engine.web.sites.manager import Sites
    from engine.web.sites.site import size_of, venv_python
    from jitrl_tui.commands.doctor import Check, show, web

    saves = saves_folder(args.saves)
    sites, packages = Sites(saves), venv_python(saves).parent.parent
    found = f"{size_of(packages) / 1e6:.0f} MB in {packages}" if packages.is_dir() else "none yet"
    checks = [Check("packages", "ok", found)]
    for status in sites.status(args.sites):
        size = size_of(sites.folder(status.name))
        data = f", data {size / 1e6:.1f} MB" if size else "" if status.url else ", its data are made at the first start"
        where = f" at {status.url}" if status.url else ""
        bad = status.state in ("missing", "failing")
        checks.append(Check(status.name, "warn" if bad else "ok", f"{status.state}{where}{data}", status.note))
    return show([*checks, *(check for check in web(args) if check.name != "local sites")], args.json)


def _show(found: tuple[SiteStatus, ...], as_list: bool) -> None:
    from engine.web.sites.manager import as_json

    if as_list:
        print(json.dumps([as_json(status) for status in found], indent=1))
        return
    for status in found:
        where = "  ".join(dict.fromkeys(status.urls.values()))
        print(f"{status.name:<13} {status.state:<8} {status.title:<36} {where}".rstrip())
    for status in found:
        if status.note:
            print(f"{status.name}: {status.note}", file=sys.stderr)


def _ls(args: argparse.Namespace) -> int:
    from engine.web.tasks import miniwob
    from engine.web.tasks import suites as tasks

    saves = saves_folder(args.saves)
    found: list[WebTask] = []
    if args.suite == "browsergym":
        return _ls_browsergym(saves, args)
    for suite in [args.suite] if args.suite else ("local", "miniwob", *tasks.FILES):
        try:
            found += miniwob.list_tasks(saves) if suite == "miniwob" else tasks.load(suite, saves)
        except MissingError as error:
            if args.suite:
                raise
            print(error, file=sys.stderr)
    if args.site:
        found = [task for task in found if args.site in task.sites]
    if args.json:
        print(json.dumps([{"id": t.id, "suite": t.suite, "site": t.site, "intent": t.intent, "kind": t.kind}
                          for t in found], indent=1))  # fmt: skip
        return 0
    for task in found:
        print(f"{task.id:<22} {task.site:<24} {task.kind:<9} {task.intent}")
    return 0


def _ls_browsergym(saves: Path, args: argparse.Namespace) -> int:
    """List BrowserGym's tasks. Their goals are known only when they begin."""
    from engine.web.browsergym.adapter import OPEN_ENDED, list_tasks

    names, broken = list_tasks(saves, os.environ)
    names = tuple(name for name in names if not args.site or name.startswith(f"{args.site}."))
    for sentence in broken.values():
        print(sentence, file=sys.stderr)
    if args.json:
        print(json.dumps([{"id": f"browsergym:{name}", "suite": "browsergym", "site": name.partition(".")[0]}
                          for name in names], indent=1))  # fmt: skip
        return 0
    for name in names:
        print(f"browsergym:{name}" + (" URL GOAL" if name == OPEN_ENDED else ""))
    return 0


def _say(text: str) -> None:
    note(f"{text} ...")
