"""`jitrl memory`: shows memories, exports and imports them, and removes parts of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jitrl_tui.commands.memory import change as memory_change
from jitrl_tui.commands.memory import look as memory_look
from jitrl_tui.commands.options import MEMORY_HELP


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its actions."""
    parser = subparsers.add_parser(
        "memory", parents=[common], help="look at what was learnt, carry it elsewhere, forget some of it",
        description="What the agent has learnt, one scope for each game. SCOPE is a name from `jitrl memory ls` "
        "or any part of one that fits no other.",
    )  # fmt: skip
    where = argparse.ArgumentParser(add_help=False)
    for place in (parser, where):
        place.add_argument("--memory", metavar="ADDRESS", default=argparse.SUPPRESS, help=f"that on {MEMORY_HELP}")
    actions = parser.add_subparsers(metavar="ACTION")
    parser.set_defaults(handler=memory_look.ls, json=False, memory=None)

    def add(name: str, handler: Callable[[argparse.Namespace], int], text: str, *, data: bool = False) -> Any:
        action = actions.add_parser(
            name, parents=[common, where], help=text, description=text[:1].upper() + text[1:]
        )
        action.set_defaults(handler=handler)
        if data:
            action.add_argument("--json", action="store_true", help="data on stdout")
        return action

    add("ls", memory_look.ls, "list the scopes", data=True)
    stats = add("stats", memory_look.stats, "count everything in a scope, or in all", data=True)
    stats.add_argument("scope", nargs="?", metavar="SCOPE")
    show = add(
        "show", memory_look.show, "show the episodes and kept records of a scope, or one of them", data=True
    )
    show.add_argument("scope", metavar="SCOPE")
    show.add_argument("number", nargs="?", metavar="EPISODE", help="the same as --episode")
    show.add_argument("--episode", metavar="N", help="a number or uid")
    show.add_argument("--entry", metavar="N", type=int)
    show.add_argument("--kept", metavar="N", nargs="?", const="all",
                      help="what methods have kept besides episodes: a number or uid; all without one")  # fmt: skip
    show.add_argument("--gamma", type=float, default=0.5, help="discount of the returns shown (default: %(default)s)")
    search = add("search", memory_look.search, "find steps and kept records that hold all the words", data=True)
    search.add_argument("words", nargs="+", metavar="TEXT")
    search.add_argument("--scope", metavar="SCOPE")
    search.add_argument("--limit", type=int, default=20, metavar="N", help="hits at most (default: %(default)s)")
    search.add_argument(
        "--gamma", type=float, default=0.5, help="discount of the returns shown (default: %(default)s)"
    )
    verify = add(
        "verify", memory_look.verify, "read every byte, say what is damaged; changes nothing", data=True
    )
    verify.add_argument("scope", nargs="?", metavar="SCOPE")
    browse = add("browse", memory_look.browse, "open the memory screen: search, sort, edit, merge")
    browse.add_argument("scope", nargs="?", metavar="SCOPE")
    browse.add_argument("--gamma", type=float, default=0.5, help="discount of the returns shown (default: %(default)s)")
    _add_exchange(add)
    _add_upkeep(add)


def _add_exchange(add: Callable[..., Any]) -> None:
    export = add("export", memory_change.export, "write a memory to a plain file, one JSON object a line")
    export.add_argument("-o", "--output", dest="file", metavar="FILE", help="where it goes (default: stdout)")
    export.add_argument("file", nargs="?", default=argparse.SUPPRESS, metavar="FILE", help="the same as -o FILE")
    export.add_argument("--scope", metavar="SCOPE", action="append", help="only this one; repeatable")
    take = add("import", memory_change.take, "take what an exported file holds, marked as imported")
    take.add_argument("file", metavar="FILE", type=Path)
    take.add_argument("--as", dest="name", metavar="NAME", help="provenance imported:NAME (default: the file's name)")
    take.add_argument("--scope", metavar="NAME", help="put all of them into this scope")
    merge = add("merge", memory_change.merge, "take what another memory knows and this one does not")
    merge.add_argument("source", metavar="SOURCE", help="a saves folder, a memory, a journal, an export, or an address")
    merge.add_argument("--as", dest="name", metavar="NAME", help="mark what comes as imported:NAME")
    push = add("push", memory_change.push, "carry a memory on disk to a shared one that has no such scopes, unchanged")
    pull = add("pull", memory_change.pull, "carry a shared memory to the disk, unchanged")
    for carry in (push, pull):
        carry.add_argument("address", metavar="ADDRESS", help=MEMORY_HELP)
        carry.add_argument("--scope", metavar="SCOPE", action="append", help="only this one; repeatable")
    diff = add(
        "diff",
        memory_look.diff,
        "compare two memories, episode by episode; exit code 1 if they differ",
        data=True,
    )
    diff.add_argument("a", metavar="A", help="a saves folder, a memory, a journal, an export, or a scope")
    diff.add_argument("b", metavar="B", help="likewise")


def _add_upkeep(add: Callable[..., Any]) -> None:
    forget = add(
        "forget",
        memory_change.forget,
        "take episodes, entries or kept records out of memory; the last time can be undone",
    )
    forget.add_argument("scope", nargs="?", metavar="SCOPE", help="needed with --episode, --entry and --kept")
    forget.add_argument(
        "--episode", action="append", default=[], metavar="N", help="number or uid; repeatable"
    )
    forget.add_argument("--entry", action="append", default=[], type=int, metavar="N", help="repeatable")
    forget.add_argument(
        "--kept", action="append", default=[], metavar="N", help="number or uid of a kept record, or all; repeatable"
    )
    forget.add_argument("--provenance", metavar="P", help="agent, human or imported:NAME")
    forget.add_argument("--dry-run", action="store_true", help="only say what would go")
    forget.add_argument("--undo", action="store_true", help="put back what the last forget took out")
    correct = add(
        "correct", memory_change.correct, "give a step another return or other points, or pin it; the step itself stays"
    )
    correct.add_argument("scope", metavar="SCOPE")
    correct.add_argument("--entry", type=int, required=True, metavar="N")
    correct.add_argument("--return", type=float, dest="g", metavar="G", help="its return, in place of the computed one")
    correct.add_argument("--points", type=float, metavar="P", help="the points that plans expect of it")
    correct.add_argument("--pin", action=argparse.BooleanOptionalAction, default=None,
                         help="a neighbour of every state it is similar enough to, besides the k nearest")  # fmt: skip
    correct.add_argument("--as-stored", action="store_true", help="take all corrections of the step back")
    recover = add(
        "recover", memory_change.recover,
        "write a new journal with what is left in a damaged one, which is kept beside it", data=True,
    )  # fmt: skip
    recover.add_argument("source", metavar="FILE|SCOPE", help="a journal, its folder, or a scope")
    recover.add_argument("-o", "--output", dest="to", metavar="FILE", type=Path,
                         help="a new file for it; the damaged one then stays where it is")  # fmt: skip
    recover.add_argument("--to", dest="to", type=Path, help=argparse.SUPPRESS)  # as it was called before
    compact = add("compact", memory_change.compact, "write the journals anew, without damaged lines and leftovers")
    compact.add_argument("scope", nargs="?", metavar="SCOPE")
    compact.add_argument("--purge", action="store_true",
                         help="also remove what was set aside, and what forget --undo would put back")  # fmt: skip
    compact.add_argument("--dry-run", action="store_true", help="only say what would be done")
