"""Random corrections of remembered steps, and an episode played after each of them.

    python -m tests.bench.soak_corrections [--rounds 40] [--seed 1] [--singles]

A round is a memory of a few random episodes of a story. It is corrected again and again: steps and episodes are
forgotten, given other points or returns, pinned, put back, merged from another memory, by the functions of the screens
and by commands. After each correction an episode is played with `graph` or `knn`: in a new session, in one that was
left in the middle and is resumed, and from what the estimator kept of an earlier opening. A trial survives if
the episode is played to its end and memory decided every step. `--singles` forgets each step of two games alone.

Ends with `N survived, M lost`; exits with 1 if any was lost. `run` does the same for the whole soak.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import io
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest import mock

import numpy as np

from engine.environments import profile
from engine.errors import UsageError
from engine.games.catalogue import open_game
from engine.games.env import GameEnvironment
from engine.memory import Memory, upkeep
from engine.memory.exchange import merge_from
from engine.memory.scope import Scope
from engine.memory.search import Correction, MemoryFilter
from engine.memory.upkeep import correct
from engine.memory.view import ScopeView
from engine.records import Candidate, Step, Stepped
from engine.session import store as sessions
from engine.session import whatif
from engine.session.loop import Session
from engine.session.store import SavedSession
from engine.settings import SessionConfig
from engine.settings.plan import OpeningNumbers
from engine.values import learnt
from engine.values.base import Query
from engine.values.graph import GraphEstimator
from jitrl_tui import cli
from tests.games import proving_ground
from tests.playing import run as play

Tell = Callable[[str], None]
SHIPPED = ("pantry", "manor", "feast")
PROVING = ("doors", "dark")
STEPS = 25
"""Of an episode."""
SHORT = 15
"""Of an episode after a single step was forgotten."""


def new_session(saves: Path, game: str, estimator: str, *, episodes: int = 1, seed: int = 1) -> SavedSession:
    """Return a new session that needs no model."""
    settings = dataclasses.replace(profile("default"), step_limit=STEPS, estimator=estimator)
    config = SessionConfig(game, model="prior/uniform", episodes=episodes, seed=seed, settings=settings)
    return sessions.create(saves, config, f"run-{random.randrange(1 << 30):x}")


def filled(saves: Path, game: str, episodes: int, seed: int) -> str:
    """Play some episodes; return the name of the scope."""
    session, _ = play(new_session(saves, game, random.Random(seed).choice(("graph", "knn")), episodes=episodes,
                                  seed=seed), saves)  # fmt: skip
    assert session.error is None, session.error
    with Memory(saves / "memory") as memory:
        return memory.scopes()[0]


def corrected(dice: random.Random, saves: Path, name: str, other: Path) -> str:
    """Correct a memory at random; return what was done.

    Args:
        other: The folder of another memory of the same story.
    """
    with Memory(saves / "memory") as memory:
        scope = memory.scope(name)
        live = [entry for entry in range(scope.next_entry) if scope.entry(entry) is not None]
        entries = dice.sample(live, min(len(live), dice.choice((1, 1, 2, 5)))) if live else []
        what = dice.choice(("forget", "forget", "forget episode", "edit", "edit", "undo", "merge", "command", "screen"))
        if what == "forget" and entries:
            upkeep.forget_all(memory, [(scope, upkeep.plan_forget(scope, entries=entries))])
        elif what == "forget episode" and entries:
            number = str(_episode(scope, entries[0]))
            upkeep.forget_all(memory, [(scope, upkeep.plan_forget(scope, episodes=[number]))])
            what += f" {number}"
        elif what == "edit":
            correct(scope, {entry: _correction(dice) for entry in entries})
        elif what == "screen":
            edits = {entry: _correction(dice) for entry in entries[1:]}
            whatif.keep(scope, memory, MemoryFilter(without=frozenset(entries[:1]), corrections=edits))
        elif what == "undo":
            with contextlib.suppress(UsageError):  # nothing was forgotten
                upkeep.undo_last(memory)
        elif what == "merge":
            merge_from(memory, other)
    if what == "command" and entries:
        what = _command(dice, saves, name, entries[0])
    return f"{what} {entries}"


def _command(dice: random.Random, saves: Path, name: str, entry: int) -> str:
    """Do it as a person does in a shell; return the command."""
    commands = (
        ["forget", name, "--entry", str(entry)],
        ["forget", "--undo"],
        ["correct", name, "--entry", str(entry), "--points", str(dice.choice((5, 0, 2.5)))],
        ["correct", name, "--entry", str(entry), "--pin", "--return", "3"],
        ["correct", name, "--entry", str(entry), "--as-stored"],
    )
    command = dice.choice(commands)
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        code = cli.main(["memory", *command, "--saves", str(saves)])
    assert code == 0 or command == ["forget", "--undo"], (code, command)
    return " ".join(command)


def _correction(dice: random.Random) -> Correction:
    numbers = (None, 0.0, 1.0, 5.0, -5.0, 40.0)
    return Correction(g=dice.choice(numbers), gain=dice.choice(numbers), pinned=dice.random() < 0.3)


def _episode(scope: Scope, entry: int) -> int:
    found = scope.located(entry)
    assert found is not None
    return found[0].number


def kept_openings() -> contextlib.AbstractContextManager[object]:
    """Have every opening of an estimator kept, however quick it was."""
    return mock.patch.object(learnt, "OpeningNumbers", functools.partial(OpeningNumbers, relived_s=0.0))


def problem(session: Session) -> str:
    """Return what is wrong with how a session went, "" for nothing."""
    if session.error is not None:
        return repr(session.error)
    unvalued = sum(ended.tally.unvalued for ended in session.results)
    return f"{unvalued} steps without memory" if unvalued else ""


def played_after(dice: random.Random, saves: Path, game: str, correction: Callable[[], str]) -> str:
    """Correct and play an episode, in a random way; return what is wrong, "" for nothing."""
    estimator = dice.choice(("graph", "graph", "knn"))
    if dice.random() < 0.6:
        said = correction()
        session, _ = play(new_session(saves, game, estimator), saves)
    else:  # the session is left, memory is corrected, and it is resumed
        saved, at = new_session(saves, game, estimator, episodes=2), (dice.choice((1, 2)), dice.randrange(1, 6))

        def leave(session: Session, event: object) -> None:
            if isinstance(event, Stepped) and (event.episode, event.step) == at:
                session.control.stop()

        play(saved, saves, leave)
        said = correction()
        session, _ = play(saved, saves)
    wrong = problem(session)
    return f"{game}, {estimator}, {said}: {wrong}" if wrong else ""


def trials(game: str, count: int, seed: int, tell: Tell) -> Iterator[bool]:
    """Correct a random memory of a game so many times, and play after each; yield whether it went well."""
    dice = random.Random(f"{game} {seed}")
    with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as folder, kept_openings():
        saves, other = Path(folder) / "saves", Path(folder) / "other"
        name = filled(saves, game, dice.randrange(2, 7), seed)
        filled(other, game, 2, seed + 1)
        for number in range(count):
            try:
                wrong = played_after(dice, saves, game, lambda: corrected(dice, saves, name, other / "memory"))
            except Exception as error:
                wrong = f"{game}: {error!r}"
            if wrong:
                tell(f"seed {seed}, correction {number}: {wrong}")
            yield not wrong


def singles(game: str, episodes: int, tell: Tell) -> Iterator[bool]:
    """Do without each step of a memory alone, and play an episode; yield whether it went well."""
    settings = profile("default")
    with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as folder:
        saves = Path(folder)
        config = SessionConfig(game, model="prior/verbs", episodes=episodes, settings=settings)
        session, _ = play(sessions.create(saves, config, "run"), saves)
        assert session.error is None, session.error
        environment = open_game(game)
        with Memory(saves / "memory") as memory, contextlib.closing(environment):
            scope = memory.scope(memory.scopes()[0])
            for entry in range(scope.next_entry):
                wrong = ""
                try:
                    view = ScopeView(scope, MemoryFilter(without=frozenset({entry})))
                    _walk(environment, learnt.open_estimator(GraphEstimator, view, settings))
                except Exception as error:
                    wrong = repr(error)
                    tell(f"{game}, without entry {entry} of {scope.next_entry}: {wrong}")
                yield not wrong
            tell(f"{game}: each of {scope.next_entry} steps forgotten alone")


def _walk(environment: GameEnvironment, estimator: GraphEstimator) -> None:
    """Follow an estimator's advice from the beginning of an episode."""
    abstractor, seen = environment.abstractor(), environment.reset(1)
    state = abstractor.begin(seen)
    estimator.begin_episode(state)
    for left in range(SHORT, 0, -1):
        valid = environment.valid_actions()
        candidates = tuple(Candidate(action, 0.0) for action in estimator.also(state, valid))
        q = estimator.value(Query(state, (), candidates, valid, left), np.random.default_rng(left)).q
        action, before = candidates[int(np.argmax(q))].action, seen
        seen = environment.step(action)
        gain = seen.score - before.score
        step = Step(state, action, gain, gain, seen.score, valid_actions=valid)
        state = abstractor.advance(action, seen)
        estimator.observe(step, state, terminated=seen.terminated, lost=seen.outcome == "lost")
        if seen.over:
            return


def run(tell: Tell, *, rounds: int = 10, corrections: int = 8, seed: int = 1) -> tuple[int, int]:
    """Do all trials; return how many survived and how many were lost."""
    results = list[bool]()
    with tempfile.TemporaryDirectory(prefix="jitrl-stories-") as folder:
        stories = [] if proving_ground.missing() else PROVING
        games = (*SHIPPED, *(str(proving_ground.compiled(name, Path(folder))) for name in stories))
        for number in range(rounds):
            for game in games:
                results += trials(game, corrections, seed + number, tell)
    tell(f"corrections of memory: {sum(results)} of {len(results)} episodes played after them")
    return sum(results), len(results) - sum(results)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials and print the count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--singles", action="store_true")
    args = parser.parse_args(argv)

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if args.singles:
        results = [*singles("pantry", 7, tell), *singles("manor", 8, tell)]
        survived, lost = sum(results), len(results) - sum(results)
    else:
        survived, lost = run(tell, rounds=args.rounds, seed=args.seed)
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
