"""Write the numbers that the authors' published functions give, for tests/agents/test_reference.py.

    git clone https://github.com/liushiliushi/JitRL CLONE
    python -m tests.agents.write_reference_cases CLONE

The functions are imported from the clone. Nothing is called outside this process: the modules that call models,
browsers and vector databases are replaced by empty ones, the model's answers are the random numbers of the cases, and
the vectors are all alike (with fewer than 100 remembered steps their code compares all of them by words).

`reference-decisions.csv` has one decision a line. `reference-retrieval.jsonl` has one search a line, after a line with
the texts that the lines after it name by number.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import io
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

HERE = Path(__file__).parent
DECISIONS, RETRIEVAL = HERE / "reference-decisions.csv", HERE / "reference-retrieval.jsonl"
GAME_CASES, WEB_CASES, SEARCHES = 2500, 500, 200
NOISE = 1e-9
"""Cases are left out in which a sum of floats decides by its last digits: all A within this of 0, or two logits within
this of each other without being equal."""

COLUMNS = ("kind", "episode", "actions", "confidences", "best", "draws", "neighbours", "v", "candidates", "q", "a",
           "z", "chosen")  # fmt: skip
PLACES = ("hall", "attic", "cellar", "garden", "store room", "library", "tower", "pier")
THINGS = ("lamp", "rope", "key", "cup", "map", "coin", "knife", "bell")


class _Stub(ModuleType):
    """A module of which everything can be imported; what is imported does nothing."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *given, **named: None})


def _authors(clone: Path) -> tuple[Any, Any, Any, Any]:
    """Return their modules: agent, memory and texts of games, agent of the web."""
    for name in (
        "openai", "tiktoken", "dotenv", "faiss", "rank_bm25", "yaml", "langchain", "langchain.schema",
        "langchain_openai", "joblib", "transformers", "PIL", "browsergym", "browsergym.experiments",
        "browsergym.utils", "browsergym.utils.obs", "browsergym.core", "browsergym.core.action",
        "browsergym.core.action.base", "browsergym.core.action.highlevel", "browsergym.core.action.python",
        "src.openai_helpers", "memory_agents.utils.openai_helpers", "memory_agents.utils.chat_api",
        "memory_agents.utils.llm_utils",
    ):  # fmt: skip
        sys.modules[name] = _Stub(name)
    sys.path[:0] = [str(clone / "Jericho"), str(clone / "WebArena")]
    names = ("src.jitrl_agent", "src.cross_episode_memory", "src.utils", "memory_agents.jitrl_agent")
    agent, memory, texts, web = map(importlib.import_module, names)
    return agent, memory, texts, web


# ------------------------------------------------------------------------------------------- decisions


def _case(rng: random.Random, web: bool) -> dict[str, Any]:
    """Return the random part of a decision: what the model says, the draws, the neighbours."""
    pool = "abcdefgh"[: rng.randint(4, 8)]
    actions = rng.sample(pool, rng.randint(2, 4))
    kind = rng.choice(("equal", "any", "any", "hundred"))
    confidences: list[int | None] = [rng.randint(0, 100) for _ in actions]
    if kind == "equal":
        confidences = [rng.choice((0, 33, 50))] * len(actions)
    if kind == "hundred":
        cuts = sorted(rng.randint(0, 100) for _ in actions[1:])
        confidences = [b - a for a, b in zip([0, *cuts], [*cuts, 100], strict=True)]
    if not web and rng.random() < 0.1:
        confidences[rng.randrange(len(actions))] = None
    returns = rng.choice((
        lambda: rng.choice((-10, -1, 0, 1, 5)), lambda: round(rng.uniform(-10, 10), 2),
        lambda: round(rng.uniform(-3, 0), 2), lambda: round(rng.uniform(0, 3), 2),
    ))  # fmt: skip
    taken = rng.sample(pool, rng.randint(1, len(pool)))
    count = 0 if rng.random() < 0.05 else rng.randint(1, 8)
    return {
        "kind": "web" if web else "game",
        "episode": rng.randint(1, 60),
        "actions": actions,
        "confidences": confidences,
        "best": rng.randint(1, len(actions)),
        "draws": [round(rng.random(), 3) for _ in actions],
        "neighbours": [(rng.choice(taken), returns()) for _ in range(count)],
    }


def _answer(case: dict[str, Any]) -> str:
    """Return the case's answer of the model."""
    said: dict[str, Any] = {"best_action": case["best"]}
    for number, (action, confidence) in enumerate(zip(case["actions"], case["confidences"], strict=True), 1):
        said |= {f"option{number}": action} | ({} if confidence is None else {f"confidence{number}": confidence})
    return json.dumps(said)


def _reply(text: str) -> Any:
    message = SimpleNamespace(content=text)
    return SimpleNamespace(choices=[SimpleNamespace(message=message, logprobs=None)])


def _untried(case: dict[str, Any]) -> list[float]:
    """Return the draws of the options that no neighbour took; theirs draws for no others."""
    tried = {action for action, _ in case["neighbours"]}
    return [draw for action, draw in zip(case["actions"], case["draws"], strict=True) if action not in tried]


def _game(theirs: Any, case: dict[str, Any]) -> tuple[dict[int, Any], str]:
    """Return the options as their agent for games leaves them, and the action it takes."""
    near = [(1.0, g, {"action": action, "discounted_reward": g}) for action, g in case["neighbours"]]
    args = SimpleNamespace(
        top_actions=len(case["actions"]), use_valid_actions=False, confidence_mode="verbalized", llm_model="m",
        llm_temperature=0.8, retrieval_top_k=10, retrieval_threshold=0.95, enable_cross_mem=False,
    )  # fmt: skip
    agent = theirs.JitRLAgent(args)
    agent.enable_cross_mem = True
    agent.cross_mem = SimpleNamespace(retrieve_similar=lambda **asked: near, current_episode_number=case["episode"] - 1)
    found: dict[int, Any] = {}
    update = agent.update_scores

    def kept(*given: Any, **named: Any) -> dict[int, Any]:
        found.update(made := update(*given, **named))
        return made  # type: ignore[no-any-return]

    agent.update_scores = kept
    theirs.chat_completion_with_retries = lambda **asked: _reply(_answer(case))
    draws = iter(_untried(case))
    theirs.random = SimpleNamespace(random=lambda: next(draws), Random=random.Random)
    return found, agent.generate_action(SimpleNamespace(state="hall"))[0]


def _web(theirs: Any, case: dict[str, Any]) -> tuple[dict[int, Any], str]:
    """Return the options as their agent for the web leaves them, and the action with the largest sum."""

    def button(action: str) -> str:
        return f"click(<button[{action}]>)"

    agent = object.__new__(theirs.BrowserGymJitRLAgent)
    near = [
        (1.0, g, {"action": button(action), "normalized_action": button(action), "discounted_reward": g})
        for action, g in case["neighbours"]
    ]
    agent.enable_cross_mem, agent.game_history = True, []
    agent.cross_mem = SimpleNamespace(retrieve_similar=lambda **asked: near)
    page = "\n".join(f"[{number}] button '{action}'" for number, action in enumerate("abcdefgh", 1))
    options = {
        number: {"action": action, "normalized_action": button(action), "normalized_prob": confidence / 100.0}
        for number, (action, confidence) in enumerate(zip(case["actions"], case["confidences"], strict=True), 1)
    }
    draws = iter(_untried(case))
    theirs.random = SimpleNamespace(random=lambda: next(draws))
    state = SimpleNamespace(state=page, instruction="")
    found = agent.update_scores(state, options, 10, 0.8, "")
    named = {number: {**one, "action": one["normalized_action"][14:-3]} for number, one in found.items()}
    if not named:
        return {}, case["actions"][case["best"] - 1]
    return named, max(named.values(), key=lambda one: one["corrected_logprob"])["action"]


def _short(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".") or "0"


def _row(case: dict[str, Any], options: dict[int, Any], chosen: str) -> list[str] | None:
    """Return a line of the table, None if the last digits of sums decide."""
    values = list(options.values())
    if values:
        advantages = [abs(one["raw_advantage"]) for one in values]
        scaled = [one for one in values if one["normalized_advantage"]]
        divisors = [abs(one["raw_advantage"] / one["normalized_advantage"]) for one in scaled]
        first, second = sorted([-9.0, *(one["corrected_logprob"] for one in values)])[:-3:-1]
        if min([1.0, *divisors]) < NOISE or 0 < max(advantages) < NOISE or 0 < first - second < NOISE:
            return None
    v = values[0]["avg_reward"] - values[0]["raw_advantage"] if values else 0.0
    return [
        case["kind"], str(case["episode"]), "".join(case["actions"]),
        " ".join("-" if one is None else str(one) for one in case["confidences"]), str(case["best"]),
        " ".join(map(_short, case["draws"])), " ".join(f"{action}{_short(g)}" for action, g in case["neighbours"]),
        _short(v), "".join(one["action"] for one in values), " ".join(_short(one["avg_reward"]) for one in values),
        " ".join(_short(one["normalized_advantage"]) for one in values),
        " ".join(_short(one["corrected_logprob"]) for one in values), chosen,
    ]  # fmt: skip


def decisions(games: Any, web: Any, head: str) -> None:
    """Write the table of decisions."""
    rows, left_out = [], 0
    for number in range(GAME_CASES + WEB_CASES):
        case = _case(random.Random(number), number >= GAME_CASES)
        with contextlib.redirect_stdout(io.StringIO()):
            row = _row(case, *(_web(web, case) if case["kind"] == "web" else _game(games, case)))
        if row is None:
            left_out += 1
        else:
            rows.append(row)
    with DECISIONS.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {head}\n# {len(rows)} random decisions; {left_out} are left out (NOISE in the script)\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


# ------------------------------------------------------------------------------------------- retrieval


class Alike:
    """In place of a vector database: all vectors are equally near, the first ones come first."""

    def __init__(self, dimensions: int) -> None:
        self.ntotal = 0

    def add(self, vectors: Any) -> None:
        """Count a vector."""
        self.ntotal += 1

    def search(self, query: Any, count: int) -> tuple[Any, Any]:
        """Return all."""
        return np.ones((1, count)), np.arange(count).reshape(1, -1)


def _texts(rng: random.Random) -> list[str]:
    """Return descriptions, answers, inventories, milestones and routes, which the searches name by their numbers."""
    made = []
    for place in PLACES:
        one, other, third = rng.sample(THINGS, 3)
        made.append(f"{place.title()}\nYou are in the {place}. A way leads {rng.choice(('north', 'up'))}, and "
                    f"there is a {one} beside a {other} here.\n\nYou see an old {third}, too.")  # fmt: skip
    made += [f"You take the {thing}." for thing in THINGS] + ["Nothing happens.", made[0], made[1]]
    made += ["You are empty handed."]
    made += [f"You are carrying:\n  a {a}\n  an old {b}" for a, b in itertools.pairwise(THINGS)]
    made += ["No Progress"]
    made += [f"✓ M1: take {a}→{a}\n✓ M2: go up→{b}" for a, b in zip(THINGS, PLACES, strict=True)]
    return made + [f"{a}→{b}→{c}" for a, b, c in zip(PLACES, PLACES[1:], PLACES[2:], strict=False)]


def _spans(texts: list[str]) -> list[range]:
    """Return where the five kinds of texts stand in `_texts`."""
    sizes = (len(PLACES), len(THINGS) + 3, len(THINGS), len(THINGS) + 1, len(PLACES) - 2)
    starts = [sum(sizes[:i]) for i in range(5)]
    assert sum(sizes) == len(texts)
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def _search(rng: random.Random, spans: list[range]) -> dict[str, Any]:
    """Return the random part of a search: episodes of steps, each with its five texts, action and score; a query."""
    few = [rng.sample(span, rng.randint(1, 2)) for span in spans]

    def seen() -> list[int]:
        return [rng.choice(kind) for kind in few]

    def step() -> list[Any]:
        return [*seen(), rng.choice("abcd"), rng.choice((0, round(rng.uniform(-10, 10), 2)))]

    return {
        "k": rng.choice((3, 10)),
        "r": rng.choice((0.4, 0.7, 0.95)),
        "step": rng.randint(0, 30),
        "episodes": [[step() for _ in range(rng.randint(2, 5))] for _ in range(rng.randint(1, 4))],
        "query": seen(),
    }


def _found(
    memory_module: Any, texts_module: Any, case: dict[str, Any], texts: list[str], folder: Path
) -> list[list[list[float]]]:
    """Return what their memory finds with k, and with no such limit: episode, step (from 0), similarity, return."""
    memory_module.faiss = SimpleNamespace(IndexFlatIP=Alike, write_index=lambda index, path: None)
    memory_module.get_embedding_with_retries = lambda text, model: np.ones(4, np.float32)
    memory = memory_module.CrossEpisodeMemory(str(folder), gamma=0.5, vector_dim=4)

    def asked(step: list[Any], before: list[dict[str, Any]], k: int) -> list[Any]:
        look, said, carried, progress, route = (texts[number] for number in step[:5])
        answer = f"[SUMMARY]\nSo far, so good.\n\n[PROGRESS]\n{progress}\n\n[LOCATION]\nLocation: {route}"
        texts_module.chat_completion_with_retries = lambda **given: _reply(answer)
        info = {"look": look.lower(), "inv": carried.lower()}
        _, summary = texts_module.generate_history_summary(before or [{}], said, "m", 0, 3000, info["inv"])
        return memory.retrieve_similar(  # type: ignore[no-any-return]
            before, said.lower(), summary, k=k, r=case["r"], info=info
        )

    for episode in case["episodes"]:
        lived: list[dict[str, Any]] = []
        for step in episode:
            asked(step, lived, case["k"])
            lived.append({"state": texts[step[1]].lower(), "action": step[5], "reward": 0, "score": 0})
        scores = [step[6] for step in episode]
        memory_module.evaluate_step_scores_with_llm = lambda scores=scores, **given: (scores, [""] * len(scores))
        memory.add_episode(lived, "You stop.", 0, False)
    lived = [{"state": "", "action": "wait"}] * case["step"]
    found = [asked(case["query"], lived, k) for k in (case["k"], 1000)]
    return [
        [[one["episode_number"] - 1, one["step_index"], one["similarity"], g] for _, g, one in hits] for hits in found
    ]


def searches(memory: Any, texts_module: Any, head: str) -> None:
    """Write the table of searches."""
    texts = _texts(random.Random(0))
    lines, left_out = [], 0
    for number in range(SEARCHES):
        case = _search(random.Random(number), _spans(texts))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            found, every = _found(memory, texts_module, case, texts, Path(folder))
        ranks = [(round(similarity, 9), round(g, 9)) for _, _, similarity, g in every]
        if len(set(ranks)) < len(ranks):  # the order of equal ones is by the vectors in their code, by age in ours
            left_out += 1
            continue
        case["found"] = [[e, s, float(_short(similarity)), float(_short(g))] for e, s, similarity, g in found]
        lines.append(json.dumps(case, separators=(",", ":")))
    first = {"about": head, "left_out": left_out, "texts": texts}
    RETRIEVAL.write_text("\n".join([json.dumps(first, ensure_ascii=False), *lines]) + "\n", encoding="utf-8")


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.agents.write_reference_cases", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("clone", type=Path, help="a clone of the authors' repository")
    clone = parser.parse_args().clone.resolve()
    commit = subprocess.check_output(["git", "-C", str(clone), "rev-parse", "HEAD"], text=True).strip()
    head = (f"numbers of the functions published in github.com/liushiliushi/JitRL at {commit}, "
            "written by: python -m tests.agents.write_reference_cases CLONE")  # fmt: skip
    os.chdir(tempfile.mkdtemp())  # nothing of theirs is written elsewhere
    agent, memory, texts, web = _authors(clone)
    decisions(agent, web, head)
    searches(memory, texts, head)


if __name__ == "__main__":
    main()
