"""How fast a decision of the embedded model is, and what a step costs: one JSON line a figure.

    python -m tests.bench.bench_llm [--repeat N]

Ours and its peers run in turns in the same process with the same weights and threads. Peers: the same
actions scored one by one without a shared prefix; and one cached one-token call an answer token, which is
how the runtime's own server can be asked. Differences between ways of scoring are figures too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.llm import open_model, prompts
from engine.llm.local import gguf, weights
from engine.llm.local.engine import LocalEngine
from engine.records import ActionRequest, Observation
from engine.settings import Settings

ACTIONS = ("open mailbox", "take leaflet", "go north", "go south", "unlock door with key", "put lamp in case",
           "turn on lantern", "throw sword at troll")  # fmt: skip
PROMPT_TOKENS = 400


def say(
    figure: str, value: float, unit: str, *, target: float | None = None, more: bool = False,
    peer: str = "", peer_value: float | None = None,
) -> None:  # fmt: skip
    """Print one figure; `more` says that larger is better."""
    met = target is None or (value >= target if more else value <= target)
    ratio = None
    if peer_value is not None and value:
        ratio = value if unit == "x" else peer_value / value
    print(
        json.dumps({
            "figure": figure, "value": round(value, 6), "unit": unit, "peer": peer,
            "peer_value": None if peer_value is None else round(peer_value, 6),
            "ratio": None if ratio is None else round(ratio, 2), "target": target, "met": met,
        }),
        flush=True,
    )  # fmt: skip


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that `work` took and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def filler(engine: LocalEngine, tokens: int) -> list[dict[str, str]]:
    """Return a prompt of about that many tokens."""
    words = ["You are in a maze of twisty little passages, all alike."]
    while True:
        messages = [{"role": "system", "content": "You play a text adventure."},
                    {"role": "user", "content": " ".join(words)}]  # fmt: skip
        if engine.count(messages) >= tokens:
            return messages
        words.append(f"Passage {len(words)} leads to a room with {len(words) % 7} doors and a lamp.")


def decisions(engine: LocalEngine, repeat: int) -> None:
    """A decision over 8 actions, with the prompt cached and not, against its peers."""
    messages = filler(engine, PROMPT_TOKENS)
    runtime = engine.runtime
    cold, cached, alone, walked, processor = [], [], [], [], []
    scores = ours = None
    for _ in range(repeat):
        runtime.forget()
        cold.append(timed(lambda: engine.score(messages, "You:", ACTIONS))[0])
        for _ in range(3):
            before = time.process_time()
            seconds, ours = timed(lambda: engine.score(messages, "You:", ACTIONS))
            cached.append(seconds)
            processor.append(time.process_time() - before)
        walked.append(timed(lambda: walk(engine, messages))[0])

        def one_by_one() -> list[float]:
            found = []
            for action in ACTIONS:
                runtime.forget()
                found += engine.score(messages, "You:", (action,)).mean
            return found

        seconds, scores = timed(one_by_one)
        alone.append(seconds)
    assert ours is not None
    assert scores is not None
    say("decision, 8 actions, 400-token prompt cached", statistics.median(cached), "s", target=0.3)
    say("the same, processor time: what it takes on a machine that does nothing else",
        statistics.median(processor), "s", target=0.3)  # fmt: skip
    say("decision, same prompt cold", statistics.median(cold), "s")
    say("one by one without a shared prefix / ours cold", statistics.median(alone) / statistics.median(cold), "x",
        target=3.0, more=True, peer="one by one, s", peer_value=statistics.median(alone))  # fmt: skip
    say("one call a token / ours, prompt cached", statistics.median(walked) / statistics.median(cached), "x",
        more=True, peer="one call a token, s", peer_value=statistics.median(walked))  # fmt: skip
    say("largest difference to one by one", float(np.abs(np.asarray(ours.mean) - scores).max()), "nats/token",
        target=1e-3)  # fmt: skip


def walk(engine: LocalEngine, messages: Sequence[dict[str, str]]) -> None:
    """Ask for one token at a time, as a server allows, each distinct beginning once."""
    runtime = engine.runtime
    prompt = engine._prompt(messages, "You:")
    tails = [runtime.tokenize(f" {action}\n") for action in ACTIONS]
    for beginning in sorted({tuple(tail[:depth]) for tail in tails for depth in range(len(tail))}):
        runtime.feed([*prompt, *beginning])


def screen(engine: LocalEngine) -> None:
    """How late an event loop wakes up while a decision is computed in another thread."""
    messages = filler(engine, PROMPT_TOKENS)
    lags: list[float] = []

    async def watch() -> None:
        engine.runtime.forget()
        thread = threading.Thread(target=lambda: engine.score(messages, "You:", ACTIONS))
        thread.start()
        while thread.is_alive():
            due = time.perf_counter() + 0.01
            await asyncio.sleep(0.01)
            lags.append(time.perf_counter() - due)

    for _ in range(3):
        asyncio.run(watch())
    say("event loop lag while deciding, 95 %", 1000 * statistics.quantiles(lags, n=20)[-1], "ms", target=30.0)


def starting() -> None:
    """What is imported to show the first screen, and what the first decision waits for."""
    code = "import sys, engine.llm, engine.session.loop; print(sum(m in sys.modules for m in ('litellm', 'xllamacpp')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    say("heavy modules on the way to the first screen", int(found.stdout), "modules", target=0)
    with tempfile.TemporaryDirectory() as folder:
        opened, model = timed(lambda: open_model("local/smollm2", settings=Settings(), cache=Path(folder)))
        request = ActionRequest("", "", "", "A room with a lamp.", ACTIONS, 3)
        first, _ = timed(lambda: model.propose(request, np.random.default_rng(1)))
        again, _ = timed(lambda: model.propose(request, np.random.default_rng(2)))
        model.close()
    say("opening the model", opened, "s")
    say("first decision after opening", first, "s")
    say("a state seen before", 1000 * again, "ms", target=5.0)


def reading(steps: int) -> None:
    """How long a decision in a new situation takes, with its prompt taken in while the last one was read and without.

    The situations are those of a shipped game played at random; half of them, drawn by lot, are prepared.
    """
    from engine.games.catalogue import open_game
    from engine.games.catalogue import shipped_stories as shipped_stories

    rng = np.random.default_rng(2)
    environment = open_game(shipped_stories()[0].name)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    seen: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        model = open_model("local/smollm2", settings=Settings(), cache=Path(folder), keep=False)
        try:
            observation = environment.reset(1)
            for _ in range(100 * steps):
                if min(map(len, seconds.values())) >= steps // 2:
                    break
                valid = environment.valid_actions()
                now = situation(observation)
                if now not in seen and len(valid) > 1:
                    seen.add(now)
                    request = ActionRequest("", "", "", now, valid, 3)
                    prepared = bool(rng.integers(2))
                    if prepared:
                        model.prepare(request, lambda: False)
                    seconds[prepared].append(timed(lambda r=request: model.propose(r, rng))[0])
                observation = environment.step(valid[int(rng.integers(len(valid)))]) if valid else observation
                if observation.over or not valid:
                    observation = environment.reset(int(rng.integers(1, 1000)))
        finally:
            model.close()
            environment.close()
    ahead, plain = (statistics.median(seconds[prepared]) for prepared in (True, False))
    say("decision in a new situation, prompt taken in while reading", ahead, "s",
        peer="not taken in before, s", peer_value=plain)  # fmt: skip


def tokens_per_step(engine: LocalEngine, steps: int) -> None:
    """Tokens of a step in the default profile, against asking a model for state and history as well.

    The episode is a shipped game played at random. The peer asks three times a step, with the paper's
    prompts; the answers to two of them are taken to be our own abstractions: equal information.
    """
    from engine.games.catalogue import open_game
    from engine.games.catalogue import shipped_stories as shipped_stories

    environment = open_game(shipped_stories()[0].name)
    rng = np.random.default_rng(1)
    ours = theirs = taken = 0

    def tokens(prompt: prompts.Prompt) -> int:
        return engine.count(prompt.chat(), prompt.answer)

    try:
        observation = environment.reset(1)
        abstractor = environment.abstractor()
        state = abstractor.begin(observation)
        trajectory: list[str] = []
        while taken < steps and not observation.over:
            valid = environment.valid_actions()
            action_prompt = prompts.render(
                "actions", summary=state.history, memory_text="", recent_history=abstractor.recent(5),
                current_state=situation(observation), valid_actions=", ".join(valid), count="3",
                format="{...}",
            )  # fmt: skip
            trajectory.append(f"Step {taken}: {situation(observation)}")
            shown = "\n".join(trajectory[-20:])
            summaries = [prompts.render(name, trajectory=shown) for name in ("state", "history")]
            answers = len(engine.runtime.tokenize(state.text + state.history))
            ours += tokens(action_prompt)
            theirs += tokens(action_prompt) + sum(map(tokens, summaries)) + answers
            action = valid[int(rng.integers(len(valid)))]
            trajectory[-1] += f"\nAction: {action}"
            observation = environment.step(action)
            state = abstractor.advance(action, observation)
            taken += 1
    finally:
        environment.close()
    say("tokens a step, default profile / three calls a step", ours / theirs, "x", target=0.5,
        peer="three calls, tokens a step", peer_value=theirs / taken)  # fmt: skip


def situation(observation: Observation) -> str:
    """Return what a prompt calls the current state."""
    return "\n".join(
        part for part in (observation.description or observation.text, observation.inventory) if part
    )


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5, help="rounds of each timing (%(default)s)")
    parser.add_argument("--steps", type=int, default=30, help="steps of the counted episode (%(default)s)")
    args = parser.parse_args()
    starting()
    with tempfile.TemporaryDirectory() as folder:
        path = weights.find("local/smollm2", None)
        engine = LocalEngine(gguf.for_speed(path, Path(folder), "smollm2"))
        decisions(engine, args.repeat)
        screen(engine)
        reading(args.steps)
        tokens_per_step(engine, args.steps)
        engine.close()


if __name__ == "__main__":
    main()
