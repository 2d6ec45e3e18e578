"""Faults for games, and what must hold under each. Every trial yields whether it was survived."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import BytesIO
from pathlib import Path

from engine.errors import GameError
from engine.games.actions.grammar import read_grammar
from engine.games.catalogue import Story, read_story, shipped_stories
from engine.games.env import GameEnvironment
from engine.games.zmachine.story import StoryFile
from engine.records import Observation

Tell = Callable[[str], None]
OTHERS = ("library.z5", "zork1.z5", "zork3.z5")
"""Stories that tests take besides those that are shipped, where they are there."""
LONGEST_S = 150.0
"""What one broken story may take before it counts as a freeze."""
_WORDS = (
    "take", "drop", "open", "close", "look", "n", "s", "e", "w", "all", "the", "lamp", "door",
    "up", "in", "wear", "eat", "light", "attack", "1", "again", "g", ".", ",", "then",
)  # fmt: skip


# ------------------------------------------------------------------------------------------ stories


def sources(folder: Path | None) -> list[Path]:
    """Return the stories to harm: the shipped ones, and those of `OTHERS` in `folder` if it is there."""
    return [story.path for story in shipped_stories()] + others(folder)


def others(folder: Path | None) -> list[Path]:
    """Return the stories of `OTHERS` that are in a folder. Whatever else lies there is left alone."""
    paths = [folder / name for name in OTHERS] if folder is not None else []
    return [path for path in paths if path.is_file()]


def mend_header(data: bytearray) -> None:
    """Write a length and a checksum that fit, so that the file gets past the validation."""
    if len(data) < 0x40 or not 3 <= data[0] <= 8:
        return
    unit = 2 if data[0] <= 3 else 4 if data[0] <= 5 else 8
    length = len(data) // unit
    if length < 0x10000:
        data[0x1A:0x1C] = length.to_bytes(2, "big")
        data[0x1C:0x1E] = (sum(data[0x40 : length * unit]) & 0xFFFF).to_bytes(2, "big")


def foreign(rng: random.Random) -> bytes:
    """Return a file that is no story."""
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.txt", "story" * 500)
    with open(sys.executable, "rb") as file:
        program = file.read(60_000)
    header = bytes([rng.choice((3, 5, 8))]) + rng.randbytes(63)
    return rng.choice(
        (
            b"",
            rng.randbytes(rng.randrange(1, 200_000)),
            b"It is pitch dark. " * rng.randrange(1, 9_000),
            archive.getvalue() + bytes(2000),
            program,
            b"\x89PNG\r\n\x1a\n" + rng.randbytes(30_000),
            b"FORM" + rng.randbytes(5_000),
            header + bytes(rng.randrange(2_000, 90_000)),
            header + rng.randbytes(60_000),
            b"\xff" * 70_000,
        )
    )


def mutants(
    rng: random.Random, stories: list[Path], count: int, first: int = 0
) -> Iterator[tuple[str, bytes]]:
    """Yield broken stories; half of those that could have one get a header that fits again."""
    whole = [path.read_bytes() for path in stories]
    for number in range(first, first + count):
        data = bytearray(rng.choice(whole))
        kind = ("bits", "bytes", "header", "code", "cut", "spliced", "foreign")[number % 7]
        if kind == "bits":
            for _ in range(rng.choice((1, 1, 8, 200))):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif kind == "bytes":
            for _ in range(rng.choice((1, 40, 2_000))):
                data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind == "header":
            for _ in range(rng.choice((1, 3))):
                data[rng.randrange(0x40)] ^= 1 << rng.randrange(8)
        elif kind == "code":  # where play begins, so that something happens at once
            start = int.from_bytes(data[6:8], "big")
            for _ in range(rng.choice((1, 5))):
                data[min(start + rng.randrange(400), len(data) - 1)] = rng.randrange(256)
        elif kind == "cut":
            del data[rng.choice((rng.randrange(len(data)), len(data) - rng.randrange(1, 2_000))) :]
        elif kind == "spliced":
            at = rng.randrange(0x40, 60_000)
            data[at:] = rng.choice(whole)[at:]
        else:
            data = bytearray(foreign(rng))
        mended = rng.random() < 0.5
        if mended:
            mend_header(data)
        yield f"{number} {kind}{' mended' if mended else ''}", bytes(data)


def broken_stories(
    folder: Path, seed: int, stories: list[Path], count: int, tell: Tell, *, first: int = 0, validate: bool = True
) -> Iterator[bool]:
    """Play each mutant a little: it plays, or is refused with a sentence, in time, and leaves no process.

    Args:
        first: Number of the first mutant, which decides how each is broken.
        validate: Whether the file is looked at before the interpreter gets it, as it is for people.
    """
    refused = 0
    for label, data in mutants(random.Random(seed), stories, count, first):
        path = folder / "mutant.z8"
        path.write_bytes(data)
        begun = time.monotonic()
        problem = ""
        try:
            story = (
                read_story(path)
                if validate
                else Story("mutant", "mutant", path, hashlib.md5(data).hexdigest())
            )
            with closing(GameEnvironment(story, limit=50)) as game:
                game.reset(1)
                for command in ("look", "north", "open mailbox", "take all"):
                    game.step(command)
                game.valid_actions()
                game.restore(game.save())
        except GameError as error:
            refused += 1
            if "\n" in str(error) or len(str(error)) > 300:
                problem = f"not one sentence: {error}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        taken = time.monotonic() - begun
        if taken > LONGEST_S:
            problem = f"took {taken:.0f} s"
        if problem:
            tell(f"broken story {label}: {problem}")
        yield not problem
    tell(f"broken stories: {count}, of which {refused} were refused")


def looping_story(path: Path, target: Path, verb: str) -> Story:
    """Write a story whose `verb` never ends: its action begins with a jump to itself."""
    data = bytearray(path.read_bytes())
    grammar = read_grammar(StoryFile(bytes(data)))
    if grammar is None:
        raise ValueError(f"{path} has no grammar that can be read")
    pattern = next(p for p in grammar.patterns if verb in p.verbs and not p.slots)
    for at in filter(None, grammar.action_routines[pattern.action]):
        first = at + 1 + (2 * data[at] if data[0] <= 4 else 0)
        data[first : first + 3] = b"\x8c\xff\xff"
    mend_header(data)
    target.write_bytes(data)
    return read_story(target)


# -------------------------------------------------------------------------------------------- input


def odd_input(rng: random.Random) -> str:
    """Return something that nobody should type."""
    size = rng.choice((0, 1, 5, 30, 190, 191, 300, 5_000))
    match rng.randrange(8):
        case 0:
            return "".join(chr(rng.randrange(0x20)) for _ in range(size))
        case 1:
            far = (
                rng.choice((rng.randrange(0xA0, 0x3000), 0x1F600 + rng.randrange(60))) for _ in range(size)
            )
            return "".join(map(chr, far))
        case 2:
            return "\x1b[" + "".join(rng.choice("0123456789;?hlmJKABCD\x1b[]\x07") for _ in range(size))
        case 3:
            return rng.choice(("\n", "\r\n", "\u2028", "\v")).join(rng.choices(_WORDS, k=6))
        case 4:
            return rng.choice(("%s%n%x", "\\", "\\q", "{}", "$ve", "#", "'" * 40, '"' * 9, "." * 180)) * 2
        case 5:
            return " ".join(rng.choices(_WORDS, k=rng.randrange(1, 60)))
        case 6:
            return "".join(chr(rng.randrange(0x20, 0x7F)) for _ in range(size))
        case _:
            return rng.choice(_WORDS) * rng.randrange(1, 60) + " " + rng.choice(_WORDS)


def odd_inputs(story: Story, seed: int, count: int, tell: Tell) -> Iterator[bool]:
    """Type odd things; nothing but an observation may come of each, and the worker stays the same one."""
    rng = random.Random(seed)
    with closing(GameEnvironment(story)) as game:
        seen = game.reset(1)
        worker = game.worker.pid
        for number in range(count):
            line = odd_input(rng)
            problem = ""
            try:
                seen = game.step(line)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if any(ord(c) < 0x20 and c != "\n" for c in seen.text):
                problem = "control characters came back"
            if game.worker.pid != worker:
                problem, worker = f"the worker was lost: {seen.text[:100]}", game.worker.pid
            if problem:
                tell(f"input {number} of {story.name}, {line[:60]!r}: {problem}")
            if seen.over or number % 500 == 499:
                seen = game.reset(1 + number)
            yield not problem
    tell(f"odd input: {count} lines into {story.name}")


# ------------------------------------------------------------------------------------------ killing


def transcript(story: Story, commands: list[str], seed: int) -> list[Observation]:
    """Play undisturbed."""
    with closing(GameEnvironment(story)) as game:
        return [game.reset(seed), *map(game.step, commands)]


def killed_at_every_step(story: Story, commands: list[str], seed: int, tell: Tell) -> Iterator[bool]:
    """Kill the worker before each step; the episode must go on as if nothing had been."""
    expected = transcript(story, commands, seed)
    with closing(GameEnvironment(story)) as game:
        game.reset(seed)
        for number, command in enumerate(commands):
            os.kill(game.worker.pid, signal.SIGKILL)
            seen = game.step(command)
            good = seen == expected[number + 1]
            if not good:
                tell(f"{story.name}, killed before step {number}: {seen.text[:80]!r}")
            yield good
    tell(f"killed before each of {len(commands)} steps of {story.name}")


def killed_at_work(story: Story, commands: list[str], seed: int, count: int, tell: Tell) -> Iterator[bool]:
    """Kill the worker at a random moment of stepping, saving or looking for valid actions."""
    rng = random.Random(seed)
    with closing(GameEnvironment(story)) as game:
        for trial in range(count):
            game.reset(seed)
            for command in commands[: rng.randrange(len(commands) - 3)]:
                game.step(command)
            before = game._last
            killer = threading.Timer(rng.random() * 0.03, os.kill, (game.worker.pid, signal.SIGKILL))
            problem = ""
            try:
                killer.start()
                for _ in range(5):
                    game.valid_actions()
                    saved = game.save()
                killer.join()
                if game.restore(saved) != before:
                    problem = "another situation came back"
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                tell(f"{story.name}, killed at work, trial {trial}: {problem}")
            yield not problem
    tell(f"killed at work: {count} times in {story.name}")


# ------------------------------------------------------------------------------- many, and for long


def many_at_once(stories: list[tuple[Story, list[str]]], count: int, tell: Tell) -> Iterator[bool]:
    """Play `count` environments at once, each in a thread; each must go as it goes alone."""
    jobs = [(*stories[number % len(stories)], number + 1) for number in range(count)]
    alone = [transcript(*job) for job in jobs]
    with ThreadPoolExecutor(count) as pool:
        together = list(pool.map(lambda job: transcript(*job), jobs))
    for job, one, other in zip(jobs, alone, together, strict=True):
        if one != other:
            tell(f"{job[0].name} with seed {job[2]} went another way in company")
        yield one == other
    tell(f"at once: {count} environments")


def resident(pid: int | str) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def flat_memory(
    story: Story, episodes: int, steps: int, cache: Path, tell: Tell, *, grace: int, slack: int = 3 * 2**20
) -> Iterator[bool]:
    """Play episodes of random valid actions; after the first `grace`, neither process may grow.

    Args:
        slack: Growth that is the allocator's, bytes, for each process.
    """
    rng = random.Random(1)
    with closing(GameEnvironment(story, cache, limit=150)) as game:
        before = (0, 0)
        for episode in range(episodes):
            seen = game.reset(1 + episode % 40)
            for _ in range(steps):
                valid = game.valid_actions()
                if seen.over or not valid:
                    break
                seen = game.step(rng.choice(valid))
            if episode == grace:
                before = resident(game.worker.pid), resident("self")
        after = resident(game.worker.pid), resident("self")
    for who, old, new in zip(("worker", "parent"), before, after, strict=True):
        tell(f"{story.name}, {episodes} episodes: {who} went from {old / 2**20:.1f} to {new / 2**20:.1f} MiB")
        yield new - old <= slack


def children() -> list[int]:
    """Return the processes that this one started and that are still there."""
    path = Path("/proc/self/task")
    return [
        int(pid)
        for task in path.iterdir()
        for pid in (task / "children").read_text().split()
    ]  # fmt: skip
