"""Mutated recordings, exports, journals, model replies and web snapshots: each is read, or refused with a sentence.

    python -m tests.bench.fuzz [INPUTS] [--seed 1] [--only journal]

INPUTS are at most 100,000. An input survives if nothing but a `JitrlError` comes of it, within 5 seconds. Ends with
`N survived, M lost` and what the process holds in memory; exits with 1 if any was lost. The same seed makes the same
inputs. `run` does the same for the whole soak.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tinydb import where

from engine.codec import event_from_line, event_to_line
from engine.errors import JitrlError, UsageError
from engine.llm.reading import parse as replies
from engine.memory import Memory, exchange, report, upkeep
from engine.memory.disk import frame
from engine.memory.recover import recover
from engine.memory.scope import Scope
from engine.records import Decided, Kept, Thinking
from engine.session import recording
from engine.session.recorded_steps import episodes
from engine.web import actions, choices
from engine.web.browser import pages, snapshot
from engine.web.drawing import items, text, wireframe
from jitrl_tui.panes.candidates import CandidatesPane
from jitrl_tui.panes.why import WhyPane
from jitrl_tui.plain.event_lines import candidate_lines
from jitrl_tui.plain.run import PlainRun
from jitrl_tui.runs import hits
from jitrl_tui.runs.history import scores_of
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.view import Choice, RunView
from tests.hostile import JSON, NUMBERS, TEXTS, spoiled
from tests.memory.lives import make_episode
from tests.tui import stream

Tell = Callable[[str], None]
INPUTS = 40_000
"""Takes about ten minutes."""
MOST = 100_000
LONGEST_S = 5
"""Seconds that one input may take."""
SCOPE = "game/fuzzed"
VALID = ("go north", "open mailbox", "take Lamp", "click('e7')")
PAGE = """\
- banner [ref=e1] [box=0,0,1280,60]:
  - link "Quayside (3)" [ref=e2] [box=20,20,80,20] [cursor=pointer]:
    - /url: /shop?page=2
  - searchbox "Search" [ref=e3] [box=700,15,300,30]: kettle
- main [ref=e5] [box=0,60,1280,1400]:
  - heading "Kettles" [level=1] [ref=e6] [box=20,80,200,40]
  - combobox "Sort by:" [ref=e7] [box=900,90,150,30]:
    - option "Name" [selected]
    - option "Price"
  - 'link "It''s: red" [ref=e9] [box=660,200,200,20]'
  - iframe [ref=f1] [box=10,10,300,300]:
    - checkbox "In stock" [checked] [ref=f1e1] [box=20,300,100,20]
  - textbox "Password" [ref=e11] [box=20,400,200,30]: hunter22
"""
REPLY = json.dumps({
    "option1": "go north", "confidence1": 70, "reason1": "why", "option2": "open mailbox", "confidence2": "20",
    "best_action": "option1", "step_analysis": [{"step": 0, "action": "go north", "score": 3.5, "reason": "x"}],
}, indent=1)  # fmt: skip
_PIECES = (*JSON, *(str(n).encode() for n in NUMBERS), *(json.dumps(one).encode() for one in TEXTS))


class Hang(BaseException):
    """An input took too long."""


# ---------------------------------------------------------------------------------------------- mutating


def mutated(rng: random.Random, content: bytes) -> bytes:
    """Return bytes with one to four things done to them."""
    made = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randrange(len(made) + 1), rng.choice((1, 2, 8, 64, 512))
        match rng.randrange(7):
            case 0 if made:
                made[at % len(made)] ^= 1 << rng.randrange(8)
            case 1:
                del made[at : at + size]
            case 2:
                made[at:at] = rng.choice(_PIECES)[: rng.choice((8, 400, 200_000))]
            case 3:
                made[at : at + size] = bytes(len(made[at : at + size]))
            case 4:
                made[at:at] = made[rng.randrange(len(made) + 1) :][:size]
            case 5:
                made[at : at + size] = rng.randbytes(size)
            case _ if rng.random() < 0.2:
                del made[at:]
            case _:
                pass
    return bytes(made)


def lines_mutated(rng: random.Random, lines: Sequence[bytes], framed: bool = False) -> bytes:
    """Return lines of JSON with bytes mutated, or with values of some lines replaced and all else in order.

    Args:
        framed: They are lines of a journal; replaced values get the checksums that belong to them.
    """
    if rng.random() < 0.4:
        return mutated(rng, b"".join(lines))
    made = list(lines)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(made))
        payload = made[at][frame.PREFIX :] if framed else made[at]
        path = [rng.randrange(60) for _ in range(rng.randint(1, 6))]
        with contextlib.suppress(ValueError, RecursionError, AttributeError, LookupError, TypeError):  # spoiled already
            changed = spoiled(payload, path, rng.choice(_PIECES)).replace(b"\n", b" ")
            made[at] = frame.encode(changed) if framed else changed + b"\n"
    if rng.random() < 0.1:
        rng.shuffle(made)
    return b"".join(made)


# ---------------------------------------------------------------------------------------------- targets


class Targets:
    """A function for each kind of input. It makes an input, and does with it what the program does.

    Args:
        place: A folder; what is made in it is removed after each input.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        events = stream.recorded(stream.run(2, 3))
        told = [(at, event) for at, event in events if not isinstance(event, Thinking)]
        self._recording = [event_to_line(event, at).encode() + b"\n" for at, event in told]
        out = io.StringIO()
        with Memory(place / "made", secrets=()) as memory:
            scope = memory.scope(SCOPE)
            for number in range(4):
                scope.append(make_episode(random.Random(number), f"u{number}", 3, words=4))
            scope.records.add(Kept("reflection", "text", {"a": [1, {"b": None}]}, uid="k"))
            exchange.export_episodes(out, [scope])
            self._journal = scope.path.read_bytes().splitlines(keepends=True)
        self._export = out.getvalue().encode().splitlines(keepends=True)
        shutil.rmtree(place / "made")

    def recording(self, rng: random.Random) -> None:
        """A recording: replayed on the screen and in plain lines, listed, gone on with."""
        path = self.place / "events.jsonl"
        path.write_bytes(lines_mutated(rng, self._recording))
        scores_of(path)
        replay = ReplaySource(lambda: recording.read(path), delay=0.0)
        out = io.StringIO()
        PlainRun(replay, out, None, play=False).run()
        replay.stop()
        if not replay.wait(LONGEST_S):
            raise Hang
        events = [event for _, event in recording.read(path)]
        for event in events:
            assert event_from_line(event_to_line(event, 1.0))[1] == event
        view = RunView()
        view.fold_all(events)
        for event in events:
            if isinstance(event, Decided):
                choice = Choice(event.episode, event.decision, view.started, view.memory_entries)
                candidate_lines(choice)
                hits.basis_lines(choice, 3)
                for pane in (CandidatesPane("candidates"), WhyPane("why")):
                    pane.choice = choice
                    pane.build(60, 12)
        out.getvalue().encode()
        list(episodes((0.0, event) for event in events))

    def export(self, rng: random.Random) -> None:
        """An export: imported; what was taken is read by the next program without a word."""
        path = self.place / "in.jsonl"
        path.write_bytes(lines_mutated(rng, self._export))
        with Memory(self.place / "m", secrets=()) as memory:
            taken = exchange.import_episodes(memory, path, "x")
        for name in taken.scopes:
            with Memory(self.place / "m", secrets=()) as memory:
                scope = memory.scope(name)
                self._use(scope)
                assert scope.notices == [], scope.notices
                exchange.export_episodes(io.StringIO(), [scope])

    def journal(self, rng: random.Random) -> None:
        """A journal: checked, opened, searched, appended to, written anew, recovered."""
        folder = self.place / "j"
        folder.mkdir()
        path = folder / "episodes.jnl"
        path.write_bytes(lines_mutated(rng, self._journal, framed=True))
        with contextlib.suppress(JitrlError):
            recover(path, self.place / "recovered.jnl")
            assert upkeep.verify(self.place / "recovered.jnl").sound
        with contextlib.suppress(JitrlError):
            upkeep.verify(path)
        with contextlib.suppress(JitrlError):
            source = exchange.open_source(path)
            for contents in source.scopes.values():
                list(contents(lambda told: None))
        scope = Scope(folder, SCOPE)
        self._use(scope)
        with contextlib.suppress(JitrlError):
            scope.append(make_episode(random.Random(9), "new", 2))
        with contextlib.suppress(JitrlError):
            upkeep.compact(scope)
        uids = [episode.uid for episode in scope.episodes()]
        scope.close()
        again = Scope(folder, SCOPE)
        assert [episode.uid for episode in again.episodes()] == uids
        again.close()

    def reply(self, rng: random.Random) -> None:
        """A reply of a model: read as options and as scores."""
        said = mutated(rng, REPLY.encode() * rng.choice((1, 1, 1, 20))).decode("utf-8", "surrogateescape")
        replies.json_object(said)
        found = replies.options(said, VALID)
        assert all(one.action in VALID for one in found.options)
        replies.scores(said)

    def page(self, rng: random.Random) -> None:
        """A snapshot of a web page: parsed, drawn, told, and acted on."""
        said = mutated(rng, PAGE.encode() * rng.choice((1, 1, 1, 10))).decode("utf-8", "replace")
        page = snapshot.parse(said, "http://127.0.0.1:8000/shop", "Shop")
        page.digest()
        snapshot.parse(pages.snapshot_text(page))
        wireframe.draw(page, rng.choice((20, 78, 138)), 22).text.encode()
        text.outline(page).encode()
        items.items_of(page)
        offered = choices.possible_actions(page, "Buy 'a kettle' for 20")
        for action in [*offered[:20], mutated(rng, b"fill('e3', 'kettle')").decode("utf-8", "replace")]:
            with contextlib.suppress(UsageError):
                call = actions.parse(action)
                if call.target is not None:
                    actions.resolve(call.target, page)

    def _use(self, scope: Scope) -> None:
        """Do with a scope what commands and sessions do."""
        report.statistics(scope)
        list(report.search(scope, ["a"], gamma=0.5))
        for episode in scope.episodes():
            scope.neighbours(episode.final, k=3, r=0.0, gamma=0.5, history_weight=0.25)
        scope.records.all()
        scope.db.search(where("number") == 1)


NAMES = ("recording", "export", "journal", "reply", "page")
"""What is fuzzed, in turn."""


# ---------------------------------------------------------------------------------------------- running


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `Hang` in the main thread when the time is over."""

    def rang(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, rang)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def resident() -> float:
    """Return what this process holds in memory, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def trials(tell: Tell, inputs: int, seed: int, names: Sequence[str] = NAMES) -> Iterator[bool]:
    """Try so many inputs, of each kind in turn; yield whether each survived."""
    began, warm, slowest = time.monotonic(), 0.0, 0.0
    outcomes: collections.Counter[str] = collections.Counter()
    fallen: list[threading.ExceptHookArgs] = []  # what ended a thread of ours: a replay's
    before, threading.excepthook = threading.excepthook, fallen.append
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="jitrl-fuzz-", dir=where) as made:
        targets = Targets(Path(made))
        for number in range(inputs):
            name = names[number % len(names)]
            good, start = True, time.monotonic()
            try:
                with within(LONGEST_S):
                    getattr(targets, name)(random.Random(f"{seed} {name} {number}"))
                if fallen:
                    raise RuntimeError(f"a thread ended with {fallen.pop()}")
                outcomes["read"] += 1
            except JitrlError as error:
                good = 0 < len(str(error)) < 1000
                outcomes["refused"] += 1
            except Hang:
                good = False
                tell(f"{name} {number}: more than {LONGEST_S} s")
            except Exception:
                good = False
                tell(f"{name} {number}: {traceback.format_exc(limit=-4)}")
            slowest = max(slowest, time.monotonic() - start)
            for left in Path(made).iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            if number == inputs // 5:
                warm = resident()
            yield good
    threading.excepthook = before
    tell(
        f"fuzz: {inputs} inputs in {time.monotonic() - began:.0f} s, {outcomes['read']} read, {outcomes['refused']} "
        f"refused, slowest {slowest:.2f} s; {warm:.0f} MB held after a fifth of them and {resident():.0f} MB at the end"
    )


def run(tell: Tell, *, inputs: int = INPUTS, seed: int = 1) -> tuple[int, int]:
    """Do all trials; return how many inputs survived and how many were lost."""
    results = list(trials(tell, inputs, seed))
    return sum(results), len(results) - sum(results)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials and print the count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", type=int, nargs="?", default=INPUTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=NAMES, help="one kind of input alone")
    args = parser.parse_args(argv)
    if not 0 < args.inputs <= MOST:
        parser.error(f"1 to {MOST} inputs")
    names = (args.only,) if args.only else NAMES
    results = list(trials(lambda told: print(told, file=sys.stderr, flush=True), args.inputs, args.seed, names))
    print(f"{sum(results)} survived, {len(results) - sum(results)} lost")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
