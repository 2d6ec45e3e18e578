"""Compiles a story of the user's own from Inform 6 source, with the Inform 6 compiler that is installed.

A comment line `! Solution: COMMAND; COMMAND; ...` in the source is kept beside the story as its known solution.
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engine import children, waits
from engine.disk import read_bytes
from engine.errors import BadFile, FailingAs, MissingError, UsageError
from engine.games.catalogue import find_game, read_story, walkthrough_of
from engine.games.fetch import keep
from engine.games.story import Story

COMPILERS = ("inform6", "inform")
SECONDS = waits.STORY_COMPILE.seconds
"""Time for compiling. The largest stories take a few seconds."""
_VERSION = re.compile(r"^!%.*-v[3-8]", re.MULTILINE)
_SOLUTION = re.compile(r"^!\s*Solution:(.*)$", re.MULTILINE)
_ERROR = re.compile(r"^(.*?)\((\d+)\):\s*(?:Fatal )?[Ee]rror:\s*(.*)$", re.MULTILINE)
_NO_FILE = re.compile(r'open (?:source|include) file "([^"]+)"')
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A story that was compiled and added.

    Attributes:
        story: The story.
        solution: The commands of its known solution, () if the source has none.
    """

    story: Story
    solution: tuple[str, ...]


def compiler() -> str:
    """Return the path of the Inform 6 compiler.

    Raises:
        MissingError: None is on the PATH.
    """
    for name in COMPILERS:
        if found := children.program(name):
            return found
    raise MissingError(
        "the Inform 6 compiler is not installed; try: apt install inform6-compiler inform6-library, or get it from "
        "https://www.inform-fiction.org/inform6.html and put it on the PATH"
    )


def source_text(source: Path) -> str:
    """Return the text of a source: in UTF-8, as the compiler takes it with -Cu, or in Latin-1, as it does without.

    Raises:
        OSError: It cannot be read.
    """
    data = read_bytes(source)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def solution_in(source: str) -> tuple[str, ...]:
    """Return the commands of the line `! Solution: ...` of a source, () if there is none."""
    found = _SOLUTION.search(source)
    return tuple(filter(None, (part.strip() for part in found.group(1).split(";")))) if found else ()


def compile_story(source: Path, folder: Path, *, version: int | None = None, library: Path | None = None) -> Path:
    """Compile Inform 6 source and return the story file, NAME.zVERSION in `folder`.

    Args:
        source: The source, NAME.inf.
        folder: An existing folder.
        version: Version of the Z-machine. None for what the source says in a line `!% -v8`, or 5.
        library: Folder of the Inform 6 library, None for where the compiler looks for it.

    Raises:
        MissingError: There is no compiler, or no library.
        BadFile: The source cannot be read, or has errors; the first is told.
        GameError: The compiler takes too long.
    """
    program = compiler()
    with FailingAs(BadFile, f"cannot read {source}"):
        text = source_text(source)
    command = [program, "-E1", "-w"]
    if version is not None or not _VERSION.search(text):
        command.append(f"-v{version or 5}")
    paths = [source.resolve().parent, *([library] if library else [])]
    command += [f"++include_path={','.join(map(str, paths))}", str(source.resolve())]
    with tempfile.TemporaryDirectory() as made:
        target = Path(made) / "story"
        done = children.run(
            f"compiling {source}", [*command, str(target)], children.environment(), capture_output=True, text=True,
            errors="replace", timeout=SECONDS, cwd=made,
        )  # fmt: skip
        if done.returncode or not target.is_file():
            raise _why_not(source, f"{done.stdout}\n{done.stderr}")
        data = target.read_bytes()
    if data[:4] == b"Glul":
        raise BadFile(f"{source} compiles for Glulx, which jitrl does not play; leave out -G")
    story = folder / f"{source.stem.lower()}.z{data[0]}"
    keep(data, story)
    return story


def add_story(
    source: Path, folder: Path, *, name: str | None = None, library: Path | None = None, saves: Path | None = None
) -> Compiled:
    """Compile a story, check that it can be played, and add it with its solution to a folder of games.

    Args:
        source: The source, NAME.inf.
        folder: An existing folder of games.
        name: What to call it, None for the name of the source.
        library: As for `compile_story`.
        saves: The saves folder, whose games' names are taken.

    Raises:
        UsageError: The name is not possible, or another game has it.
        MissingError, BadFile, GameError: As for `compile_story`, or the story cannot be played.
    """
    name = (name or source.stem).lower()
    if not _NAME.fullmatch(name) or name.startswith("tw-"):
        raise UsageError(f"{name!r} is no name for a story: use small letters, digits and hyphens, as in --name cave-2")
    _refuse_taken(name, folder, saves)
    with tempfile.TemporaryDirectory() as made:
        compiled = compile_story(source, Path(made), library=library)
        read_story(compiled)
        kept = folder / f"{name}{compiled.suffix}"
        for other in folder.glob(f"{name}.z?"):  # an earlier one, of another version
            other.unlink()
        keep(compiled.read_bytes(), kept)
    solution = solution_in(source_text(source))
    if solution:
        keep(json.dumps(solution, indent=0).encode(), walkthrough_of(kept))
    else:
        walkthrough_of(kept).unlink(missing_ok=True)
    return Compiled(read_story(kept), solution)


def _refuse_taken(name: str, folder: Path, saves: Path | None) -> None:
    """Refuse a name that another game has. A story of that name in the same folder is made anew."""
    try:
        other = find_game(name, saves=saves)
    except UsageError:
        return
    if other.shipped or other.path.parent != folder.resolve() or other.metadata is not None:
        raise UsageError(f"there is a game {name} already ({other.path}); choose another name with --name")


def _why_not(source: Path, printed: str) -> BadFile | MissingError:
    """Return the error that says why a source does not compile."""
    missing = _NO_FILE.search(printed)
    if missing and missing.group(1).lower().removesuffix(".h") in ("parser", "verblib", "grammar"):
        return MissingError(
            "the Inform 6 library was not found; try: apt install inform6-library, or name its folder with --library"
        )
    first = _ERROR.search(printed)
    if first is None:
        last = next((line.strip() for line in reversed(printed.splitlines()) if line.strip()), "no reason given")
        return BadFile(f"{source} does not compile: {last}")
    file, line, what = first.groups()
    where = f"line {line}" if Path(file).name == source.name else f"{file}, line {line}"
    return BadFile(f"{source} does not compile: {where}: {what.strip()}")
