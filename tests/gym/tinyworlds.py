"""Small environments as people write them, registered with Gymnasium when this module is imported."""

from __future__ import annotations

import enum
import os
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import colorize

ROOMS = ("Hall", "Stair", "Attic", "Roof")


class Corridor(gymnasium.Env):
    """Rooms in a row, a treasure in the last; says all that TextWorld says, as text."""

    observation_space = spaces.Text(1000)
    action_space = spaces.Text(100)

    def __init__(self, rooms: int = 4, noisy: bool = False) -> None:
        self.rooms, self.noisy, self.at, self.lit = rooms, noisy, 0, False

    def _info(self, won=False):
        ways = (["go east"] if self.at < self.rooms - 1 else ["take treasure"]) + ["go west"] * (self.at > 0)
        return {
            "admissible_commands": [*ways, "jump"],
            "description": f"{ROOMS[self.at]}. The {ROOMS[self.at].lower()} has a painted wall.",
            "inventory": "You are carrying a lamp." if self.lit else "You are carrying nothing.",
            "location": ROOMS[self.at], "max_score": 3, "won": won, "lost": False,
        }  # fmt: skip

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return f"Welcome to a short way.\n{self._info()['description']}", self._info()

    def step(self, action):
        if self.noisy:
            print("a package that prints")
            sys.stdout.flush()
            os.write(1, b"and writes\n")
            assert sys.stdin.read() == ""
        if action == "take treasure" and self.at == self.rooms - 1:
            return "You have it!", 3.0, True, False, self._info(won=True)
        if action in ("go east", "go west"):
            self.at = min(self.rooms - 1, max(0, self.at + (1 if action == "go east" else -1)))
            return f"You come to the {ROOMS[self.at].lower()}.", 0.0, False, False, self._info()
        return "Nothing happens.", 0.0, False, False, self._info()


class Grid(gymnasium.Env):
    """A drawing in which a colour alone shows where one is; a hole on the way."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"]}
    observation_space = spaces.Box(0, 1, (3,))
    action_space = spaces.Discrete(2, start=1)

    def __init__(self, render_mode=None) -> None:
        self.render_mode, self.at = render_mode, 0

    def get_action_meanings(self):
        return ["LEFT", "RIGHT"]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return np.zeros(3), {"action_mask": np.array([0, 1])}

    def step(self, action):
        self.at += 1 if action == 2 else -1
        return np.zeros(3), float(self.at == 2), self.at == 2, False, {"action_mask": np.array([1, 1])}

    def render(self):
        cells = [colorize(c, "red", highlight=True) if i == self.at else c for i, c in enumerate("AAA")]
        return "".join(cells) + "\nAAA\n"


class Move(enum.IntEnum):
    """Names of actions as MiniGrid and NetHack have them."""

    TURN_LEFT = 0
    STAY = 1


class Numbered(gymnasium.Env):
    """An observation that is the number of a state, drawn; random ways that the seed decides."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"]}
    observation_space = spaces.Discrete(100)
    action_space = spaces.Discrete(2)
    actions = Move

    def __init__(self, render_mode=None) -> None:
        self.render_mode, self.at = render_mode, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(100))
        return np.int64(self.at), {}

    def step(self, action):
        self.at = int(self.np_random.integers(100))
        return np.int64(self.at), 0.0, False, False, {}

    def render(self):
        return "." * 5


class Guess(gymnasium.Env):
    """Any word may be said; nothing lists them. The text is a part of a dictionary, in bytes."""

    action_space = spaces.Text(5, charset="abcdefghijklmnopqrstuvwxyz ")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._seen("Say the word."), {"animal": ["cat", "dog"]}

    def _seen(self, text):
        line = np.zeros(40, dtype=np.uint8)
        line[: len(text)] = list(text.encode())
        return {"board": np.zeros((2, 2)), "message": line, "hint": "It is wet."}

    def step(self, action):
        good = action == "otter"
        return self._seen("Yes." if good else "No."), float(good), good, False, {"is_success": good}


class Trouble(Corridor):
    """A corridor in which single actions break everything."""

    offered = ("hang", "raise", "exit", "quit")

    def _info(self, won=False):
        info = super()._info(won)
        return {**info, "admissible_commands": [*info["admissible_commands"], *self.offered]}

    def step(self, action):
        match action:
            case "hang":
                Path("hangs").touch()  # in the folder of this process
                time.sleep(600)
            case "raise":
                raise ValueError("boom")
            case "exit":
                os._exit(7)
            case "quit":
                sys.exit("gone")
            case "nan":
                return "No number.", float("nan"), False, False, self._info()
            case "eat":
                self.eaten = bytearray(6 * 2**30)
        return super().step(action)


class Breaking(Trouble):
    """The same without what takes long."""

    offered = ("raise", "exit", "quit")


class Raising(Corridor):
    """Fails at each step."""

    def step(self, action):
        raise ValueError("boom")


class Whim(Corridor):
    """Begins somewhere, whatever the seed."""

    def reset(self, *, seed=None, options=None):
        text, info = super().reset(seed=seed)
        return f"{text} It is {os.urandom(8).hex()}.", info


class Blind(gymnasium.Env):
    """Nothing to read."""

    observation_space = spaces.Box(0, 1, (4,))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(4), {}


class Silent(Guess):
    """Nothing to do."""

    action_space = spaces.Box(0, 1, (2,))


class Broken(Corridor):
    """Cannot begin."""

    def reset(self, *, seed=None, options=None):
        raise RuntimeError("no board")


class Older:
    """A corridor with the interface that Gym had: no seed in `reset`, four values of `step`, no action space."""

    def __init__(self) -> None:
        self.inner, self.seeds = Corridor(), []

    def seed(self, seed):
        self.seeds.append(seed)

    def reset(self):
        text, info = self.inner.reset()
        return text, {**info, "score": 0, "inv": str(self.seeds[-1]), "inventory": None}

    def step(self, action):
        text, reward, terminated, _, info = self.inner.step(action)
        return text, None, terminated or action == "jump", {
            **info, "score": 100 * reward, "TimeLimit.truncated": not terminated,
        }  # fmt: skip


class Alone(Older):
    """It returns no info from `reset`, and is numbered."""

    action_space = spaces.Discrete(2)
    actions = ("go east", "go west")

    def reset(self):
        return super().reset()[0]

    def step(self, action):
        text, _, done, info = super().step(self.actions[action])
        return text, 1.0, done, info


class Batch(Older):
    """A batch of games, as ALFWorld makes them."""

    def __init__(self, size: int = 1) -> None:
        super().__init__()
        self.size = size

    def reset(self):
        text, info = super().reset()
        return (text,) * self.size, {key: [value] for key, value in info.items()}

    def step(self, actions):
        (action,) = actions
        text, _, done, info = super().step(action)
        return (text,), (0.0,), (done,), {key: [value] for key, value in info.items()}


for one in (
    Corridor, Grid, Numbered, Guess, Trouble, Breaking, Raising, Older, Alone, Batch, Whim, Blind, Silent, Broken,
):  # fmt: skip
    gymnasium.register(f"tiny/{one.__name__}-v0", entry_point=f"tinyworlds:{one.__name__}")
gymnasium.register("tiny/Short-v0", entry_point="tinyworlds:Corridor", max_episode_steps=2)
gymnasium.register("tiny/OlderShort-v0", entry_point="tinyworlds:Older", max_episode_steps=2)
