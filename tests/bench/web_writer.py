"""A scripted model that writes on web pages, for the profile `paper` without a language model; run by hand.

    python -m tests.bench.web_writer --port 8052

serves it as an OpenAI-compatible server; `OPENAI_API_BASE=http://127.0.0.1:8052/v1 jitrl run web:local-27 --profile
paper --model openai/scripted` plays with it. Its proposals are three draws without replacement from the odds of
`prior/verbs`, read from the prompt. The n-th answer to one prompt always has the same draws. It judges steps by the
verdict, if it is told one: after a success steps were useful, after a failure the last one was harmful. What changed
nothing is useless.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import threading
import zlib
from collections import Counter
from typing import Any

import numpy as np

from engine.records import ActionRequest
from engine.web.browser.snapshot import Page, PageNode
from engine.web.choices import possible_actions
from engine.web.drawing.lines import PageLines, read
from engine.web.drawing.text import CLOSE, GOAL, OPEN, TITLE
from engine.web.prior import logits
from tests.llm import scripted, server

OPTIONS = 3


class WebWriter:
    """Answers the prompts of web tasks; `tests.llm.scripted` answers all others."""

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed
        self._asked: Counter[int] = Counter()
        self._lock = threading.Lock()

    def __call__(self, handler: server.Handler, body: dict[str, Any]) -> None:
        """Answer a request."""
        server.reply(self.answer(body))(handler, body)

    def answer(self, body: dict[str, Any]) -> str:
        """Return the text of the answer."""
        told = [scripted.text_of(message) for message in body["messages"]]
        match scripted.kind_of(body):
            case "web_actions":
                key = zlib.crc32("\n".join(told).encode())
                with self._lock:
                    self._asked[key] += 1
                    rng = np.random.default_rng([self._seed, key, self._asked[key]])
                return proposals(told[0], told[1], rng)
            case "web_rewards":
                return rewards(told[1])
        return scripted.answer(body)


def proposals(system: str, user: str, rng: np.random.Generator) -> str:
    """Return an answer with the options that were drawn; a confidence is an action's share among them."""
    goal = system.partition("**User's instructions:** ")[2].partition("\n")[0]
    shown = user.rpartition("**CURRENT STATE:**\n")[2]
    done = user.rpartition("**EARLIER STEPS:**")[2].partition("**CURRENT STATE:**")[0]
    inside = shown.partition(f"{OPEN}\n")[2].rpartition(f"\n{CLOSE}")[0].splitlines()
    head = [line for line in inside[:3] if line.startswith(("URL: ", TITLE, "Tabs: "))]
    title = next((line.removeprefix(TITLE) for line in head if line.startswith(TITLE)), "")
    page = page_of(read("\n".join(inside[len(head) :])), title)
    valid = possible_actions(page, goal)
    odds = np.asarray(logits(ActionRequest("", "", done, f"{GOAL}{goal}\n{shown}", valid, OPTIONS)))
    drawn = np.argsort(-(odds + rng.gumbel(size=len(odds))))[:OPTIONS]
    shares = np.exp(odds[drawn] - odds[drawn].max())
    made: dict[str, Any] = {"reasoning": "By the words of the task."}
    for number, (index, share) in enumerate(zip(drawn, shares / shares.sum(), strict=True), 1):
        made |= {
            f"option{number}": valid[index], f"option{number}_reasoning": "It fits the task.",
            f"confidence{number}": round(100 * float(share)),
        }  # fmt: skip
    return json.dumps(made | {"best_action": 1})


def page_of(lines: PageLines, title: str) -> Page:
    """Return a page with the elements that a prompt shows."""
    twins = Counter((line.role, line.name) for line in lines)
    # Entries of a list are selected in it and not clicked.
    listed = [line.role == "option" and up >= 0 and lines[up].role in ("combobox", "listbox")
              for line, up in zip(lines, lines.parents, strict=True)]  # fmt: skip
    nodes = [
        PageNode(
            line.role, line.name, line.value, "" if line.role == "text" or listed[number] else f"e{number}",
            states=tuple((k, v or "true") for k, _, v in (s.partition("=") for s in line.states.split(", ") if s)),
            depth=line.depth, parent=lines.parents[number], ordinal=line.ordinal or 1,
            twins=twins[line.role, line.name],
        )
        for number, line in enumerate(lines)
    ]  # fmt: skip
    return Page(tuple(nodes), title=title)


def rewards(user: str) -> str:
    """Return scores by the verdict that the prompt tells."""
    wanted = [int(n) for n in user.rpartition("each exactly once:")[2].split(",")]
    told = re.search(r"steps; the task was (not )?done", user, re.I)
    verdict = 0.0 if told is None else -1.0 if told[1] else 1.0
    last = int(re.findall(r"the whole episode has (\d+) steps", user)[0]) - 1
    rows = []
    for step, what in re.findall(r"^Step (\d+): (.*?)(?=^Step \d+: |^End|\Z)", user, re.M | re.S):
        found = re.search(r"-> Action: (.*?)( \(nothing changed\))?$", what, re.M)
        if int(step) in wanted and found is not None:
            score = 3.0 * verdict if int(step) == last and verdict else -1.0 if found[2] else max(verdict, 0.0)
            rows.append(
                {"step": int(step), "action": found[1], "detailed_reasoning": "By the verdict.", "score": score}
            )
    return json.dumps({"step_analysis": rows, "overall_assessment": "By the verdict."})


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--seed", type=int, default=1, help="of its draws")
    given = parser.parse_args()
    running = server.Server(given.port)
    running.default = WebWriter(given.seed)
    with running.running():
        print(f"OPENAI_API_BASE={running.base}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
