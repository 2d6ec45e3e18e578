"""`jitrl memory recover`: a new journal out of a damaged one."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError
from engine.paths import slug
from jitrl_tui.commands.memory.text import counted, open_memory

if TYPE_CHECKING:
    from engine.memory import Memory


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
    others = f" and {counted(found.others, 'other document')}" if found.others else ""
    print(
        f"found    {counted(found.episodes, 'episode')} with {counted(found.entries, 'entry', 'entries')}, "
        f"{counted(found.kept, 'kept record')}{others} of {found.scope or 'a scope without a name'}"
    )
    if not found.header:
        print("new      the first line, which was damaged")
    lost = f"{found.lost:,} bytes in {counted(found.places, 'place')}" if found.lost else "nothing"
    print(f"lost     {lost}")
    for problem in found.problems:
        print(f"left out {problem}")
    print(f"written  {found.written}")
    print(f"The damaged file is {f'kept as {found.aside}' if found.aside else f'left as it is: {found.path}'}",
          file=sys.stderr)  # fmt: skip
    return 1 if found.lost or found.problems else 0


def _journal(memory: Memory, text: str) -> Path:
    """Return the journal that `text` names: a file, a folder with one, or a scope of this memory, readable or not."""
    from engine.memory.scope import JOURNAL

    path = Path(text)
    if path.exists():
        return path / JOURNAL if path.is_dir() else path
    folders = {name: slug(name) if error is None else name for name, error in memory.inspect()}
    fitting = [text] if text in folders else [name for name in folders if text in name]
    if len(fitting) != 1:
        what = "fits several scopes" if fitting else "is no file and no scope; there are"
        raise UsageError(f"{text!r} {what}: {', '.join(fitting or folders) or 'none'}")
    return memory.folder / folders[fitting[0]] / JOURNAL
