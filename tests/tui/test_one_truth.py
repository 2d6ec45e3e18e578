"""One decision has one set of numbers: every place shows the same, and shown calculations give the shown results."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from engine import explain, logits, worked
from engine.environments import profile
from engine.records import Candidate, Decided, SessionStarted
from engine.session import store as sessions
from engine.session import whatif
from engine.session.compare import ComparedStep, compare
from engine.session.recorded import DecisionAgain
from engine.session.rules import risk
from engine.settings import SessionConfig
from jitrl_tui.panes.candidates import CandidatesPane
from jitrl_tui.panes.why import why_lines
from jitrl_tui.plain.event_lines import candidate_lines
from jitrl_tui.runs import comparison_texts, derivation, hits
from jitrl_tui.runs.view import Choice
from jitrl_tui.screens.compare import _beliefs, _seen
from jitrl_tui.screens.whatif_choice import ChoicePane
from tests import playing
from tests.llm.scripted import Scripted
from tests.llm.server import Server
from tests.tui.test_accounts import memory_text
from tests.tui.test_explain import check

NUMBER = r"[+−]\d+(?:\.\d+)?"
MOVED = rf"z +\(?([+−]?[\d.]+)\)? → \+([\d.]+)·Ã +({NUMBER}) → z′ +({NUMBER})"
WIDE, NARROW = 140, 46


@dataclasses.dataclass(frozen=True)
class Played:
    """A session beside itself, and its decisions that have values."""

    rows: dict[tuple[int, int], ComparedStep]
    choices: list[Choice]


def play(saves: Path, game: str, name: str, model: str, episodes: int, **changes) -> Played:
    config = SessionConfig(game, "jitrl", model, episodes, 1, name, profile(name, "game", **changes))
    session, events = playing.run(sessions.create(saves, config, "run"), saves)
    assert session.error is None
    (started,) = playing.only(events, SessionStarted)
    made = [Choice(e.episode, e.decision, started, 60) for e in events if isinstance(e, Decided)]
    rows = {(row.episode, row.step): row for row in compare(events, events).rows}
    return Played(rows, [one for one in made if explain.knows(one.decision.update)])


@pytest.fixture(scope="module")
def plans(tmp_path_factory) -> list[Played]:
    """Return sessions of two games by plans."""
    saves = tmp_path_factory.mktemp("plans")
    return [play(saves, game, "default", "prior/verbs", 2, step_limit=12) for game in ("pantry", "manor")]


@pytest.fixture(scope="module")
def paper(tmp_path_factory) -> Played:
    """Return a session as the paper has it, with a scripted model that writes."""
    server = Server()
    server.default = Scripted([])
    with server.running(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_BASE", server.base)
        return play(tmp_path_factory.mktemp("paper"), "pantry", "paper", "openai/player", 2, step_limit=6)


@pytest.fixture
def played(request, plans, paper) -> list[Played]:
    """Return the sessions of a parameter: those by plans, or that of the paper."""
    return plans if request.param == "plans" else [paper]


both = pytest.mark.parametrize("played", ["plans", "paper"], indirect=True)


def some(played: list[Played]) -> list[tuple[Choice, ComparedStep]]:
    """Return decisions, each with its row: those whose plan was cut to what is left, and others."""
    found = []
    for one in played:
        cut = [c for c in one.choices if explain.shown_values(c.decision.update).left is not None]
        taken = [*cut[:4], *one.choices[:: max(1, len(one.choices) // 8)]]
        found += [(choice, one.rows[choice.episode, choice.decision.step]) for choice in taken]
    return found


def value(text: str) -> float:
    return float(text.replace("−", "-"))


def after(pattern: str, text: str) -> float:
    """Return the number that follows a pattern."""
    found = re.search(rf"{pattern}({NUMBER})", text)
    assert found, (pattern, text)
    return value(found[1])


def plain(lines) -> str:
    return "\n".join(line if isinstance(line, str) else line.plain for line in lines)


def candidates(choice: Choice, width: int) -> str:
    pane = CandidatesPane("candidates")
    pane.choice = choice
    return plain(pane.build(width, 300))


def table(choice: Choice) -> dict[str, dict[str, float]]:
    """Return the numbers of the chains of candidates by action; those without values have z alone."""
    d = choice.decision
    rows = {}
    lines = candidates(choice, WIDE).splitlines()
    for line, below in itertools.pairwise(lines):
        action = next((c.action for c in d.candidates if line[2:].startswith(f"{c.action} ")), None)
        if action is not None and line[:2] in ("▸ ", "○ ", "  ") and re.search(r"^ *(?:\S.* → )?z ", below):
            found = {"z": re.search(rf"(?:→|^) *z +\(?({NUMBER}|[\d.]+)", below)}
            found |= {name: re.search(rf"{sign} +({NUMBER})", below) for name, sign in (("scaled", "Ã"), ("z'", "z′"))}
            found |= {name: re.search(rf"{sign} ({NUMBER})", line) for name, sign in (("Q", "Q̂"), ("A", "Â"))}
            rows[action] = {name: value(one[1]) for name, one in found.items() if one is not None}
    return rows


def places(choice: Choice, row: ComparedStep) -> dict[str, dict[str, float]]:
    """Return V, Q, A, z and z' of the chosen action, as far as each place shows them."""
    d, i = choice.decision, choice.decision.chosen
    wide = {**table(choice)[d.action], "V": after("V̂\\(s\\) = ", candidates(choice, WIDE))}
    steps = {one.symbol: one for one in derivation.derive(choice, i)}
    named = (("V", "V̂"), ("Q", "Q̂"), ("A", "Â"), ("z", "z"), ("z'", "z′"))
    explained = {name: value(steps[symbol].value) for name, symbol in named}
    why = plain(why_lines(choice, 1000, brief=False))
    reasons = {"V": after("− \\(", why), "Q": after("Q̂ − V̂ = ", why), "z'": after("\\) = ", why)}
    line = next(line for line in candidate_lines(choice) if line.startswith(f"{d.action}: "))
    told = {"V": after("V ", candidate_lines(choice)[0]), "Q": after("Q ", line), "A": after("advantage ", line),
            "z": after("logit ", line), "z'": after("logit \\S+ to ", line)}  # fmt: skip
    narrow = candidates(choice, NARROW).partition("▸ ")[2]
    slim = {"V": after("V̂ ", narrow), "Q": after("Q̂ ", narrow), "A": after("Â ", narrow), "z'": after("z′ +", narrow)}
    option = row.left.option(d.action)
    beliefs = next(line.plain for line in _beliefs(row, 140) if line.plain.startswith(f"{d.action} "))
    screen = {"V": after("V̂ ", _seen(row, row.left, 80)[1][0]), "Q": value(re.findall(NUMBER, beliefs)[0])}
    pane = ChoicePane()
    pane.again = DecisionAgain(choice.episode, d, d)
    what_if = plain(pane.build(100, 60))
    mine = next(line for line in what_if.splitlines() if line.startswith("▸ "))
    fixture = derivation.fixture(choice)
    check(fixture)
    out = fixture["outputs"]
    found = {
        "table": wide,
        "explain": explained,
        "why": reasons,
        "the sentence of why": {"V": after("V = ", d.why)},
        "lines": told,
        "narrow": slim,
        "compare": screen,
        "compare --plain": {"Q": after("Q ", comparison_texts.chance(option, row.left.unit))},
        "compare --json": {"V": comparison_texts._side(row.left)["v"], "Q": comparison_texts._option(option)["q"]},
        "what if": {"V": after("→ ", what_if), "Q": value(re.findall(NUMBER, mine)[0])},
        "saved": {"V": out["v"], "Q": out["q"][i], "A": out["advantage"][i]},
    }
    if explain.first_of_plan(d.update.valuation) == i and (account := hits.account(d)):
        found["memory"] = {"Q": value(account[0][0])}
    return found


@both
def test_all_places_show_the_same_numbers_of_a_decision(played):
    cut = 0
    for choice, row in some(played):
        update, i = choice.decision.update, choice.decision.chosen
        seen = explain.shown_values(update)
        cut += seen.left is not None
        true = {"V": seen.v, "Q": seen.q[i], "A": seen.advantage[i], "z": choice.decision.candidates[i].z,
                "z'": update.z_prime[i], "scaled": update.advantage_normalised[i]}  # fmt: skip
        for place, numbers in places(choice, row).items():
            for name, number in numbers.items():
                assert abs(number - true[name]) <= 0.00501, (place, name, number, true[name], choice.decision.step)
        if seen.left is not None and seen.unit == explain.POINTS:
            assert max(seen.q) <= seen.left + 1e-9
        assert risk(choice.decision) == max(0.0, -seen.terms["risk"][i]) if seen.terms else True
    assert cut or played[0].choices[0].settings["estimator"] == "knn"


def test_the_influence_of_a_step_is_a_difference_of_shown_numbers(plans):
    one, other = [c.decision for c in plans[0].choices if explain.shown_values(c.decision.update).left is not None][:2]
    found = whatif._influence(7, DecisionAgain(1, one, one), DecisionAgain(1, other, other))
    with_it, without = explain.shown_values(one.update), explain.shown_values(other.update)
    assert found.v == pytest.approx(with_it.v - without.v)
    index = [c.action for c in other.candidates].index(one.action) if one.action in other.valid_actions else -1
    assert found.q == (pytest.approx(with_it.q[one.chosen] - without.q[index]) if index >= 0 else 0.0)


# ------------------------------------------------------------------------------------- calculations


def worth(expression: str) -> float | None:
    """Return what a written calculation comes to; None if it has something else than numbers."""
    text = re.sub(r" \(the \d+ others\)|, of the \d+ others| points| novelty| return G", "", expression)
    text = re.sub(r"\b(expected|hoped|spare|delay|risk) ", "", text)
    text = text.replace("−", "-").replace("·", "*").replace("e^", "e**").replace("%", "")
    if not re.fullmatch(r"(?:e\*\*|ln\(|e-|[-+*/(). \d])+", text):
        return None
    return float(eval(text, {"__builtins__": {}}, {"e": math.e, "ln": math.log}))


def calculations(text: str) -> list[tuple[str, float, float, int]]:
    """Return the calculations of a line: what is written, what it comes to, the shown result, and its decimals."""
    found = []
    for part in re.split(r"   |: ", text):
        pieces = part.split(" = ")
        for left, right in itertools.pairwise(pieces):
            result = re.match(r"[+−]?\d+(?:\.(\d+))?", right.strip())
            made = worth(left)
            if result and made is not None and len(re.findall(r"\d+(?:\.\d+)?", left)) > 1:
                found.append((f"{left} = {result[0]}", made, value(result[0]), len(result[1] or "")))
    return found


def test_a_calculation_is_read_as_it_is_written():
    ((text, made, shown, places),) = calculations("z′ = +0.80 + 20·(−0.32) = −5.53")
    assert (text, shown, places) == ("+0.80 + 20·(−0.32) = −5.53", -5.53, 2)
    assert made == pytest.approx(-5.6)  # so this one would not do
    assert worth("e^+1.00 / (e^+1.00 + e^+1.00 (the 5 others))") == pytest.approx(0.5)


@both
def test_every_shown_calculation_gives_the_shown_result(played):
    counted = dict.fromkeys(("Ã", "Q̂", "V̂", "Â", "z′", "softmax", "z"), 0)
    for choice, _ in some(played):
        d = choice.decision
        lines = [line for index in range(len(d.candidates)) for one in derivation.derive(choice, index)
                 for line in one.worked]  # fmt: skip
        lines += plain(why_lines(choice, 1000, brief=False)).splitlines()
        for text in lines:
            for written, made, shown, decimals in calculations(text):
                assert abs(made - shown) <= 0.5001 * 10**-decimals, (written, made)
                name = next((name for name in counted if text.startswith(name)), "")
                counted[name] = counted.get(name, 0) + 1
        narrow = " ".join(candidates(choice, NARROW).split())
        for q, v, a in re.findall(rf"Q̂ ({NUMBER}) − V̂ ({NUMBER}) = Â ({NUMBER})", narrow):
            assert value(q) - value(v) == pytest.approx(value(a), abs=0.00501)
        for z, beta, scaled, z_prime in re.findall(MOVED, narrow):
            assert value(z) + value(beta) * value(scaled) == pytest.approx(value(z_prime), abs=0.00501)
        for row in table(choice).values():
            if "scaled" in row:
                assert row["z"] + d.update.beta * row["scaled"] == pytest.approx(row["z'"], abs=0.00501)
        rows = [amount for amount, _, _ in hits.account(d)]
        if rows:
            assert sum(map(value, rows[1:])) == pytest.approx(value(rows[0]), abs=0.00501), rows
        if explain.knows(d.update) and " points, against" in d.why:
            terms = re.search(r": Q = (.*) points, against", d.why)[1]
            assert worth(terms) == pytest.approx(explain.shown_values(d.update).q[d.chosen], abs=0.0101)
    model = played[0].choices[0].started.reading
    assert all(count for name, count in counted.items() if name != "z" or model), counted


@pytest.mark.parametrize(("reading", "heat"), [("string", 1.6), ("token", 0.8)])
def test_the_logit_of_a_likelihood_is_written_with_all_that_it_takes(reading, heat):
    settings = {"temperature": 0.8, "softening": 2.0}
    values = np.random.default_rng(4).normal(-9.0, 5.0, 12)
    z = logits.from_logprobs(values, heat) if reading == "string" else logits.from_index_logprobs(values, -30.0, heat)
    made = [Candidate(f"go {n}", float(z[n]), logprob=float(values[n])) for n in (3, 5, 7, 9)]
    decision = dataclasses.replace(_bare(), candidates=(*made, Candidate("wait", 0.0, "valid")))
    for candidate in made:
        text = worked.logit(candidate, decision, settings, "local/smollm2", reading)
        ((_, result, shown, decimals),) = calculations(text)
        assert (shown, decimals) == (pytest.approx(candidate.z, abs=0.00501), 2)
        assert result == pytest.approx(shown, abs=0.00501)
        assert f" / {heat:g} = " in text
        assert ("ln mean p" in text) == (reading == "token")
    # Likelihoods that are not those that the logits were made of are not shown as if they were.
    other = dataclasses.replace(made[0], logprob=made[0].logprob + 0.5)
    decision = dataclasses.replace(decision, candidates=(other, *made[1:]))
    assert worked.logit(other, decision, settings, "local/smollm2", reading) == ""


def _bare():
    from tests.tui.test_parts import bare

    return bare()


def test_a_long_sum_has_the_rest_as_one_number():
    rng = np.random.default_rng(2)
    returns = [float(g) for g in rng.normal(3.0, 2.0, 40)]
    for text in (
        derivation._mean("V̂", sum(returns) / 40, returns),
        *derivation._softmax("z", returns, 20, float(np.exp(returns[20]) / np.exp(returns).sum())),
    ):
        assert "(the 28 others)" in text
        ((_, made, shown, decimals),) = calculations(text)
        assert abs(made - shown) <= 0.5001 * 10**-decimals


def test_what_is_expected_of_each_step_adds_up(plans):
    for choice, _ in some(plans):
        steps = hits.repeated_steps(choice.decision)
        listed = [value(text) for text in hits.expected_points(steps) if text]
        assert sum(listed) == pytest.approx(sum(step.expected for step in steps), abs=0.0101)
        if listed and hits.account(choice.decision):
            assert hits.expected_points(steps)[0] in memory_text(choice, 120) or not steps[0].expected
