"""`jitrl doctor`: checks what is installed, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from engine.errors import JitrlError, MissingError
from engine.paths import cache_folder, saves_folder
from engine.records import ActionRequest, Notice
from engine.redaction import without_credentials
from engine.settings import Settings

if TYPE_CHECKING:
    from engine.llm.model import Model

ANEW = "install jitrl anew"
KEYS = ("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY")


@dataclass(frozen=True)
class Check:
    """The result of one check. `state` is ok, warn (not required) or fail."""

    name: str
    state: str
    found: str
    mend: str = ""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("doctor", parents=[common], help="check this installation, or a model")
    parser.add_argument("--model", metavar="NAME",
                        help="check this model instead: key, price, and by small calls whether it answers, tells "
                             "log-probabilities, keeps to a JSON schema, and which agents it can carry")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="an object on stdout")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print the checks; return 3 if something needed is missing."""
    everything = (
        _python, _system, _packages, _compiler, _config, _saves, _games, _confined, _models, _embedding, _keys,
        _own_server, web, _gymnasium, _terminal,
    )  # fmt: skip
    looks = everything if args.model is None else (_one_model,)
    checks = [check for look in looks for check in _safely(look, args)]
    return show(checks, args.json)


def show(checks: Sequence[Check], as_json: bool) -> int:
    """Print checks; return 3 if something needed is missing."""
    failed = any(check.state == "fail" for check in checks)
    if as_json:
        print(json.dumps({"ok": not failed, "checks": [asdict(check) for check in checks]}, indent=1))
    else:
        wide = max(len(check.name) for check in checks) + 2
        for check in checks:
            print(f"{check.state:<5}{check.name:<{wide}}{check.found}")
            if check.mend and check.state != "ok":
                print(f"{'':<{5 + wide}}-> {check.mend}")
    return 3 if failed else 0


def _safely(
    look: Callable[[argparse.Namespace], Iterator[Check]], args: argparse.Namespace
) -> Iterator[Check]:
    try:
        yield from look(args)
    except Exception as error:  # an error in a check must not stop the others
        yield Check(look.__name__.strip("_"), "fail", f"{type(error).__name__}: {error}")


def _python(_: argparse.Namespace) -> Iterator[Check]:
    found = f"{sys.version.split()[0]} on {sys.platform}"
    yield Check("python", "ok" if sys.version_info >= (3, 11) else "fail", found, "use Python 3.11 or newer")


def _system(_: argparse.Namespace) -> Iterator[Check]:
    from engine.system import missing

    lacks = "; ".join(missing())
    yield Check("system", "warn" if lacks else "ok", lacks or "limits and tells of processes as jitrl needs it",
                "play only stories and pages that you trust, or use Linux (on Windows: WSL)")  # fmt: skip


def _embedding(_: argparse.Namespace) -> Iterator[Check]:
    from engine.memory.embeddings.embedding import open_embedder

    try:
        open_embedder()
        yield Check("embeddings", "ok", "wordllama, for --profile paper")
    except MissingError as error:
        yield Check("embeddings", "warn", "retrieval is by Jaccard similarity", str(error))


def _packages(_: argparse.Namespace) -> Iterator[Check]:
    from importlib.metadata import PackageNotFoundError, version

    for name in ("textual", "prompt-toolkit", "jericho", "litellm", "numpy", "tinydb", "xllamacpp"):
        try:
            found = version(name)
        except PackageNotFoundError:
            yield Check(name, "fail", "not installed", "jitrl up play" if name == "jericho" else ANEW)
            continue
        bad = name == "litellm" and found.startswith("1.107.")
        yield Check(name, "fail" if bad else "ok", found,
                    f"1.107 was reported compromised: {ANEW}" if bad else "")  # fmt: skip


def _compiler(_: argparse.Namespace) -> Iterator[Check]:
    gcc = shutil.which("gcc") or shutil.which("cc")
    yield Check("compiler", "ok" if gcc else "warn", gcc or "none",
                "only needed to compile Jericho again: apt install gcc make")  # fmt: skip


def _config(args: argparse.Namespace) -> Iterator[Check]:
    made = args.preferences
    there = "" if made.config.file.is_file() else " (none: the defaults hold)"
    yield Check("config", "ok", f"{made.config.file}{there}")
    for problem in made.problems:
        yield Check("config", "fail", problem, "see: jitrl config show")


def _saves(args: argparse.Namespace) -> Iterator[Check]:
    folder = saves_folder(args.saves)
    free = shutil.disk_usage(folder).free / 2**20
    writable = os.access(folder, os.W_OK)
    yield Check("saves", "ok" if writable else "fail", f"{folder} ({free:,.0f} MB free)",
                f"make {folder} writable, or choose another with --saves DIR")  # fmt: skip
    from jitrl_tui.system import logs

    file = logs.file_in(folder)
    size = f" ({file.stat().st_size / 2**10:,.0f} kB)" if file.is_file() else " (nothing was written yet)"
    yield Check("log", "ok", f"{file}{size}")
    if free < 100:
        yield Check("disk", "warn", f"{free:.0f} MB free", "a long session writes some tens of MB")


def _games(args: argparse.Namespace) -> Iterator[Check]:
    from engine.games.catalogue import list_games

    stories = list_games(games=args.games, saves=saves_folder(args.saves))
    shipped = [s.name for s in stories if s.shipped]
    others = [s.name for s in stories if not s.shipped]
    yield Check("games", "ok" if shipped else "fail", ", ".join(shipped) or "none shipped", "reinstall jitrl")
    yield Check("more games", "ok" if others else "warn", ", ".join(others) or "none",
                "jitrl games fetch zork1 zork3, or --games DIR with stories of yours")  # fmt: skip


def _confined(_: argparse.Namespace) -> Iterator[Check]:
    from engine.games.catalogue import open_game, shipped_stories

    for story in shipped_stories()[:1]:
        game = open_game(story.name)
        game.close()
        if game.confined is not None:
            yield Check("story process", "ok" if game.confined.complete else "warn", str(game.confined),
                        "play only stories that you trust, or use Linux 5.13 or newer with Landlock")  # fmt: skip


def _models(args: argparse.Namespace) -> Iterator[Check]:
    from engine.llm.local import llamacpp, weights

    try:
        llamacpp.library()
    except (JitrlError, llamacpp.Unsupported) as error:
        yield Check("local runtime", "fail", "no local model runs", str(error))
    cache = cache_folder(saves_folder(args.saves))
    for name, known in weights.KNOWN.items():
        needed = name == "local/smollm2"
        if not weights.is_installed(name, cache):
            yield Check(name, "fail" if needed else "warn", "not installed",
                        f"{'' if needed else 'a stronger model, if you want it: '}{known.install}")  # fmt: skip
            continue
        try:
            if known.parts == 0:
                weights.verify(name, weights.find(name, cache))
        except JitrlError as error:
            yield Check(name, "fail", "damaged", str(error))
            continue
        yield Check(name, "ok", f"{known.size / 2**20:,.0f} MB")


def _keys(_: argparse.Namespace) -> Iterator[Check]:
    named = [key for key in KEYS if os.environ.get(key)]
    yield Check("API keys", "ok", ", ".join(named) or "none set; none is needed for local/smollm2")


def _own_server(_: argparse.Namespace) -> Iterator[Check]:
    from engine.llm.calls.client_factory import address
    from engine.llm.calls.server_models import list_models

    base = address("openai/", os.environ)
    shown = without_credentials(base)
    if not base:
        yield Check("own server", "ok", "none set (JITRL_API_BASE); none is needed for local/smollm2")
        return
    try:
        names = list_models(base, key=os.environ.get("OPENAI_API_KEY", ""))
    except (OSError, ValueError) as error:
        yield Check("own server", "warn", f"{shown}: {without_credentials(str(error))}",
                    "start it, or mend JITRL_API_BASE; it ends in /v1 as a rule")  # fmt: skip
        return
    yield Check("own server", "ok", f"{shown} has {', '.join(names[:5]) or 'no models'}")


def _one_model(args: argparse.Namespace) -> Iterator[Check]:
    """Check what a session with this model needs."""
    name = args.model
    if name.startswith(("local/", "local:", "prior/")) or "+" in name:
        yield Check("key", "ok", "none is needed")
        yield from _opened(args, name, [])
        return
    from engine.llm.calls import inquiry, probes

    known = inquiry.look_up_model(name)
    if not known.provider:
        yield Check("name", "fail", f"litellm knows no provider for {name!r}",
                    "write it as provider/model, such as gemini/gemini-2.5-flash, or openai/NAME for a server of "
                    "your own (JITRL_API_BASE=http://...)")  # fmt: skip
        return
    yield Check("name", "ok", f"{name} (provider {known.provider}"
                f"{f' at {known.address}' if known.address else ''})")  # fmt: skip
    if known.key:
        yield Check("key", "ok" if known.key_set else "fail",
                    f"{known.key} is {'set' if known.key_set else 'not set'}", f"export {known.key}=...")  # fmt: skip
    else:
        yield Check("key", "ok", "none is needed")
    if known.usd_in is None or known.usd_out is None:
        yield Check("price", "warn", "not known", "a budget in dollars cannot be kept; use "
                    "--set budget_tokens=... instead")  # fmt: skip
    else:
        yield Check("price", "ok", f"${known.usd_in:g} in, ${known.usd_out:g} out a million tokens")
    if known.key and not known.key_set:
        yield Check("answer", "fail", "not asked: there is no key", f"export {known.key}=...")
        return
    sentences: list[str] = []
    found = probes.probe(name, cache_folder(saves_folder(args.saves)), sentences.append)
    if found.trouble:
        yield Check("answer", "fail", "none came", found.trouble)
        return
    cost = ", cost unknown" if found.cost_usd is None else f", ${found.cost_usd:.6f}" if found.cost_usd else ""
    yield Check("answer", "ok", f"in {found.seconds:.2f} s ({found.tokens} tokens for this check{cost})")
    yield Check("logprobs", "ok" if found.logprobs else "warn",
                f"of {found.logprobs} tokens" if found.logprobs else "none",
                "its confidences in words are used; nothing to do")  # fmt: skip
    yield Check("JSON schema", "ok" if found.schema else "warn", "kept" if found.schema else "not kept",
                "it is asked in words and its answers are mended; nothing to do")  # fmt: skip
    yield from _opened(args, name, sentences)


def _opened(args: argparse.Namespace, name: str, sentences: list[str]) -> Iterator[Check]:
    """Open a model and let it choose once, as in a session.

    Args:
        args: The arguments of the command.
        name: Name of the model.
        sentences: What is known of its server.
    """
    import time

    import numpy as np

    from engine.llm import open_model

    started = time.perf_counter()
    try:
        model = open_model(name, settings=Settings(), cache=cache_folder(saves_folder(args.saves)), keep=False)
    except JitrlError as error:
        yield Check("model", "fail", name, str(error))
        return
    model.on_event(lambda event: sentences.append(event.message) if isinstance(event, Notice) else None)
    try:
        yield Check("model", "ok", f"{name}, open after {time.perf_counter() - started:.2f} s")
        request = ActionRequest("", "", "", "Cellar\nA ladder leads up.", ("up", "wait", "sing"), 3)
        started = time.perf_counter()
        proposal = model.propose(request, np.random.default_rng(1))
        took = f"in {time.perf_counter() - started:.2f} s"
        reading = f" by {model.reading}" if model.reading else ""
        rated = {c.z for c in proposal.candidates}
        alike = ", all rated alike" if model.reading and len(rated) == 1 < len(proposal.candidates) else ""
        yield Check("choice", ("warn" if alike else "ok") if rated else "fail",
                    f"{len(proposal.candidates)} options{reading}{alike}, {took}",
                    "without memory, its choices are left to chance" if alike else proposal.note)  # fmt: skip
        for sentence in dict.fromkeys(sentences):
            yield Check("server", "ok", sentence)
        methods, writes = _methods(args, model)
        yield methods
        if writes:
            yield from _repeating(model)
    except JitrlError as error:
        yield Check("choice", "fail", "none came", str(error))
    finally:
        model.close()
    yield _measured(args, name)


def _methods(args: argparse.Namespace, model: Model) -> tuple[Check, bool]:
    """Say which agents can play games with this model, and whether it passed the test of writing.

    A model of this process is not tested: it would write for minutes.
    """
    from engine.agents import AGENTS
    from engine.games.kind import GAMES
    from engine.llm.model import runs_in_process
    from engine.session.replaced_settings import WRITING, why_no_writer

    if runs_in_process(model):
        problem = f"{model.name} is small; a session with one of them tests first whether it can write"
    else:
        problem = why_no_writer(model, WRITING, cache_folder(saves_folder(args.saves)), GAMES)
    methods = [method for method in AGENTS.all().values() if method.asks_model]
    able = ", ".join(method.name for method in methods if not (problem and method.writes))
    others = ", ".join(method.name for method in methods if problem and method.writes)
    return Check("agents", "warn" if others else "ok", able, f"without {others}: {problem}"), not problem


def _repeating(model: Model) -> Iterator[Check]:
    """Say whether the model writes the same twice of the same game: otherwise memory does not know states again."""
    from engine.games.kind import GAMES
    from engine.llm.reading import writer_check

    for name, what in (("state", "states"), ("history", "histories")):
        found = writer_check.ask_repeatedly(model, GAMES.tests()[name], Settings().summary_temperature)
        if found.similarity is None:
            result = f"{found.usable} of {found.asked} answers usable"
        else:
            result = "the same when asked twice" if found.same else f"asked twice, similarity {found.similarity:.2f}"
        yield Check(what, "ok" if found.same else "warn", result,
                    f"memory may not know a situation again; a run tells how many decisions had neighbours, and with "
                    f"--set {name}=rules the {what} repeat")  # fmt: skip


def _measured(args: argparse.Namespace, name: str) -> Check:
    from engine.llm.reading import capability

    own = [c for c in capability.load(cache_folder(saves_folder(args.saves))) if c.model == name]
    if not own:
        return Check("choosing", "warn", "not measured yet", f"jitrl models test {name}")
    best = min(own, key=lambda c: (c.rank, c.seconds))
    return Check(
        "choosing", "ok", f"mean rank {best.rank:.2f} by {best.reading} (by chance {best.chance:.2f})"
    )


def web(args: argparse.Namespace) -> Iterator[Check]:
    """Check what web tasks need."""
    from importlib.metadata import PackageNotFoundError, version

    from engine.web.browser.chromium import VARIABLE, find_browser, why_no_sandbox
    from engine.web.sites.manager import Sites
    from engine.web.sites.miniwob import pages_folder
    from engine.web.tasks import suites as tasks
    from engine.web.tasks.verdict import verified_python

    saves = saves_folder(args.saves)
    try:
        yield Check("playwright", "ok", version("playwright"))
    except PackageNotFoundError:
        yield Check(
            "playwright", "warn", "not installed", "for web tasks: jitrl up web"
        )
    browser = find_browser()
    yield Check("browser", "ok" if browser else "warn", browser or "none",
                f"for web tasks: apt install chromium, or {VARIABLE}=/path/to/chromium")  # fmt: skip
    if browser:
        why = why_no_sandbox(browser)
        yield Check("browser sandbox", "warn" if why else "ok", f"off: {why}" if why else "on",
                    "run jitrl as a user other than root who may make user namespaces")  # fmt: skip
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
    from engine.web.browsergym.adapter import find_python

    gym = find_python(saves, os.environ)
    yield Check(
        "BrowserGym", "ok", str(gym) if gym else "not installed; only browsergym:TASK needs it, and says how"
    )


def _gymnasium(_: argparse.Namespace) -> Iterator[Check]:
    import importlib.util

    from engine.gym.environment import PYTHON

    named = os.environ.get(PYTHON)
    here = "here" if importlib.util.find_spec("gymnasium") else "not installed"
    yield Check("Gymnasium", "ok", f"{PYTHON}={named}" if named else f"{here}; only gym:PACKAGE/ENV needs it")


def _terminal(_: argparse.Namespace) -> Iterator[Check]:
    size = shutil.get_terminal_size()
    small = sys.stdout.isatty() and (size.columns < 80 or size.lines < 24)
    found = f"{size.columns}x{size.lines}, TERM={os.environ.get('TERM', '')}"
    yield Check("terminal", "warn" if small else "ok", found,
                "80x24 or larger shows more; `jitrl play GAME --plain` needs no screen")  # fmt: skip
    if sys.stdout.isatty() and sys.stdin.isatty():
        from jitrl_tui.pictures.terminal import VARIABLE, detect

        names = {"kitty": "real ones, by kitty's graphics", "sixel": "real ones, by sixel",
                 "iterm": "real ones, by iTerm2's way"}  # fmt: skip
        found = names.get(
            detect(os.environ).protocol, f"half-blocks ({VARIABLE}=kitty, sixel or iterm insists)"
        )
        yield Check("pictures", "ok", f"of web pages: {found}")
