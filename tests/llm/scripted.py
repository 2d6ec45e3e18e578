"""A model that plays by a script, behind a real OpenAI-compatible server: every prompt it gets can be read.

    python -m tests.llm.server --script player --dump DIR

starts the server and prints its address; `OPENAI_API_BASE=... jitrl run pantry --model openai/test --profile paper`
plays with it. `player` answers every prompt of the paper sensibly and always alike. `paraphraser` plays alike, but
words every summary anew: the prose of a history, and the order, case and articles of a state's nouns. Any other script
is a JSON file: a list of rules, each of which answers the prompts that its pattern is found in, as often as it says:

    [{"if": "REFERENCE ACTIONS", "times": 1, "reply": "I will not say"},
     {"if": "scoring game actions", "status": 429, "times": 3},
     {"if": "", "player": true}]
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import threading
from pathlib import Path
from typing import Any

from tests.llm import server

KINDS = (
    ("expert at summarizing game", "state"),
    ("expert at analyzing game", "history"),
    ("scoring game actions", "rewards"),
    ("evaluating web agent actions", "web_rewards"),
    ("extracting effective action sequences", "web_history"),
    ("intelligent web agent", "web_actions"),
    ("expert player", "actions"),
)


def text_of(message: dict[str, Any]) -> str:
    """Return a message's text; a picture is named by its size."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(
        part["text"] if part["type"] == "text" else f"[picture, {len(part['image_url']['url']):,} characters]"
        for part in content
    )


def kind_of(body: dict[str, Any]) -> str:
    """Return which of the paper's prompts a request is."""
    first = text_of(body["messages"][0])
    return next((kind for start, kind in KINDS if start in first), "other")


# ------------------------------------------------------------------------------------------ the player


def answer(body: dict[str, Any]) -> str:
    """Return what the player answers."""
    text = text_of(body["messages"][1 if len(body["messages"]) > 1 else 0])
    return {
        "state": _state, "history": _history, "rewards": _rewards, "web_rewards": _rewards,
        "web_history": _web_history, "web_actions": _web_actions, "actions": _actions,
    }.get(kind_of(body), lambda text: '{"answer": "yes"}')(text)  # fmt: skip


def _state(text: str) -> str:
    """Name every word of five letters or more as a noun, in order."""
    told = text.partition("Step 0:")[2].partition("-----")[0]
    nouns = list(dict.fromkeys(re.findall(r"[a-z]{5,}|key|box", told.casefold())))
    return f"Step 0: [State: {', '.join(nouns)}]"


def _history(text: str) -> str:
    gains = re.findall(r"-> Action: (.*)\n-> Reward: \+([1-9]\d*)", text)
    progress = "\n".join(f"✓ M{i}: {action}→+{gain}" for i, (action, gain) in enumerate(gains, 1))
    steps = text.count("-> Action:")
    return (
        f"[SUMMARY]: The objective is to find treasures. {steps} steps were taken.\n"
        f"[PROGRESS]: {progress or 'No Progress'}\n[LOCATION]: Location: somewhere"
    )


def _rewards(text: str) -> str:
    """Score each step by its reward; -1 for what changed nothing, +1 on the web."""
    wanted = [int(n) for n in text.rpartition("each exactly once:")[2].split(",")]
    rows = []
    for step, told in re.findall(r"^Step (\d+): (.*?)(?=^Step \d+: |^End|\Z)", text, re.M | re.S):
        found = re.search(r"-> Action: (.*?)( \(nothing.*\))?$", told, re.M)
        gain = re.search(r"-> Reward: ([+-][\d.]+)", told)
        if int(step) in wanted and found is not None:
            score = float(gain.group(1)) if gain else 1.0
            score = -1.0 if found.group(2) or "Terms" in found.group(1) or score == 0 else score
            rows.append({"step": int(step), "action": found.group(1), "detailed_reasoning": "It did that.",
                         "score": score})  # fmt: skip
    return json.dumps({"step_analysis": rows, "overall_assessment": "It went on."})


def _actions(text: str) -> str:
    """Propose the first three valid actions in the alphabet, with confidences 60, 30 and 10."""
    valid = sorted(a.strip() for a in text.rpartition("REFERENCE ACTIONS:**")[2].split(","))
    made: dict[str, Any] = {"progress_analysis": "none yet", "next_objective": "win"}
    for i, (action, confidence) in enumerate(zip(valid, (60, 30, 10), strict=False), 1):
        made |= {f"reasoning{i}": "because", f"option{i}": action, f"confidence{i}": confidence}
    return json.dumps(made | {"best_action": 1})


def _web_actions(text: str) -> str:
    """Propose to click three of the links and buttons that the page shows, the last ones first."""
    shown = text.rpartition("**CURRENT STATE:**")[2]
    named = list(dict.fromkeys(re.findall(r"<((?:link|button)\[[^\]]+\](?:#\d+)?)>", shown)))[-3:][::-1]
    options = [f"click(<{name}>)" for name in named] or ["noop()"]
    made: dict[str, Any] = {"reasoning": "none yet"}
    for i, (action, confidence) in enumerate(zip(options, (60, 30, 10), strict=False), 1):
        made |= {f"option{i}_reasoning": "because", f"option{i}": action, f"confidence{i}": confidence}
    return json.dumps(made | {"best_action": 1})


def _web_history(text: str) -> str:
    taken = re.search(r"oldest first:\n.*?\n(.*?)\n-----", text, re.S)
    last = taken.group(1).split(" -> ")[-1] if taken else "No action"
    return f"Step 1: The last one shows.\nStep 2: Final Answer: {last}"


def player(handler: server.Handler, body: dict[str, Any]) -> None:
    """Answer as the player does; with index tokens where log-probabilities are asked for."""
    if body.get("logprobs"):
        return server.index_tokens({"1": -0.2, "2": -1.9, "3": -4.0, "4": -5.0, "5": -6.0})(handler, body)
    return server.reply(answer(body))(handler, body)


# --------------------------------------------------------------------------------------- the paraphraser

PROSE = """the our this hero adventurer player visitor traveller has was is seems appears wandering exploring looking
walking searching through across around within quietly slowly bravely carefully at last meanwhile still already house
rooms place building corners treasures valuables riches things goods collect gather find seek reach aim goal objective
task mission purpose progress success points score reward little much some nothing far yet next now then soon later"""


def reworded(kind: str, said: str, number: int) -> str:
    """Return an answer of the player in other words, which differ with `number`; what it tells stays the same."""
    rng = random.Random(number)
    if kind == "history":
        prose = " ".join(rng.choices(PROSE.split(), k=rng.randint(20, 50)))
        return re.sub(r"\[SUMMARY\]:.*", f"[SUMMARY]: {prose.capitalize()}.", said)
    if kind == "state":
        head, nouns = re.fullmatch(r"(.*\[State: )(.*)\]", said).groups()
        listed = [rng.choice(("{}", "a {}", "the {}", "The {}")).format(noun) for noun in nouns.split(", ")]
        rng.shuffle(listed)
        return f"{head}{', '.join(rng.choice((str.title, str.upper, str))(noun) for noun in listed)}]"
    return said


# ------------------------------------------------------------------------------------- scripts and dumps


class Scripted:
    """Answers by rules, and keeps what was asked and said.

    Args:
        rules: As in the module's docstring; the player answers what no rule is for.
        dump: Folder in which each call is written as text, None for nowhere.
        anew: Whether every summary is worded anew.
    """

    def __init__(self, rules: list[dict[str, Any]], dump: Path | None = None, *, anew: bool = False) -> None:
        self._rules = [dict(rule) for rule in rules]
        self._dump = dump
        self._anew = anew
        self._lock = threading.Lock()
        self.calls: list[tuple[str, dict[str, Any], str]] = []
        """Kind, request and answer of each call."""

    def __call__(self, handler: server.Handler, body: dict[str, Any]) -> None:
        with self._lock:
            rule = self._rule("\n".join(text_of(m) for m in body["messages"]))
            said = f"status {rule['status']}" if "status" in rule else str(rule.get("reply", self._answer(body)))
            self.calls.append((kind_of(body), body, said))
            if self._dump is not None:
                name = f"{len(self.calls):04d}-{kind_of(body)}.txt"
                (self._dump / name).write_text(told(body, said), encoding="utf-8")
        if "status" in rule:
            headers = {"retry_after": str(rule["retry_after"])} if "retry_after" in rule else {}
            return server.status(int(rule["status"]), **headers)(handler, body)
        if "reply" in rule:
            return server.reply(rule["reply"])(handler, body)
        if self._anew and kind_of(body) in ("history", "state"):
            return server.reply(said)(handler, body)
        return player(handler, body)

    def _answer(self, body: dict[str, Any]) -> str:
        said = answer(body)
        return reworded(kind_of(body), said, len(self.calls)) if self._anew else said

    def _rule(self, text: str) -> dict[str, Any]:
        for rule in self._rules:
            if re.search(rule.get("if", ""), text) and rule.get("times", 1) > 0:
                if "times" in rule:
                    rule["times"] -= 1
                return rule
        return {}


def told(body: dict[str, Any], said: str) -> str:
    """Return one call as text."""
    parts = [f"[{m['role']}]\n{text_of(m)}" for m in body["messages"]]
    options = {k: v for k, v in body.items() if k not in ("messages", "model")}
    if "response_format" in options:
        options["response_format"] = options["response_format"]["json_schema"]["name"]
    return "\n\n".join([*parts, f"[options]\n{json.dumps(options, sort_keys=True)}", f"[answer]\n{said}"]) + "\n"


def golden(calls: list[tuple[str, dict[str, Any], str]]) -> str:
    """Return all calls as one readable text; a message that was sent before is named instead of told again."""
    seen: dict[str, int] = {}
    lines = []
    for number, (kind, body, said) in enumerate(calls, 1):
        lines.append(f"{'=' * 20} call {number}: {kind} {'=' * 20}")
        for message in body["messages"]:
            text = text_of(message)
            if text in seen and len(text) > 200:
                lines.append(f"[{message['role']}] as in call {seen[text]}")
            else:
                seen.setdefault(text, number)
                lines.append(f"[{message['role']}]\n{text}")
        lines.append(f"[temperature] {body.get('temperature')}")
        lines.append(f"[answer]\n{said}\n")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Serve until interrupted."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m tests.llm.server", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--script", default="player", help="player, paraphraser, or a JSON file of rules (%(default)s)"
    )
    parser.add_argument("--dump", metavar="DIR", help="write every call there as text")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    given = parser.parse_args(arguments)
    named = given.script in ("player", "paraphraser")
    rules = [] if named else json.loads(Path(given.script).read_text(encoding="utf-8"))
    folder = Path(given.dump) if given.dump else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    running = server.Server(given.port)
    running.default = Scripted(rules, folder, anew=given.script == "paraphraser")
    with running.running():
        print(f"OPENAI_API_BASE={running.base}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
