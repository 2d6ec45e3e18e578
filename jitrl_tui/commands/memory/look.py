"""`jitrl memory ls|stats|show|search|browse|verify|diff`, which do not change a memory by themselves."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadFile, UsageError
from engine.paths import saves_folder
from jitrl_tui.commands.memory.text import (
    episode_row,
    find_scope,
    kept_row,
    memory_at,
    open_memory,
    points,
    print_hit,
    print_kept,
    scope_journal,
    scope_name,
    size,
    value_text,
    with_noun,
)
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from engine.memory import Memory
    from engine.memory.scope import Scope


def ls(args: argparse.Namespace) -> int:
    """List the scopes; 1 if one cannot be read."""
    from engine.memory import report

    with open_memory(args) as memory:
        items, broken = _of_each(memory, report.summary)
    if args.json:
        print(json.dumps(items, indent=1))
    elif not items and not broken:
        print(f"nothing is remembered yet in {memory.place}", file=sys.stderr)
    for item in [] if args.json else items:
        print(
            f"{item['scope']:<36} {with_noun(item['episodes'], 'episode'):>14} "
            f"{with_noun(item['entries'], 'entry', 'entries'):>15}   "
            f"best {points(item['best_score'], item['max_score']):<9} {size(item['bytes']):>9}"
            + (f"   {item['kept']} kept" if item["kept"] else "")
        )
    return _report_unread(broken)


def _of_each(
    memory: Memory, ask: Callable[[Scope], dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return what is asked of each scope, and (name, what is wrong) of those that cannot be read."""
    found: list[dict[str, Any]] = []
    broken: list[tuple[str, str]] = []
    for name, error in memory.inspect():
        try:
            if error is None:
                found.append(ask(memory.scope(name)))
            else:
                broken.append((name, error))
        except BadFile as damage:
            broken.append((name, str(damage)))
    return found, broken


def _report_unread(broken: Sequence[tuple[str, str]]) -> int:
    """Tell what cannot be read; return the exit code."""
    for name, error in broken:
        print(f"jitrl: {name}: {error}", file=sys.stderr)
    return 1 if broken else 0


def stats(args: argparse.Namespace) -> int:
    """Count everything."""
    from engine.memory import report

    with open_memory(args) as memory:
        if args.scope:
            items, broken = [report.statistics(find_scope(memory, args.scope))], list[tuple[str, str]]()
        else:
            items, broken = _of_each(memory, report.statistics)
    if args.json:
        print(json.dumps(items, indent=1))
    for item in [] if args.json else items:
        print(f"{item.pop('scope')}")
        for key, value in item.items():
            print(f"  {key.replace('_', ' '):<16} {value_text(key, value)}")
    return _report_unread(broken)


def show(args: argparse.Namespace) -> int:
    """Show episodes, an entry, or kept records."""
    from dataclasses import asdict

    from engine.codec import to_plain
    from engine.memory import report

    wanted = args.number if args.episode is None else args.episode
    with open_memory(args) as memory:
        scope = find_scope(memory, args.scope)
        if args.kept is not None:
            return _show_kept(report.find_kept(scope), args)
        episodes = list(scope.entered())
        if wanted is not None:
            episodes = [pair for pair in episodes if wanted in (str(pair[1].number), pair[1].uid)]
            if not episodes:
                raise UsageError(f"there is no episode {wanted} in {scope.name}")
        if args.entry is None and wanted is None:
            rows = [episode_row(first, episode) for first, episode in episodes]
            if args.json:
                print(json.dumps(rows, indent=1))
            for row in [] if args.json else rows:
                print(
                    f"{row['number']:>5}  {points(row['score'], row['max_score']):<9} {row['steps']:>4} steps  "
                    f"entries {row['first_entry']:>7} on  {row['agent']:<9} {row['model']:<22} {row['uid']}"
                )
            for found in [] if args.json else report.find_kept(scope):
                print_kept(found, full=False)
            return 0
        hits = [hit for first, one in episodes for hit in report.hits_of(scope.name, one, first, args.gamma)]
        if args.entry is not None:
            hits = [hit for hit in hits if hit.entry == args.entry]
            if not hits:
                raise UsageError(f"there is no entry {args.entry} in {scope.name}")
    if args.json:
        whole = args.entry is None
        print(
            json.dumps(
                [to_plain(one) for _, one in episodes] if whole else [asdict(hit) for hit in hits], indent=1
            )
        )
        return 0
    for hit in hits:
        print_hit(hit, full=args.entry is not None)
    return 0


def _show_kept(found: list[Any], args: argparse.Namespace) -> int:
    """Show one kept record, or all of them."""
    chosen = [hit for hit in found if args.kept in ("all", str(hit.kept), hit.record.uid)]
    if not chosen and args.kept != "all":
        raise UsageError(f"there is no kept record {args.kept} here; `jitrl memory show SCOPE` lists them")
    if args.json:
        print(json.dumps([kept_row(hit) for hit in chosen], indent=1))
    for hit in [] if args.json else chosen:
        print_kept(hit, full=True)
    return 0


def search(args: argparse.Namespace) -> int:
    """Find steps and kept records by words."""
    from dataclasses import asdict
    from itertools import chain, islice

    from engine.memory import report

    with open_memory(args) as memory:
        scopes = (
            [find_scope(memory, args.scope)] if args.scope else [memory.scope(n) for n in memory.scopes()]
        )
        found = chain.from_iterable(report.search(scope, args.words, gamma=args.gamma) for scope in scopes)
        records = chain.from_iterable(report.find_kept(scope, args.words) for scope in scopes)
        hits = list(islice(chain(found, records), max(args.limit, 0) + 1))

    def row(hit: Any) -> dict[str, Any]:
        return kept_row(hit) if isinstance(hit, report.KeptHit) else asdict(hit)

    if args.json:
        print(json.dumps([row(hit) for hit in hits[: args.limit]], indent=1))
        return 0
    for hit in hits[: args.limit]:
        (print_kept if isinstance(hit, report.KeptHit) else print_hit)(hit, full=False)
    if len(hits) > args.limit:
        note(f"... more than {args.limit}; --limit N shows more")
    elif not hits:
        print("nothing remembered holds all of that", file=sys.stderr)
    return 0


def browse(args: argparse.Namespace) -> int:
    """Open the memory screen."""
    from jitrl_tui.plain.terminal import wants_plain

    if wants_plain():
        raise UsageError("the memory screen needs a terminal; `jitrl memory search` and `show` print what there is")
    with open_memory(args) as memory:
        scope = find_scope(memory, args.scope).name if args.scope else ""
        if not memory.scopes():
            raise UsageError(f"nothing is remembered yet in {memory.folder}")
        from jitrl_tui.app import run_app
        from jitrl_tui.screens.memory import MemoryScreen

        saves = saves_folder(args.saves)
        return run_app(lambda: MemoryScreen(memory, scope, saves, gamma=args.gamma), saves=saves)


def verify(args: argparse.Namespace) -> int:
    """Check all bytes; return 1 if something is lost."""
    from dataclasses import asdict

    from engine.memory import upkeep

    checked: list[upkeep.Verification] = []
    broken: list[dict[str, Any]] = []
    with open_memory(args) as memory:
        if args.memory is not None:
            names = [scope_name(memory, args.scope)] if args.scope else memory.scopes()
            checked = [memory.scope(name).verify() for name in names]  # type: ignore[attr-defined]
        else:
            journals = memory.folder.glob("*/episodes.jnl")
            for path in [scope_journal(memory, args.scope)] if args.scope else sorted(journals):
                try:
                    checked.append(upkeep.verify(path))
                except BadFile as error:
                    broken.append({"path": str(path), "sound": False, "problems": [str(error)]})
    if args.json:
        print(json.dumps([{**asdict(one), "sound": one.sound} for one in checked] + broken, indent=1))
    for one in [] if args.json else checked:
        state = "sound" if one.sound else "DAMAGED"
        print(
            f"{state:<8}{with_noun(one.episodes, 'episode')}, {with_noun(one.entries, 'entry', 'entries')}"
            f"{f', {one.kept} kept' if one.kept else ''}  {one.path}"
        )
        for problem in one.problems:
            print(f"        {problem}")
    for item in [] if args.json else broken:
        print(f"BROKEN  {item['problems'][0]}")
    return 0 if all(one.sound for one in checked) and not broken else 1


def diff(args: argparse.Namespace) -> int:
    """Compare two memories; return 1 if they differ."""
    import contextlib

    from engine.memory import exchange
    from engine.settings.address import is_address

    with contextlib.ExitStack() as stack:
        memory = stack.enter_context(open_memory(args))

        def source(text: str) -> exchange.EpisodeSource:
            if is_address(text):
                return exchange.source_of(stack.enter_context(memory_at(text, args)))
            if args.memory is not None and not Path(text).exists():
                return exchange.source_of(memory, [scope_name(memory, text)])
            return exchange.open_source(Path(text) if Path(text).exists() else scope_journal(memory, text))

        return _tell_differences(args, source(args.a), source(args.b))


def _tell_differences(args: argparse.Namespace, a: Any, b: Any) -> int:
    from dataclasses import asdict

    from engine.memory import exchange
    from jitrl_tui.runs import memories

    if len(a.scopes) == len(b.scopes) == 1:  # two scopes are compared whatever their names
        name = next(iter(a.scopes))
        b = exchange.EpisodeSource(b.name, {name: next(iter(b.scopes.values()))})
    found = exchange.compare(a, b, lambda text: print(f"jitrl: {text}", file=sys.stderr))
    if args.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    for one in [] if args.json else found:
        head, *values = memories.differences(one, "in A", "in B")
        print(head)
        for sign, side in (("<", one.only_a), (">", one.only_b)):
            for uid, number, steps, score in side:
                print(f"  {sign} episode {number}: {score:g} in {steps} steps  {uid}")
        for uid in one.changed:
            print(f"  ! {uid}")
        for line in values:
            print(line)
    return 1 if any(one.only_a or one.only_b or one.changed for one in found) else 0
