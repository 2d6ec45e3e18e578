"""Functions shared by the actions of `jitrl memory`: finding scopes, and texts for people."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadFile, UsageError
from engine.paths import saves_folder, slug

if TYPE_CHECKING:
    from engine.memory import Memory
    from engine.memory.scope import Scope


def open_memory(args: argparse.Namespace) -> Memory:
    """Return the memory that the options name. Repairs are reported on stderr."""
    named = getattr(args, "memory", None)
    return memory_at(saves_folder(args.saves) / "memory" if named is None else named, args)


def memory_at(where: str | Path, args: argparse.Namespace) -> Memory:
    """Return the memory in a folder, or at an address, which is a text."""
    from engine import trust
    from engine.environments import scope_rules
    from engine.memory.memory_factory import open_memory as opened
    from engine.settings.address import database

    if isinstance(where, str):
        trust.confirm(database(where))
    return opened(
        where, saves_folder(args.saves), follow=False,
        notice=lambda text: print(f"jitrl: {text}", file=sys.stderr), rules=scope_rules,
    )  # fmt: skip


def scope_name(memory: Memory, text: str) -> str:
    """Return the name of the only scope that equals or contains `text`."""
    names = memory.scopes()
    fitting = [text] if text in names else [name for name in names if text in name]
    if len(fitting) == 1:
        return fitting[0]
    broken = [error for folder, error in memory.inspect() if error is not None and text in folder]
    if broken and not fitting:
        raise BadFile(broken[0])
    listed = ", ".join(fitting or names) or "none yet"
    raise UsageError(
        f"{text!r} fits several scopes: {listed}"
        if fitting
        else f"there is no scope {text!r}; there are: {listed}"
    )


def find_scope(memory: Memory, text: str) -> Scope:
    """Return that scope, opened."""
    return memory.scope(scope_name(memory, text))


def scope_journal(memory: Memory, text: str) -> Path:
    """Return the journal of that scope, unopened."""
    from engine.memory.disk.files import JOURNAL

    return memory.folder / slug(scope_name(memory, text)) / JOURNAL


def episode_row(first: int, episode: Any) -> dict[str, Any]:
    """Return what a list of episodes says about one."""
    names = ("number", "uid", "agent", "model", "seed", "session", "score", "max_score",
             "terminated", "truncated", "outcome", "started")  # fmt: skip
    fields = {name: getattr(episode, name) for name in names}
    return {**fields, "steps": len(episode.steps), "first_entry": first}


def print_hit(hit: Any, *, full: bool) -> None:
    """Print a remembered step, in one or two lines or in full."""
    print(
        f"entry {hit.entry}  episode {hit.episode} step {hit.step}  {hit.action!r}  G {hit.g:+.3g}  "
        f"r {hit.reward:+.3g}  {hit.provenance}  {hit.scope}"
    )
    if full:
        print(f"  state   {hit.state}\n  history {hit.history}\n  next    {hit.next_state}")
    else:
        print(f"  {hit.state if len(hit.state) <= 150 else hit.state[:147] + '...'}")


def kept_row(hit: Any) -> dict[str, Any]:
    """Return what lists of kept records say about one, as JSON has it."""
    from engine.codec import to_plain

    return {"kept": hit.kept, **to_plain(hit.record)}


def print_kept(hit: Any, *, full: bool) -> None:
    """Print a kept record: where it comes from and how it begins, or all of it."""
    one = hit.record
    origin = f"episode {one.episode} of {one.session}" if one.session else "no session"
    print(f"kept {hit.kept}  {one.kind}  {one.agent} with {one.model}  {origin}  {one.provenance}  {hit.scope}")
    text = one.text if full else " ".join(one.text.split())
    print("\n".join(f"  {line}" for line in (text if full or len(text) <= 150 else text[:147] + "...").splitlines()))
    if full and one.data:
        print(f"  data    {json.dumps(one.data, ensure_ascii=False)}")


def with_noun(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def points(score: float | None, top: float | None) -> str:
    """Return a score, and what it is out of."""
    return "-" if score is None else f"{score:g}" + (f"/{top:g}" if top is not None else "")


def size(number: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def value_text(key: str, value: Any) -> str:
    """Return a value of the statistics for people."""
    if isinstance(value, dict):
        return ", ".join(f"{name or '(none)'} {count}" for name, count in value.items()) or "-"
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "-"
    if key.endswith("bytes"):
        return size(value)
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
