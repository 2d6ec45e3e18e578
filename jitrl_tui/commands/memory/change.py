"""`jitrl memory export|import|merge|forget|correct|compact|recover`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.disk import printable
from engine.errors import UsageError
from engine.paths import slug
from jitrl_tui.commands.memory.text import find_scope, memory_at, open_memory, scope_name, size, with_noun
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from engine.memory import Memory


def export(args: argparse.Namespace) -> int:
    """Write episodes to a file that any program can read."""
    from engine.memory import exchange

    with open_memory(args) as memory:
        scopes = [find_scope(memory, name) for name in args.scope or memory.scopes()]
        if args.file in (None, "-"):
            exchange.export_episodes(sys.stdout, scopes)
            return 0
        target = Path(args.file)
        count, records = exchange.export_to(target, scopes)
    note(f"wrote {with_noun(count, 'episode')}{_and_kept(records)} to {printable(target)}")
    return 0


def take(args: argparse.Namespace) -> int:
    """Import the episodes of an exported file; return 1 if some were refused."""
    from engine.memory import exchange

    with open_memory(args) as memory:
        return _tell_taken(
            exchange.import_episodes(memory, args.file, args.name or args.file.stem, into=args.scope)
        )


def merge(args: argparse.Namespace) -> int:
    """Add the episodes and records of another memory."""
    from engine.memory import exchange
    from engine.settings.address import is_address

    with open_memory(args) as memory:
        if is_address(args.source):
            with memory_at(args.source, args) as other:
                return _tell_taken(exchange.merge(memory, exchange.source_of(other), name=args.name))
        return _tell_taken(exchange.merge_from(memory, Path(args.source), name=args.name))


def push(args: argparse.Namespace) -> int:
    """Store scopes of the memory on disk in a shared one, with all their numbers."""
    from engine.memory.shared import transfer
    from engine.settings.address import parsed_address

    parsed_address(args.address)
    with open_memory(args) as memory, memory_at(args.address, args) as shared:
        for name in [find_scope(memory, text).name for text in args.scope or memory.scopes()]:
            number = transfer.push(memory.scope(name), shared)  # type: ignore[arg-type]
            print(f"{name}: {with_noun(number, 'document')}")
    return 0


def pull(args: argparse.Namespace) -> int:
    """Store scopes of a shared memory on disk, with all their numbers; return 1 if something is damaged there."""
    from engine.memory.shared import transfer
    from engine.settings.address import parsed_address

    parsed_address(args.address)
    problems: list[str] = []
    with open_memory(args) as memory, memory_at(args.address, args) as shared:
        for name in [scope_name(shared, text) for text in args.scope or shared.scopes()]:
            number = transfer.pull(shared, name, memory, problems.append)  # type: ignore[arg-type]
            print(f"{name}: {with_noun(number, 'document')}")
    for problem in problems:
        print(f"jitrl: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _tell_taken(taken: Any) -> int:
    for problem in taken.problems[:20]:
        print(f"jitrl: {problem}", file=sys.stderr)
    if len(taken.problems) > 20:
        print(f"jitrl: ... and {len(taken.problems) - 20} more", file=sys.stderr)
    print(f"took {with_noun(taken.episodes, 'episode')} with {with_noun(taken.entries, 'entry', 'entries')}"
          f"{_and_kept(taken.kept)}; "
          f"{taken.known} known already, {len(taken.problems)} refused", file=sys.stderr)  # fmt: skip
    return 1 if taken.problems else 0


def _and_kept(number: int) -> str:
    """Return how many kept records go along, "" for none."""
    return f" and {with_noun(number, 'kept record')}" if number else ""


def forget(args: argparse.Namespace) -> int:
    """Remove episodes, entries or kept records, or restore those that were removed last."""
    from engine.memory import upkeep

    named = bool(args.episode or args.entry or args.kept)
    if args.undo and not (named or args.provenance):
        with open_memory(args) as memory:
            entries, records = upkeep.undo_last(memory)
        note(f"put back {with_noun(entries, 'entry', 'entries')}{_and_kept(records)}")
        return 0
    if args.undo or not (named or args.provenance):
        raise UsageError(
            "say what to forget: --episode N, --entry N, --kept N or --provenance P; or --undo alone"
        )
    if named and not args.scope:
        raise UsageError("--episode, --entry and --kept need a SCOPE; `jitrl memory ls` lists them")
    with open_memory(args) as memory:
        scopes = (
            [find_scope(memory, args.scope)] if args.scope else [memory.scope(n) for n in memory.scopes()]
        )
        plans = [(scope, upkeep.plan_forget(scope, episodes=set(args.episode), entries=set(args.entry),
                                            provenance=args.provenance, kept=set(args.kept)))
                 for scope in scopes]  # fmt: skip
        plans = [(scope, plan) for scope, plan in plans if plan.entries or plan.kept]
        if not plans:
            raise UsageError("nothing remembered fits that; nothing was forgotten")
        for _, plan in plans:
            print(f"{plan.scope}: {with_noun(len(plan.entries), 'entry', 'entries')}, among them "
                  f"{with_noun(len(plan.episodes), 'whole episode')}{_and_kept(len(plan.kept))}")  # fmt: skip
        if args.dry_run:
            note("nothing was forgotten: this was a dry run")
            return 0
        entries, records = upkeep.forget_all(memory, plans)
    print(
        f"forgot {with_noun(entries, 'entry', 'entries')}{_and_kept(records)}; `jitrl memory forget --undo` "
        "puts them back",
        file=sys.stderr,
    )
    return 0


def correct(args: argparse.Namespace) -> int:
    """Correct a step."""
    from dataclasses import replace

    from engine.memory.corrections import describe
    from engine.memory.search import Correction
    from engine.memory.upkeep import correct as store

    if not args.as_stored and args.g is None and args.points is None and args.pin is None:
        raise UsageError("say what to correct: --return G, --points P, --pin or --no-pin; or --as-stored")
    with open_memory(args) as memory:
        scope = find_scope(memory, args.scope)
        known = Correction() if args.as_stored else scope.corrections().get(args.entry, Correction())
        given = {"g": args.g, "gain": args.points, "pinned": args.pin}
        made = replace(known, **{name: value for name, value in given.items() if value is not None})
        store(scope, {args.entry: made})
    note(f"entry {args.entry} of {scope.name}: {describe(made)}")
    return 0


def compact(args: argparse.Namespace) -> int:
    """Rewrite the journals."""
    from engine.memory import upkeep

    with open_memory(args) as memory:
        for scope in (
            [find_scope(memory, args.scope)] if args.scope else [memory.scope(n) for n in memory.scopes()]
        ):
            aside = upkeep.set_aside(scope.folder)
            if not args.dry_run:
                before, after = upkeep.compact(scope, purge=args.purge)
                print(f"{scope.name}: {size(before)} -> {size(after)}")
            if aside and (args.purge or not args.dry_run):
                verb = (
                    ("would remove" if args.dry_run else "removed")
                    if args.purge
                    else "kept (--purge removes)"
                )
                print(f"{scope.name}: {verb} {', '.join(path.name for path in aside)}")
            elif args.dry_run:
                print(f"{scope.name}: would be written anew")
    return 0


def recover(args: argparse.Namespace) -> int:
    """Write the new journal, and say what was found and lost; 1 if something is lost."""
    from dataclasses import asdict

    from engine.memory.recover import recover as recover_journal

    if args.memory is not None:
        raise UsageError("there is no journal to recover of a shared memory: its replicas are read anew by themselves")
    found = recover_journal(_journal(open_memory(args), args.source), args.to)
    if args.json:
        print(json.dumps(asdict(found), indent=1))
        return 1 if found.lost or found.problems else 0
    others = f" and {with_noun(found.others, 'other document')}" if found.others else ""
    print(
        f"found    {with_noun(found.episodes, 'episode')} with {with_noun(found.entries, 'entry', 'entries')}, "
        f"{with_noun(found.kept, 'kept record')}{others} of {found.scope or 'a scope without a name'}"
    )
    if not found.header:
        print("new      the first line, which was damaged")
    lost = f"{found.lost:,} bytes in {with_noun(found.places, 'place')}" if found.lost else "nothing"
    print(f"lost     {lost}")
    for problem in found.problems:
        print(f"left out {problem}")
    print(f"written  {found.written}")
    print(f"The damaged file is {f'kept as {found.aside}' if found.aside else f'left as it is: {found.path}'}",
          file=sys.stderr)  # fmt: skip
    return 1 if found.lost or found.problems else 0


def _journal(memory: Memory, text: str) -> Path:
    """Return the journal that `text` names: a file, a folder with one, or a scope of this memory, readable or not."""
    from engine.memory.disk.files import JOURNAL

    path = Path(text)
    if path.exists():
        return path / JOURNAL if path.is_dir() else path
    folders = {name: slug(name) if error is None else name for name, error in memory.inspect()}
    fitting = [text] if text in folders else [name for name in folders if text in name]
    if len(fitting) != 1:
        what = "fits several scopes" if fitting else "is no file and no scope; there are"
        raise UsageError(f"{text!r} {what}: {', '.join(fitting or folders) or 'none'}")
    return memory.folder / folders[fitting[0]] / JOURNAL
