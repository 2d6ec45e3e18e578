"""How far a language model's step scores go with the game's score: rank correlation on the same episodes.

    python -m tests.bench.bench_llm_rewards [--model NAME] [--episodes N] [--steps M] [--saves DIR]

Episodes of the shipped games are played by `prior/verbs` with the default profile and a memory of their own, and
recorded. Each recorded episode is then judged twice: by the score evaluator, and by the model with the paper's prompt.
Spearman's rho is taken over the steps that the model judged, episode by episode, with ranks shared by equals, and over
all of them together. Also told: on how many steps the two agree in sign, and how many the model left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.environments import profile
from engine.evaluator import LlmEvaluator, ScoreEvaluator
from engine.llm import open_model
from engine.memory import Memory
from engine.records import Episode
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig


def recorded(saves: Path, game: str, episodes: int, steps: int) -> list[Episode]:
    """Play and return the episodes as memory keeps them."""
    settings = profile("default", step_limit=steps)
    config = SessionConfig(game=game, model="prior/verbs", episodes=episodes, settings=settings, memory="own")
    saved = sessions.create(saves, config, "rewards")
    Session(saved, saves, lambda event: None).run()
    with Memory(saved.folder / "memory") as memory:
        return [episode for name in memory.scopes() for episode in memory.scope(name).episodes()]


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return ranks from 1; equals share theirs."""
    array = np.asarray(values, dtype=np.float64)
    return np.asarray([(array < v).sum() + ((array == v).sum() + 1) / 2 for v in array])


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Spearman's rho, nan where one of the two is constant."""
    x, y = ranks(a), ranks(b)
    if len(x) < 3 or x.std() == 0 or y.std() == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def main() -> None:
    """Play, judge, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="local/smollm2")
    parser.add_argument("--games", default="pantry,manor,feast")
    parser.add_argument("--episodes", type=int, default=1, help="of each game (%(default)s)")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--saves", help="where the model's files and replies are kept (nowhere)")
    args = parser.parse_args()
    settings = profile("default", rewards="llm", threads=args.threads, deadline_s=3600.0)
    all_scores: list[float] = []
    all_judged: list[float] = []
    with tempfile.TemporaryDirectory() as scratch:
        cache = (Path(args.saves) if args.saves else Path(scratch)) / "cache"
        model = open_model(args.model, settings=settings, cache=cache)
        for game in args.games.split(","):
            for number, episode in enumerate(recorded(Path(scratch), game, args.episodes, args.steps), 1):
                started, processor = time.perf_counter(), time.process_time()
                end = {"terminated": episode.terminated, "truncated": episode.truncated, "outcome": episode.outcome}
                by_score = ScoreEvaluator(settings).rewards(episode.steps, episode.final, **end).rewards
                evaluator = LlmEvaluator(settings, model, hybrid=False)
                judged = evaluator.rewards(episode.steps, episode.final, **end)
                found = judged.scored
                ours = [by_score[t] for t in found]
                theirs = [judged.rewards[t] for t in found]
                all_scores += ours
                all_judged += theirs
                figure = {
                    "model": args.model, "game": game, "episode": number, "score": episode.score,
                    "steps": len(episode.steps), "judged": len(found), "calls": len(judged.calls),
                    "distinct": len(set(theirs)), "rho": round(spearman(ours, theirs), 3),
                    "same_sign": sum(np.sign(a) == np.sign(b) for a, b in zip(ours, theirs, strict=True)).item()
                    if found else 0,
                    "seconds": round(time.perf_counter() - started, 1),
                    "processor_s": round(time.process_time() - processor, 1), "note": judged.note,
                }  # fmt: skip
                print(json.dumps(figure), flush=True)
        model.close()
    print(json.dumps({"model": args.model, "steps judged": len(all_judged),
                      "rho over all": round(spearman(all_scores, all_judged), 3)}))  # fmt: skip


if __name__ == "__main__":
    main()
