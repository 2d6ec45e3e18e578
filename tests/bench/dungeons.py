"""Small dungeons made by a program, to try estimators (`--set estimator=NAME`) on games that no result is reported on.

    python -m tests.bench.dungeons [--seeds 1-10] [--episodes 30] [--steps 60] [--hands 5]
        [--furnished | --untold] [--armed | --waking] [--restless]

Each seed is another dungeon: rooms, treasures, things that are of no use, a lamp for the dark half (moving there
without light is often deadly), a troll in a doorway (fights are drawn by lot), a locked door and its key, a chest, a
pit, and a case that treasures are worth something in once more. `--hands` lets one carry only so many things;
`--furnished` shuts the case, sets a box and a jar beside the chest, and lets anything be put into what is open; with
`--untold` nothing says whether they are open but what can be done then, and a lamp that is on is called so beside its
name, not instead of it. With `--armed` the troll is told of by what he swings, and that can be taken when he is
slain; with `--waking` he strikes at each turn, is knocked out more often than slain, and soon bars the way again.
Fights draw their luck one after the other, so the first blow always comes to the same; with `--restless` each turn
draws, so that it matters when one strikes, too. Every episode of a dungeon begins with the same seed, as games do
here. Printed are the share of all points on average, over the last five episodes, and the deaths.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from engine.agents.base import Turn
from engine.agents.jitrl import JitrlAgent
from engine.agents.random import UniformPrior
from engine.environments import profile
from engine.records import Observation, State, Step
from engine.settings import Settings
from engine.settings.plan import PlanNumbers
from engine.values.graph import GraphEstimator
from tests.bench.web_experiment import value

_BACK = {"north": "south", "south": "north", "east": "west", "west": "east", "up": "down", "down": "up"}
_ROOMS = ("hall", "attic", "den", "vault", "cave", "crypt", "mill", "barn", "yard", "well", "shaft", "ledge", "grotto",
          "kiln", "loft", "pier", "moor", "fen")  # fmt: skip
_TREASURES = ("coin", "ring", "crown", "chalice", "idol", "pearl")
_JUNK = ("bread", "rope", "bottle", "leaf")


class Dungeon:
    """A dungeon; the same seed makes the same one, with the same luck in each episode."""

    def __init__(
        self,
        seed: int,
        hands: int = 99,
        *,
        furnished: bool = False,
        untold: bool = False,
        armed: bool = False,
        waking: bool = False,
        restless: bool = False,
    ) -> None:
        rng = random.Random(seed)
        self._seed, self._hands, self._untold, self._armed = seed, hands, untold, armed
        self._waking, self._restless = waking, restless
        self.rooms = list(_ROOMS[: rng.randint(11, len(_ROOMS))])
        self.exits: dict[str, dict[str, str]] = {room: {} for room in self.rooms}
        parent: dict[str, str] = {}
        for number, room in enumerate(self.rooms[1:], 1):
            free = [at for at in self.rooms[max(0, number - 4) : number] if len(self.exits[at]) < 4]
            parent[room] = rng.choice(free)
            self._join(parent[room], room, rng)
        for _ in range(2):
            self._join(*rng.sample(self.rooms[:6], 2), rng)
        half = len(self.rooms) // 2
        self.dark = set(self.rooms[half:])
        lit = self.rooms[1:half]
        self.troll, self.locked = rng.choice(self.rooms[half - 1 : -2]), rng.choice(self.rooms[4:-1])
        self._home: dict[str, str] = {
            "lamp": rng.choice(lit),
            "sword": rng.choice(lit),
            "key": rng.choice(lit),
        }
        self.points: dict[str, int] = {}
        for treasure, room in zip(_TREASURES, rng.sample(self.rooms[2:], len(_TREASURES)), strict=True):
            self._home[treasure] = room
            self.points[treasure] = rng.choice((2, 3, 5, 8)) + 2 * (room in self.dark)
        for junk in _JUNK:
            self._home[junk] = rng.choice(self.rooms)
        self.chest, self.case, self.pit = rng.choice(lit), self.rooms[0], rng.choice(self.rooms[2:])
        self._in_chest = rng.choice(_TREASURES)
        self._furniture: dict[str, str] = {}
        if furnished or untold:
            self._furniture = {
                "case": self.case,
                "chest": self.chest,
                "box": rng.choice(lit),
                "jar": rng.choice(self.rooms),
            }
        self.most = sum(worth + worth // 2 for worth in self.points.values())

    def _join(self, one: str, other: str, rng: random.Random) -> None:
        ways = [way for way in _BACK if way not in self.exits[one] and _BACK[way] not in self.exits[other]]
        if ways and one != other and other not in self.exits[one].values():
            way = rng.choice(ways)
            self.exits[one][way], self.exits[other][_BACK[way]] = other, one

    def reset(self) -> State:
        """Begin an episode."""
        self._luck = random.Random(self._seed)
        self.at, self.have, self.score = self.rooms[0], set[str](), 0
        self.lit = self.open = self.unlocked = self.slain = self.broken = self.done = self.died = False
        self.where = {thing: room for thing, room in self._home.items() if thing != self._in_chest}
        self.stunned = False
        self.paid, self._opened = set[str](), set[str]()
        return self.state()

    @property
    def light(self) -> bool:
        """Whether one sees anything."""
        near = "lamp" in self.have or self.where.get("lamp") == self.at
        return self.at not in self.dark or (self.lit and near)

    def _here(self) -> list[str]:
        return sorted(thing for thing, room in self.where.items() if room == self.at) if self.light else []

    def _near(self) -> list[str]:
        """Return the furniture that is here."""
        return [one for one, room in self._furniture.items() if room == self.at] if self.light else []

    def _inside(self) -> dict[str, str]:
        """Return what lies in open furniture here, and in which."""
        within = [one for one in self._near() if one in self._opened]
        return {thing: place for thing, place in self.where.items() if place in within}

    def _named(self, kind: str, things: Iterable[str]) -> list[str]:
        """Return tokens of things; that a lamp is on is said beside its name, as in games, where all is untold."""
        tokens = list[str]()
        for thing in things:
            lit = thing == "lamp" and self.lit
            tokens += [f"{kind}:{thing}=lit"] * lit + [f"{kind}:{thing}"] * (self._untold or not lit)
        return tokens

    def state(self) -> State:
        """Return where one is, what one has and sees."""
        place = self.at if self.light else "darkness"
        tokens = [f"place:{place}#{self.rooms.index(self.at)}"]
        tokens += self._named("have", self.have) + self._named("see", self._here())
        shown = () if self._untold else self._opened
        tokens += [f"see:{one}=open" if one in shown else f"see:{one}" for one in self._near()]
        tokens += [
            f"{token}@{within}"
            for thing, within in self._inside().items()
            for token in self._named("see", [thing])
        ]
        if self.light:
            if not self._furniture:
                tokens += ["see:chest=open" if self.open else "see:chest"] * (self.at == self.chest)
                tokens += ["see:case"] * (self.at == self.case)
            troll = "see:troll swinging bloody axe" if self._armed else "see:troll"
            troll = "see:unconscious troll" if self.stunned else troll
            tokens += [troll] * (self.at == self.troll and not self.slain)
            doors = self.locked in self.exits[self.at].values() or self.at == self.locked
            tokens += ["see:door=open" if self.unlocked else "see:door"] * doors
            tokens += ["see:pit"] * (self.at == self.pit)
        tokens = sorted(set(tokens))
        return State(" ".join(tokens), tuple(tokens), place=self._place(tokens))

    @staticmethod
    def _place(tokens: list[str]) -> str:
        return next(token.partition(":")[2] for token in tokens if token.startswith("place:"))

    def valid(self) -> tuple[str, ...]:
        """Return what changes anything."""
        here, seen = self._here(), self.light
        actions = [way for way, there in self.exits[self.at].items() if not self._is_barred(there)]
        if len(self.have) < self._hands:
            around = sorted([*here, *self._inside()])
            actions += [f"take {thing}" for thing in around] + ["take all"] * bool(around)
        actions += [f"drop {thing}" for thing in sorted(self.have)] + ["drop all"] * bool(self.have)
        actions += [f"throw {thing}" for thing in sorted(self.have)]
        if "lamp" in self.have or "lamp" in here:
            actions += (
                ["extinguish lamp", "extinguish all"] if self.lit else ["light lamp"] * (not self.broken)
            )
        for one in self._near():
            actions.append(f"close {one}" if one in self._opened else f"open {one}")
            if one in self._opened:
                actions += [f"put {thing} in {one}" for thing in sorted(self.have)]
        if seen and not self._furniture and self.at == self.chest and not self.open:
            actions.append("open chest")
        if seen and self.at == self.troll and not self.slain:
            actions += ["attack troll"] + ["attack troll with sword"] * ("sword" in self.have)
            actions += [f"give {thing} to troll" for thing in sorted(self.have)]
        if seen and self.at == self.pit:
            actions.append("jump into pit")
        if seen and "key" in self.have and not self.unlocked and self.locked in self.exits[self.at].values():
            actions.append("unlock door with key")
        if seen and not self._furniture and self.at == self.case:
            actions += [f"put {thing} in case" for thing in sorted(self.have & set(_TREASURES))]
        if "bread" in self.have:
            actions.append("eat bread")
        return tuple(actions)

    def step(self, action: str) -> tuple[State, float]:
        """Do something; return where it leads and the points it gained."""
        before = self.score
        if self._restless:
            self._luck.random()
        verb, _, rest = action.partition(" ")
        thing = rest.split(" ")[0]
        if action in _BACK:
            self._move(action)
        elif verb == "take":
            for one in [*self._here(), *self._inside()] if thing == "all" else [thing]:
                self._take(one)
        elif verb in ("drop", "throw"):
            for one in sorted(self.have) if thing == "all" else [thing]:
                self.have.discard(one)
                self.where[one] = self.at
                if verb == "throw" and one == "lamp":
                    self.lit, self.broken = False, True
        elif verb in ("light", "extinguish"):
            self.lit = verb == "light"
        elif verb == "open":
            self._opened.add(thing)
            if thing == "chest" and not self.open:
                self.open = True
                self.where[self._in_chest] = "chest" if self._furniture else self.at
        elif verb == "close":
            self._opened.discard(thing)
        elif verb == "unlock":
            self.unlocked = True
        elif verb == "give":
            self.have.discard(thing)
        elif verb == "eat":
            self.have.discard("bread")
        elif verb == "put":
            within = rest.split(" ")[2]
            self.have.discard(thing)
            if self._furniture:
                self.where[thing] = within
            if within == "case":
                self._pay(f"case {thing}", self.points.get(thing, 0) // 2)
        elif verb == "attack":
            armed, luck = action.endswith("sword"), self._luck.random()
            self.slain = luck < ((0.12 if self._waking else 0.45) if armed else 0.03)
            self.stunned = self._waking and armed and not self.slain and luck < 0.5
            if self.slain and self._armed:
                self.where["axe"] = self.at
            if not self.stunned and luck > (0.88 if armed else 0.6):
                self._die()
        elif verb == "jump":
            self._die()
        if self._waking and not self.slain and not self.done and verb != "attack":
            luck = self._luck.random()
            if self.stunned:
                self.stunned = luck < 0.4
            elif self.at == self.troll and luck < 0.06:
                self._die()
        return self.state(), float(self.score - before)

    def _move(self, way: str) -> None:
        there = self.exits[self.at].get(way)
        if not self.light and self._luck.random() < 0.5:
            self._die()
        elif there is not None and not self._is_barred(there):
            self.at = there

    def _is_barred(self, there: str) -> bool:
        further = self.rooms.index(there) > self.rooms.index(self.at)
        by_troll = self.at == self.troll and not (self.slain or self.stunned) and further
        return by_troll or (there == self.locked and not self.unlocked)

    def _take(self, thing: str) -> None:
        if len(self.have) >= self._hands:
            return
        self.where.pop(thing, None)
        self.have.add(thing)
        self._pay(thing, self.points.get(thing, 0))

    def _pay(self, what: str, points: int) -> None:
        if what not in self.paid:
            self.paid.add(what)
            self.score += points

    def _die(self) -> None:
        self.done = self.died = True
        self.score -= 3


class Nothing:
    """An empty memory: what is lived is learnt as it comes."""

    def entered(self) -> tuple[()]:
        """Return none."""
        return ()

    def corrections(self, memory_filter: object) -> dict[int, object]:
        """Return none."""
        return {}


def play(
    seed: int,
    episodes: int,
    steps: int,
    hands: int,
    furnished: bool,
    untold: bool,
    armed: bool,
    waking: bool,
    restless: bool,
    settings: Settings,
    numbers: PlanNumbers | None = None,
) -> tuple[list[float], int]:
    """Return each episode's share of all points, and how many ended in death."""
    dungeon = Dungeon(
        seed, hands, furnished=furnished, untold=untold, armed=armed, waking=waking, restless=restless
    )
    estimator = GraphEstimator((), settings, numbers=numbers)
    agent = JitrlAgent(UniformPrior(), estimator, settings)  # type: ignore[arg-type]
    shares, deaths = list[float](), 0
    for episode in range(1, episodes + 1):
        state = dungeon.reset()
        agent.begin_episode(state)
        for number in range(steps):
            turn = Turn(
                number, steps - number, Observation(""), state, dungeon.valid(), episode=episode, episodes=episodes
            )
            action = agent.decide(turn, np.random.default_rng([seed, number])).action
            before = state
            state, reward = dungeon.step(action)
            step = Step(before, action, reward, reward, dungeon.score, valid_actions=turn.valid_actions)
            agent.observe(
                step, state, observation=turn.observation, terminated=dungeon.done, lost=dungeon.died
            )
            if dungeon.done:
                break
        shares.append(dungeon.score / dungeon.most)
        deaths += dungeon.died
    return shares, deaths


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", default="1-10", help="first and last dungeon")
    parser.add_argument("--episodes", type=int, default=30)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--hands", type=int, default=99, help="how many things can be carried")
    parser.add_argument(
        "--furnished", action="store_true", help="box, jar, chest and case take anything once open"
    )
    parser.add_argument(
        "--untold", action="store_true", help="the same, and whether they are open is not described"
    )
    parser.add_argument("--armed", action="store_true", help="the troll has an axe that he leaves behind")
    parser.add_argument("--waking", action="store_true", help="the troll is mostly knocked out, and wakes up")
    parser.add_argument(
        "--restless", action="store_true", help="luck goes on with each turn, as in most games"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], dest="changes", help="NAME=VALUE of a setting")
    args = parser.parse_args()
    changes = {name: value(text) for name, _, text in (change.partition("=") for change in args.changes)}
    settings = profile("default", **changes)
    first, _, last = args.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    averages, lasts = [], []
    with ProcessPoolExecutor(args.jobs) as pool:
        for seed, (shares, deaths) in zip(
            seeds,
            pool.map(
                partial(
                    play,
                    episodes=args.episodes,
                    steps=args.steps,
                    hands=args.hands,
                    furnished=args.furnished,
                    untold=args.untold,
                    armed=args.armed,
                    waking=args.waking,
                    restless=args.restless,
                    settings=settings,
                ),
                seeds,
            ),
            strict=True,
        ):  # fmt: skip
            averages.append(statistics.fmean(shares))
            lasts.append(statistics.fmean(shares[-5:]))
            print(
                f"{seed:4d}  average {averages[-1]:.2f}  last five {lasts[-1]:.2f}  deaths {deaths}",
                flush=True,
            )
    print(f" all  average {statistics.fmean(averages):.3f}  last five {statistics.fmean(lasts):.3f}")


if __name__ == "__main__":
    main()
