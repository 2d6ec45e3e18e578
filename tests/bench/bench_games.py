"""How fast and how complete valid actions are, ours and Jericho's own in one run: one JSON line a figure.

    python -m tests.bench.bench_games [GAME ...] [--states 30] [--folder DIR] [--first 600] [--episodes 50]

States lie evenly along the walkthrough that Jericho knows. Jericho's own call gets its object names from a
small tagger (every word but stop words counts as a noun), since the spaCy model is no part of this project;
what it takes stands beside ours. Recall is the share of distinct worlds that Jericho's actions lead to which
ours lead to, too; a world is what `FrotzEnv.get_world_state_hash` says, with the score and whether the game has
ended. Jericho's filter counts more: also what is set to what it was, such as opening what is open. By that count,
recall is printed as well. `first` is what is found within so many commands. Times are those of situations met for
the first time.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.games.catalogue import read_story
from engine.games.env import GameEnvironment
from engine.games.zmachine.interpreter import Interpreter
from tests.bench.bench_memory import note, say

TARGET_MS = {"zork1": 60.0, "library": 150.0}
_STOP_WORDS = """
    a an the this that these those some any no my your his her its our their i me you he she it we they
    is are was were be been being am do does did have has had can could will would shall should may might must
    and or but if then than so as of in on at to from by with for into onto over under up down out off about
    there here not what which who where when how all only very just also north south east west northeast
    northwest southeast southwest
"""
_STOP = frozenset(_STOP_WORDS.split())


class _Noun:
    pos_ = "NOUN"

    def __init__(self, word: str) -> None:
        self.text, self.lower_, self.lemma_ = word, word.lower(), word.lower()


def tag(text: str) -> list[_Noun]:
    """Return every word but stop words, each once, as a noun."""
    words = dict.fromkeys(re.findall(r"[a-z][a-z'-]*", text.lower()))
    return [_Noun(word) for word in words if word not in _STOP]


def worlds(env: Any, commands: Iterable[str]) -> set[Any]:
    """Return the distinct worlds other than the present one that these commands lead to, by Jericho's hash."""
    state = env.get_state()
    here = (env.get_world_state_hash(), env.get_score(), False)
    found = set()
    for command in commands:
        env.set_state(state)
        env.step(command)
        ended = bool(env.game_over() or env.victory())
        found.add((env.get_world_state_hash(), env.get_score(), ended))
    env.set_state(state)
    return found - {here}


def filtered(env: Any, commands: list[str]) -> dict[Any, list[str]]:
    """Return what Jericho's own filter makes of these commands: one entry for each change it counts."""
    state = env.get_state()
    found: dict[Any, list[str]] = env._filter_candidate_actions(commands, use_ctypes=True) if commands else {}
    env.set_state(state)
    return found


def measure(name: str, path: Path, states: int, first: int) -> None:
    """Print the figures of one game."""
    import jericho
    from jericho import util

    util.spacy_nlp = tag
    story = read_story(path)
    peer = jericho.FrotzEnv(str(path), seed=1)
    walkthrough = peer.get_walkthrough()
    seed = peer.bindings["seed"]
    peer = jericho.FrotzEnv(str(path), seed=seed)
    peer.reset()
    with tempfile.TemporaryDirectory() as cache:
        ours = Interpreter(str(path), None, story.digest, cache)
        times, theirs, cached = [], [], []
        counts: Counter[str] = Counter()
        chosen = {round(i * (len(walkthrough) - 1) / max(states - 1, 1)) for i in range(states)}
        last = ours.reset(seed)
        missed: list[str] = []
        met: set[str] = set()
        for number, command in enumerate(walkthrough):
            if number in chosen and f"{last.world_hash} {last.description} {last.inventory}" not in met:
                met.add(f"{last.world_hash} {last.description} {last.inventory}")
                begun = time.perf_counter()
                quick, done = ours.valid_actions(first)
                found = quick if done else ours.valid_actions(None)[0]
                times.append(time.perf_counter() - begun)
                begun = time.perf_counter()
                ours.valid_actions(None)
                cached.append(time.perf_counter() - begun)
                state = peer.get_state()
                begun = time.perf_counter()
                names = peer._identify_interactive_objects(use_object_tree=True)
                candidates = peer.act_gen.generate_actions(peer._score_object_names(names))
                raw = peer._filter_candidate_actions(candidates, use_ctypes=True)
                theirs.append(time.perf_counter() - begun)
                peer.set_state(state)
                mine = worlds(peer, found)
                compare(
                    peer, [str(options[0]) for options in raw.values()], mine, worlds(peer, quick), counts
                )
                counts["raw hits"] += len(set(raw) & set(filtered(peer, list(found))))
                counts["raw"] += len(raw)
                missed += [f"{number}:{v[0]}" for v in raw.values() if worlds(peer, v[:1]) - mine]
                step = worlds(peer, [command.lower()])
                counts["steps"] += bool(step)
                counts["steps found"] += bool(step & mine)
                if step and not step & mine:
                    missed.append(f"{number}:WALK {command}")
            peer.step(command)
            last = ours.step(command.lower())
            if last.over:
                break
    ms = [statistics.median(values) * 1e3 for values in (times, theirs, cached)]
    say(f"{name} valid actions, cold, median", ms[0], "ms", target=TARGET_MS.get(name),
        peer="Jericho's get_valid_actions", peer_value=ms[1])  # fmt: skip
    say(f"{name} valid actions, cold, worst", max(times) * 1e3, "ms",
        peer="Jericho's get_valid_actions", peer_value=max(theirs) * 1e3)  # fmt: skip
    say(f"{name} valid actions, cached, median", ms[2], "ms", target=1.0)
    share("recall, all", name, counts["hits"], counts["wanted"], 0.98)
    share(f"recall, first {first} commands", name, counts["hits first"], counts["wanted"], 0.90)
    share("recall, all, as Jericho's filter counts", name, counts["raw hits"], counts["raw"], None)
    share(
        "the walkthrough's steps that change the world, among the valid ones",
        name,
        counts["steps found"],
        counts["steps"],
        0.97,
    )
    note(f"{name}: not found: {missed}")


def compare(peer: Any, theirs: list[str], mine: set[Any], quick: set[Any], counts: Counter[str]) -> None:
    """Count the worlds that Jericho's actions lead to, and those of them that ours lead to."""
    wanted = worlds(peer, theirs)
    counts["wanted"] += len(wanted)
    counts["hits"] += len(wanted & mine)
    counts["hits first"] += len(wanted & quick)


def share(figure: str, name: str, part: int, whole: int, target: float | None) -> None:
    """Print a share as what is missing from it, so that smaller is better as everywhere."""
    say(f"{name} missing from {figure} ({part}/{whole})", 1 - part / max(whole, 1), "share",
        target=None if target is None else 1 - target)  # fmt: skip


def measure_process(name: str, path: Path) -> None:
    """Print what the process around the game costs."""
    story = read_story(path)
    with tempfile.TemporaryDirectory() as folder:
        GameEnvironment(story, Path(folder)).close()  # what is found out about a story once, is kept
        starts = []
        for _ in range(5):
            begun = time.perf_counter()
            env = GameEnvironment(story, Path(folder))
            env.reset(1)
            starts.append(time.perf_counter() - begun)
            env.close()
        env = GameEnvironment(story, Path(folder))
        env.reset(1)
        steps = []
        for i in range(400):
            begun = time.perf_counter()
            seen = env.step(("north", "south", "look", "wait")[i % 4])
            steps.append(time.perf_counter() - begun)
            if seen.over:
                env.reset(1)
        saved = env.save()
        times: list[list[float]] = [[], []]
        for _ in range(100):
            begun = time.perf_counter()
            saved = env.save()
            times[0].append(time.perf_counter() - begun)
            begun = time.perf_counter()
            env.restore(saved)
            times[1].append(time.perf_counter() - begun)
        env.close()
    say(f"{name} worker start to first observation, median", statistics.median(starts), "s", target=0.6)
    say(f"{name} step over the pipe (look and inventory included), median",
        statistics.median(steps) * 1e3, "ms", target=0.5)  # fmt: skip
    say(f"{name} save, median", statistics.median(times[0]) * 1e3, "ms", target=5.0)
    say(f"{name} restore, median", statistics.median(times[1]) * 1e3, "ms", target=5.0)


def episodes(name: str, path: Path, count: int, steps: int) -> None:
    """Print what engine-only random play takes, cold and then with a warm cache."""
    import numpy as np

    story = read_story(path)
    with tempfile.TemporaryDirectory() as folder:
        for what, target in (("cold", 600.0), ("warm", 30.0)):
            rng = np.random.default_rng(0)
            env = GameEnvironment(story, Path(folder))
            begun = time.perf_counter()
            for episode in range(count):
                seen = env.reset(episode + 1)
                for _ in range(steps):
                    valid = env.valid_actions()
                    if seen.over or not valid:
                        break
                    seen = env.step(valid[int(rng.integers(len(valid)))])
            taken = time.perf_counter() - begun
            env.close()
            say(f"{name} {count} x {steps} steps of random play, {what}", taken, "s", target=target)


def main() -> None:
    """Measure."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="bench_games", description=__doc__.splitlines()[0])
    parser.add_argument("games", nargs="*", default=["zork1", "zork3", "library"])
    parser.add_argument("--states", type=int, default=30)
    parser.add_argument("--folder", type=Path, default=Path("../shared/games"))
    parser.add_argument("--first", type=int, default=600, help="commands in the first part")
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--steps", type=int, default=60)
    chosen = parser.parse_args()
    for name in chosen.games:
        path = chosen.folder / f"{name}.z5"
        if not path.is_file():
            note(f"{path} is not there; {name} is not measured")
            continue
        measure(name, path, chosen.states, chosen.first)
        measure_process(name, path)
        if chosen.episodes:
            episodes(name, path, chosen.episodes, chosen.steps)


if __name__ == "__main__":
    main()
