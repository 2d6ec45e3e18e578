"""Make all pictures of the docs from real sessions, played here and now with fixed seeds: `make pictures`.

The watch screen is shown with the profile `paper` and confidences in words. They come from a script, not from a
language model: `Speaker` proposes three valid actions by a table of verbs and dice. Its server listens on this machine
alone. The learning curves are of sessions with no model. `python -m tests.tui.pictures NAME` makes one picture.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import math
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import Image
from textual.pilot import Pilot

from engine.llm.priors import verbs
from engine.records import Decided
from engine.session import recording
from engine.session.branches import Keeper
from engine.session.store import SavedSession, saved_sessions
from jitrl_tui import cli
from jitrl_tui.app import JitrlApp
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.screens.watch import WatchScreen
from tests.llm import scripted
from tests.llm.server import Handler, Server, reply
from tests.tui.drawing import draw
from tests.tui.driving import settled, until

DOCS = Path(__file__).parents[2] / "docs"
FRAME_MS, LAST_MS = 900, 3_000
"""How long a frame of the animation is shown, and its last one."""
COLOURS = 96
"""Colours of the animation."""


END = (1_000_000, 0)
"""After the last step of all."""


@dataclass(frozen=True, slots=True)
class Still:
    """A picture of the watch screen.

    Attributes:
        name: Name of the file without its ending.
        size: Columns and rows.
        at: Episode and step that is shown.
        keys: Keys that are pressed before, as Textual names them.
        spoken: Whether the session is one with confidences.
    """

    name: str
    size: tuple[int, int]
    at: tuple[int, int]
    keys: tuple[str, ...] = ()
    spoken: bool = True


STILLS = (
    Still("watch-140x45", (140, 45), (9, 2)),
    Still("watch-80x24", (80, 24), (9, 2), ("2",)),
    Still("curves", (140, 45), END, ("L",), spoken=False),
)
MOMENTS = (
    (1, 1), (1, 2), (1, 5), (1, 20), (2, 3), (5, 1), (5, 2), (6, 2), (9, 1), (9, 2),
)  # fmt: skip
"""Episode and step of the first frames of the animation. The last of them shows a choice that memory changed."""
RISE = ((2, 1), (3, 1), (4, 1), (7, 1), (10, 1), END)
"""Those of its last frames: the learning curve of a session with no model."""


class Speaker:
    """Answers the paper's prompts by a script: the player's, with other proposals."""

    def __init__(self) -> None:
        self._dice = random.Random(7)

    def __call__(self, handler: Handler, body: dict) -> None:
        """Propose three valid actions, those with likely verbs more often, with confidences 60, 30 and 10."""
        if scripted.kind_of(body) != "actions":
            return scripted.player(handler, body)
        text = scripted.text_of(body["messages"][-1])
        left = sorted(action.strip() for action in text.rpartition("REFERENCE ACTIONS:**")[2].split(","))
        made: dict[str, object] = {"progress_analysis": "see above", "next_objective": "points"}
        for number, confidence in enumerate((60, 30, 10)[: len(left)], 1):
            (action,) = self._dice.choices(left, [math.exp(verbs.logit(one)) for one in left])
            left.remove(action)
            made |= {f"option{number}": action, f"confidence{number}": confidence}
        return reply(json.dumps(made | {"best_action": 1}))(handler, body)


@cache
def sessions(*, spoken: bool) -> tuple[Path, SavedSession]:
    """Play The Pantry with an empty memory; return the saves folder and the last session.

    Args:
        spoken: Whether to play one session with the profile `paper` and `Speaker`, or three with no model.
    """
    saves = Path(tempfile.mkdtemp(prefix="jitrl-pictures-"))
    atexit.register(shutil.rmtree, saves)
    server = Server()
    server.default = Speaker()
    os.environ |= {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "none"}
    how = ["--model", "openai/scripted", "--profile", "paper"] if spoken else ["--model", "prior/verbs"]
    with server.running():
        for seed in ("1",) if spoken else ("3", "2", "1"):
            words = [*how, "--episodes", "12", "--steps", "40", "--seed", seed, "--fresh", "--quiet"]
            if cli.main(["--saves", str(saves), "run", "pantry", *words]) != 0:
                raise SystemExit("the session for the pictures failed")
    return saves, max(saved_sessions(saves), key=lambda one: one.name)


def taken(
    size: tuple[int, int], moments: Sequence[tuple[int, int]], keys: Sequence[str] = (), *, spoken: bool = True
) -> list:
    """Return a picture of each moment (episode, step) of a session, after pressing keys."""
    saves, session = sessions(spoken=spoken)
    source = ReplaySource(lambda: recording.read(session.recording), delay=0.0, paused=True)
    app = JitrlApp(lambda: WatchScreen(source, delay=1.0, keeper=Keeper(saves, session)), saves=saves)

    async def take() -> list:
        pictures = []
        async with app.run_test(size=size) as pilot:
            screen = app.watching
            await until(pilot, lambda: screen.view.activity == "paused" and (spoken or screen.view.previous))
            for episode, step in moments:
                await go_to(pilot, source, episode, step)
                for key in keys:
                    await pilot.press(key)
                await pilot.pause(0.3)
                await settled(pilot)
                pictures.append(draw(app))
        return pictures

    return asyncio.run(take())


async def go_to(pilot: Pilot, source: ReplaySource, episode: int, step: int) -> None:
    """Go to the decision of a step, or to the end if there is no later one."""
    places = [(e.episode, e.decision.step + 1) for e in source._items if isinstance(e, Decided)]
    last = source.progress[1] - 1
    at = sum(place <= (episode, step) for place in places) - 1 if places[-1] > (episode, step) else last
    source.seek_to(at / last)
    await until(pilot, lambda: source.progress[0] == at + 1)


def small(image: Image.Image) -> Image.Image:
    """Return a picture with a palette, which takes a quarter of the room."""
    return image.quantize(256, dither=Image.Dither.NONE)


def animation(target: Path) -> None:
    """Write the animation: how memory changes choices, with confidences; then the learning curve of another session."""
    frames = [*taken((110, 34), MOMENTS), *taken((110, 34), RISE, ("5",), spoken=False)]
    times = [LAST_MS if at in (len(MOMENTS) - 1, len(frames) - 1) else FRAME_MS for at in range(len(frames))]
    # One palette for all frames, so that a frame has to store only what changes.
    sheet = Image.new("RGB", (frames[0].width, frames[0].height * 3))
    for at, number in enumerate((0, len(frames) // 2, len(frames) - 1)):
        sheet.paste(frames[number], (0, at * frames[0].height))
    palette = sheet.quantize(COLOURS, dither=Image.Dither.NONE)
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    drawn[0].save(target, save_all=True, append_images=drawn[1:], duration=times, loop=0, optimize=False)


def made() -> dict[str, Callable[[Path], object]]:
    """Return what makes each file, by the file's name."""
    makers: dict[str, Callable[[Path], object]] = {
        f"{still.name}.png": lambda file, still=still: small(
            taken(still.size, [still.at], still.keys, spoken=still.spoken)[0]
        ).save(file, optimize=True)
        for still in STILLS
    }
    makers["watch.gif"] = animation
    return makers


def main(names: Sequence[str], folder: Path = DOCS) -> None:
    """Make the pictures with these names, or all."""
    makers = made()
    if unknown := [name for name in names if name not in makers]:
        raise SystemExit(f"there is no picture {unknown[0]!r}; there are: {', '.join(makers)}")
    for name in names or makers:
        makers[name](folder / name)
        print(f"{folder / name}: {(folder / name).stat().st_size / 1000:,.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
