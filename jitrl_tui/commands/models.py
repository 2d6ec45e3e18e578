"""`jitrl models`: which models can be had, and how good they are at choosing."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.llm.capability import Capability

READINGS = ("string", "token", "verbalized")


PRIORS = {
    "prior/uniform": "no model: all actions alike",
    "prior/verbs": "no model: a small table of verbs says what to try",
}


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("models", parents=[common], help="list and test language models")
    commands = parser.add_subparsers(metavar="ACTION", title="actions")
    listing = commands.add_parser("ls", parents=[common], help="list the models of this machine")
    listing.add_argument("--json", action="store_true", help="a list on stdout")
    listing.set_defaults(handler=_ls)
    test = commands.add_parser(
        "test", parents=[common], help="let a model choose in 24 states; decides how it is read from then on"
    )
    test.add_argument("model", help="local/smollm2, or any name of litellm's")
    test.add_argument("--reading", choices=READINGS, help="only this way of reading it")
    test.add_argument("--seed", type=int, default=1, help="for the order of the actions (%(default)s)")
    test.add_argument("--json", action="store_true", help="a list on stdout")
    test.set_defaults(handler=_test)
    info = commands.add_parser("info", parents=[common], help="tell what is known of a model")
    info.add_argument("model")
    info.add_argument("--json", action="store_true", help="an object on stdout")
    info.set_defaults(handler=_info)
    add = commands.add_parser("add", parents=[common], help="put a model together from its installed parts")
    add.add_argument("model", help="such as local/qwen2.5-coder-1.5b")
    add.set_defaults(handler=_add)
    parser.set_defaults(handler=_ls, json=False)


def _cache(args: argparse.Namespace) -> Path:
    from engine.paths import saves_folder

    return saves_folder(args.saves) / "cache"


def _ls(args: argparse.Namespace) -> int:
    from engine.llm import capability, weights

    cache = _cache(args)
    measured = capability.load(cache)
    items = [_item(known.name, cache, measured) for known in weights.KNOWN.values()]
    items += [_item(name, cache, measured) for name in PRIORS]
    items += [_item(name, cache, measured) for name in dict.fromkeys(c.model for c in measured)
              if name not in weights.KNOWN and name not in PRIORS]  # fmt: skip
    if args.json:
        print(json.dumps(items, indent=1))
        return 0
    print(f"{'model':<28} {'state':<10} {'size':>8}  {'top1':>5} {'top3':>5} {'rank':>5} {'s':>6}  read by")
    for item in items:
        size = f"{item['bytes'] / 2**20:.0f} MB" if item["bytes"] else ""
        state = "installed" if item["installed"] else "not here"
        best = item["best"]
        figures = (
            f"{best['top1']:>5.2f} {best['top3']:>5.2f} {best['rank']:>5.2f} {best['seconds']:>6.2f}  {best['reading']}"
            if best
            else ""
        )
        print(f"{item['name']:<28} {state:<10} {size:>8}  {figures}".rstrip())
    missing = [item for item in items if item["install"] and not item["installed"]]
    for item in missing:
        print(f"\nfor {item['name']}: {item['install']}")
    print(
        "\nany other name is litellm's, such as gemini/gemini-2.5-flash; `jitrl models test MODEL` measures one"
    )
    return 0


def _item(name: str, cache: Path, measured: list[Capability]) -> dict[str, Any]:
    from dataclasses import asdict

    from engine.llm import weights

    known = weights.KNOWN.get(name)
    own = sorted((c for c in measured if c.model == name), key=lambda c: (c.rank, c.seconds))
    return {
        "name": name,
        "title": known.title if known else PRIORS.get(name, name),
        "installed": weights.installed(name, cache) if known else True,
        "install": known.install if known else "",
        "bytes": known.size if known else 0,
        "licence": known.licence if known else "",
        "best": asdict(own[0]) if own else None,
        "measured": [asdict(c) for c in own],
    }


def _info(args: argparse.Namespace) -> int:
    from engine.errors import UsageError
    from engine.llm import capability, weights

    cache = _cache(args)
    if args.model.startswith("local/") and args.model not in weights.KNOWN:
        raise UsageError(f"there is no local model {args.model!r}; see: jitrl models ls")
    item = _item(args.model, cache, capability.load(cache))
    if args.json:
        print(json.dumps(item, indent=1))
        return 0
    for key in ("name", "title", "licence", "bytes", "installed", "install"):
        if item[key] not in ("", 0):
            print(f"{key:<10} {item[key]}")
    for measured in item["measured"]:
        _show(measured)
    if not item["measured"]:
        print(f"not measured yet: jitrl models test {args.model}")
    return 0


def _show(measured: dict[str, Any]) -> None:
    print(
        f"{measured['reading']:<11} top1 {measured['top1']:.2f}  top3 {measured['top3']:.2f}  "
        f"rank {measured['rank']:.2f} (by chance {measured['chance']:.2f})  "
        f"position bias {measured['position_bias']:.2f}  {measured['seconds']:.2f} s"
        + (f"  {measured['failed']} of {measured['states']} without an answer" if measured["failed"] else "")
    )


def _test(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    import numpy as np

    from engine.errors import ModelError, UsageError
    from engine.llm import capability, open_model
    from engine.settings import Settings

    local = args.model.startswith("local")
    if args.reading == "string" and not local:
        raise UsageError("only local models can be read by string")
    # In words a small local model takes half an hour and answers at chance: only when asked for.
    readings = (args.reading,) if args.reading else ("string", "token") if local else ("token", "verbalized")
    if args.model.startswith("prior/"):
        readings = ("string",)
    cache = _cache(args)
    results = []
    for reading in readings:
        model = open_model(args.model, settings=Settings(logits=reading), cache=None, on_progress=_say)
        try:
            result = capability.measure(
                model,
                reading,
                np.random.default_rng(args.seed),
                lambda done, of, reading=reading: _say(f"{reading} {done}/{of}"),
            )
        except ModelError as error:
            if len(readings) == 1 or error.fatal:
                raise
            _say(f"{reading}: {error}\n")
            continue
        finally:
            model.close()
        if getattr(model, "reading", reading) != reading:
            _say(f"{args.model} cannot be read by {reading}\n")
            continue
        capability.record(cache, result)
        results.append(asdict(result))
    _say("")
    if args.json:
        print(json.dumps(results, indent=1))
    else:
        for measured in results:
            _show(measured)
    return 0 if results else 1


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _add(args: argparse.Namespace) -> int:
    from engine.llm import weights

    path = weights.find(args.model, _cache(args), _say)
    _say("")
    print(path)
    return 0
