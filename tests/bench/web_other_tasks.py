"""Memory of other tasks on a made-up site, without a browser: no memory, `literal` and `lifted`, in seconds.

    python -m tests.bench.web_other_tasks --seeds 20

A page lists eight names, behind each are three facts; a task asks for one of them. The agent, the memory and the states
are the real ones; the pages are two lists of actions, and the prior is noise that leans to what fits the task, by its
skill: 0 sees nothing, at 4 it is mostly right. Twelve tasks one after the other, five episodes each. Intervals are 95 %
bootstrap intervals over seeds, each of which has its own tasks and draws; the same for all arms.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from engine.agents import AGENTS
from engine.agents.base import Turn
from engine.environments import profile, scope_rules
from engine.memory import Memory
from engine.records import Candidate, Episode, Observation, Proposal, State, Step
from engine.web.states.state import WebAbstractor
from tests.agents.context import context
from tests.bench.web_experiment import _shown

ARMS = ("static", "literal", "lifted")
TASKS, EPISODES = 12, 5
NAMED = ("Quarrow", "Glenmoor", "Old Harbor", "Tarn", "Westby", "Millford", "Sedge", "Upper Lyne")
ASKED_OF = ("population", "mayor", "river")


class Skilled:
    """A prior that sees, the better the more skill it has, which words of the page are the task's, or its answer."""

    def __init__(self, name, answer, skill):
        self._name, self._answer, self._skill = name, answer, skill

    def propose(self, request, rng):
        """Return three options, each with its share as logit."""
        z = rng.gumbel(size=len(request.valid_actions))
        for i, action in enumerate(request.valid_actions):
            z[i] += self._skill * (f"[{self._name}]" in action) + self._skill / 2 * (self._answer in action)
        best = np.argsort(-z)[:3]
        share = np.exp(z[best]) / np.exp(z[best]).sum()
        return Proposal(
            tuple(
                Candidate(request.valid_actions[i], float(p), "model")
                for i, p in zip(best, share, strict=True)
            )
        )


def played(scope, settings, skill, name, asked, rng, number):
    """Play one episode: a list of links, behind each a page with three facts; return whether the answer was right."""
    method = AGENTS.find("jitrl" if scope is not None else "static")
    agent = method.make(context(Skilled(name, f"{asked} {name}", skill), scope, settings))
    abstractor = WebAbstractor(lambda: f"What is the {asked} of {name}?", lambda: ())
    now, page, steps, right = abstractor.begin(Observation("x", place="a/list")), "", [], False
    for t in range(6):
        links = (*(f"click(<link[{each}]>)" for each in NAMED), "click(<link[Help]>)")
        facts = (*(f"send_msg_to_user('the {each} {page}')" for each in ASKED_OF), "go_back()")
        valid = facts if page else links
        turn = Turn(t, 6 - t, Observation("x"), now, valid, "",
                    lambda a, v=valid, p=page: a if a in v or (p and a.startswith("send")) else None)  # fmt: skip
        action = agent.decide(turn, rng).action
        steps.append((now, action))
        if action.startswith("send"):
            right = action == f"send_msg_to_user('the {asked} {name}')"
            break
        page = "" if action == "go_back()" else page if "Help" in action else action[len("click(<link[") : -3]
        now = abstractor.advance(action, Observation("x", place="a/SLUG" if page else "a/list", changed=True))
    if scope is not None:
        rewards = [1.0 * right] * (len(steps) - 1) + [3.0 if right else -3.0]
        lived = tuple(Step(s, a, r) for (s, a), r in zip(steps, rewards, strict=True))
        scope.append(Episode(f"e{number}", "web/a", lived, State("end", ("end",))))
    return right


def tried(folder, arm, skill, seed):
    """Return the success in first episodes at tasks that have others before them, in all, and in last episodes."""
    tasks = [(name, asked) for name in NAMED for asked in ASKED_OF]
    np.random.default_rng(seed).shuffle(tasks)
    settings = profile("default", "web", other_tasks=arm if arm != "static" else "literal")
    with Memory(folder, rules=scope_rules) as memory:
        scope = memory.scope("web/a") if arm != "static" else None
        done = np.array([
            [played(scope, settings, skill, *task, np.random.default_rng([seed, i, e]), EPISODES * i + e)
             for e in range(EPISODES)]
            for i, task in enumerate(tasks[:TASKS])
        ], float)  # fmt: skip
    return done[1:, 0].mean(), done.mean(), done[:, -1].mean()


def main() -> int:
    """Play and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| skill | arm | first episodes % | Avg % | Final % |\n|---|---|---|---|---|")
    for skill in (0.0, 2.0, 4.0):
        for arm in ARMS:
            with tempfile.TemporaryDirectory() as folder:
                found = np.array([tried(Path(folder) / str(s), arm, skill, s) for s in range(args.seeds)])
            shown = " | ".join(_shown(list(found[:, i]), rng) for i in range(3))
            print(f"| {skill:g} | {arm} | {shown} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
