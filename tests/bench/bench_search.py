"""How long a step's search for valid actions takes, what it covers, and Jericho's own search beside it, in one run.

    python -m tests.bench.bench_search [--stories NAME ...] [--states 12] [--peer 3] [--folder DIR]

Stories: those of the proving ground and the crowded one, those in the folder, and those that are shipped. States lie
evenly along the known solution; 0 means all of them. Each is met for the first time, as in play without a cache on
disk. Times are of the processor, as other work on the machine would count otherwise. "tried" is how many commands
were run in a state, on average. A step of the solution is covered if it changes nothing, or if an offered action
leads to the same world, score and end. A step that turns a page is not counted, as each action turns the page and
goes on. Searches have the limit of the settings.

Jericho's `get_valid_actions` is asked at the first few of the same states. It gets its nouns from the tagger of
`bench_games`. For a story that Jericho does not know it gets the story's grammar as we read it. Of many candidates
only a thousand are run, and the time of the rest is reckoned from them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.games.catalogue import known_solution, list_games, read_story
from engine.games.stories.inform import solution_in, source_text
from engine.games.story import Story
from engine.settings import Settings
from tests.bench.bench_games import tag
from tests.bench.bench_memory import note
from tests.games import crowded, proving_ground

CANDIDATES = 1000
STORY_S = 900


class Peer:
    """Jericho's own search, in a story of its own."""

    def __init__(self, path: Path, seed: int, analysis: Any) -> None:
        import jericho
        from jericho import util

        util.spacy_nlp = tag
        self.env = jericho.FrotzEnv(str(path), seed=seed)
        self.env.reset()
        grammar = analysis.grammar
        self.known = bool(self.env.is_fully_supported)
        if not self.known and grammar is not None:
            lines = [line for line in grammar.patterns if len(line.slots) < 3 and not line.meta]
            templates = {
                " ".join(["/".join(line.verbs), *(p[0] if isinstance(p, tuple) else "OBJ" for p in line.parts)])
                for line in lines
            }
            self.env.act_gen = jericho.TemplateActionGenerator(
                {"name": path.stem, "grammar": ";".join(sorted(templates)), "max_word_length": 9}
            )

    def seconds(self) -> float | None:
        """Return what one search takes; None if Jericho has no candidates."""
        if self.env.act_gen is None:
            return None
        state = self.env.get_state()
        begun = time.process_time()
        if self.known:
            names = self.env._score_object_names(self.env._identify_interactive_objects(use_object_tree=True))
        else:  # Jericho looks for the player's object, which it does not know here
            shown = self.env.step("look")[0]
            self.env.set_state(state)
            shown += self.env.step("inventory")[0]
            self.env.set_state(state)
            names = [noun.text for noun in tag(shown)]
        every = self.env.act_gen.generate_actions(names)
        made = time.process_time() - begun
        tried = random.Random(1).sample(every, min(len(every), CANDIDATES))
        begun = time.process_time()
        self.env._filter_candidate_actions(tried, use_ctypes=True)
        run = time.process_time() - begun
        self.env.set_state(state)
        return made + run * len(every) / max(len(tried), 1)


def measured(
    name: str, path: Path, metadata: str | None, seed: int, commands: Sequence[str], states: int, peers: int
) -> dict[str, Any]:
    """Return the figures of one story."""
    from engine.games.zmachine.interpreter import Interpreter
    from engine.games.zmachine.keys import choices
    from engine.games.zmachine.prompt import KEY
    from engine.games.zmachine.trial import Trial

    tried, limit = 0, Settings().valid_commands
    attempt = Trial.__call__

    def counted(trial: Trial, command: str, things: int = 0) -> Any:
        nonlocal tried
        tried += 1
        return attempt(trial, command, things)

    Trial.__call__ = counted  # type: ignore[method-assign]
    warnings.simplefilter("ignore")
    ours = Interpreter(str(path), metadata, read_story(path).digest, None)
    last = ours.reset(seed)
    peer = Peer(path, seed, ours.analysis) if peers and not metadata else None
    count = len(commands)
    chosen = {round(i * (count - 1) / max(states - 1, 1)) for i in range(states)} if states else set(range(count))
    took: list[float] = []
    theirs: list[tuple[float, float]] = []
    tally = dict.fromkeys(("steps", "covered", "scoring", "scoring covered"), 0)
    missed: list[str] = []
    for number, command in enumerate(commands):
        command = command.lower()
        if number not in chosen:
            last = ours.step(command)
            if peer is not None:
                peer.env.step(command)
            continue
        begun = time.process_time()
        found, _ = ours.valid_actions(limit=limit)
        took.append(time.process_time() - begun)
        if peer is not None and len(theirs) < peers:
            other = peer.seconds()
            if other is not None:
                theirs.append((took[-1], other))
        saved = ours.save()
        after = ours.step(command)
        effect = (after.world_hash, after.score, after.over)
        ours.restore(saved)
        turns = ours._prompt.kind() == KEY and len(choices(ours.machine)) == 1
        if not turns and effect != (last.world_hash, last.score, False):
            same = {command} if command in found else {a for a in found if _leads(ours, saved, a, effect)}
            tally["steps"] += 1
            tally["covered"] += bool(same)
            tally["scoring"] += after.score != last.score
            tally["scoring covered"] += after.score != last.score and bool(same)
            if not same:
                missed.append(f"{number}: {command}")
        ours.restore(saved)
        last = ours.step(command)
        if peer is not None:
            peer.env.step(command)
        if last.over:
            break
    took.sort()
    return {
        "story": name,
        "z": path.read_bytes()[0],
        "states": len(took),
        "median_ms": round(1000 * statistics.median(took), 1),
        "p99_ms": round(1000 * took[min(len(took) - 1, int(0.99 * len(took)))], 1),
        "mean_ms": round(1000 * statistics.mean(took), 1),
        "tried": round(tried / max(len(took), 1)),
        "peer_ms": round(1000 * statistics.median(other for _, other in theirs), 1) if theirs else None,
        "of_peer": round(sum(mine for mine, _ in theirs) / sum(other for _, other in theirs), 3) if theirs else None,
        **tally,
        "missed": missed,
    }


def _leads(ours: Any, saved: bytes, action: str, effect: tuple[Any, ...]) -> bool:
    ours.restore(saved)
    after = ours.step(action)
    return (after.world_hash, after.score, after.over) == effect


def _child(channel: Any, *arguments: Any) -> None:
    channel.send(measured(*arguments))


def apart(*arguments: Any) -> dict[str, Any]:
    """Measure a story in a process of its own: a command may hang it."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.Process(target=_child, args=(theirs, *arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        if ours.poll(STORY_S):
            return dict(ours.recv())
    except EOFError:
        pass
    finally:
        child.kill()
        child.join()
    return {"story": arguments[0], "lost": True}


def stories(folder: Path, made: Path) -> dict[str, tuple[Path, str | None, int, Sequence[str]]]:
    """Return path, metadata, seed and solution of each story."""
    found: dict[str, tuple[Path, str | None, int, Sequence[str]]] = {}
    if not proving_ground.missing():
        found["crowded"] = (crowded.compiled(made), None, 1, crowded.SOLUTION.split("; "))
        for name in proving_ground.NAMES:
            text = source_text(proving_ground.FOLDER / f"{name}.inf")
            found[name] = (proving_ground.compiled(name, made), None, 1, solution_in(text))
    given: list[Story] = [read_story(path) for path in sorted(folder.glob("*.z?"))]
    for story in (*given, *(one for one in list_games() if one.shipped)):
        seed, commands = known_solution(story) or (1, ())
        found[story.name] = (story.path, str(story.metadata) if story.metadata else None, seed, commands)
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="bench_search", description=__doc__.splitlines()[0])
    parser.add_argument("--stories", nargs="*", default=[])
    parser.add_argument("--states", type=int, default=12)
    parser.add_argument("--peer", type=int, default=3, help="states at which Jericho is asked")
    parser.add_argument("--folder", type=Path, default=Path("../shared/games"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        for name, (path, metadata, seed, commands) in stories(chosen.folder, Path(made)).items():
            if chosen.stories and name not in chosen.stories:
                continue
            if not commands:
                note(f"{name} has no known solution; it is not measured")
                continue
            print(json.dumps(apart(name, path, metadata, seed, commands, chosen.states, chosen.peer)), flush=True)


if __name__ == "__main__":
    main()
