"""What the screen says of where values come from and of what a model's answers were good for: nothing contradicts."""

from __future__ import annotations

import asyncio
import dataclasses

import numpy as np
import pytest
from rich.cells import cell_len

from engine import explain, worked
from engine.environments import profile
from engine.records import (
    Candidate,
    Decided,
    Decision,
    EpisodeEnded,
    Neighbour,
    Notice,
    SessionStarted,
    State,
    TakenBack,
    Tally,
    Thinking,
    Update,
    Valuation,
    Waiting,
)
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from jitrl_tui.panes.candidates import CandidatesPane
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.panes.why import WhyPane, why_lines
from jitrl_tui.plain.event_lines import candidate_lines
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice, RunView, percents, wait_text
from jitrl_tui.widgets.plots import arrow
from jitrl_tui.widgets.status import Mode, StatusBar
from tests.killed import Person
from tests.test_switches import Proposing, decided
from tests.tui import stream
from tests.tui.driving import replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text
from tests.tui.test_plain import play

PAPER, DEFAULT = dataclasses.asdict(profile("paper")), dataclasses.asdict(profile("default"))
MISSED = Tally(asked=1, missing=1, random=1)


def started(settings=DEFAULT, **changes) -> SessionStarted:
    event = next(e for e in stream.run() if isinstance(e, SessionStarted))
    return dataclasses.replace(event, settings=settings, **changes)


def hit(action: str, ahead: int, gain: float = 0.0, episode: int = 1, step: int = 3) -> Neighbour:
    return Neighbour(7, 0.9, action, 1.5, episode, step, "[Cellar: icebox]", "agent", "", ahead, gain)


def planned(*neighbours: Neighbour, delay=(0.0, -0.5, -0.7), chosen: int = 0) -> Decision:
    """Return a decision whose values come from a plan that begins with the first candidate."""
    names = ("go south", "go north", "wait")
    q = tuple(3.0 + d for d in delay)
    terms = {"gain": (1.0,) * 3, "discovery": (2.0,) * 3, "delay": delay, "risk": (0.0,) * 3}
    update = Update(
        neighbours=neighbours, valuation=Valuation(2.6, q, (2, 0, 1), ("known", "optimistic", "known"), terms),
        advantage=tuple(x - 2.6 for x in q), advantage_normalised=(1.0, -0.3, -0.7), z_prime=(20.0, -5.0, -9.0),
        beta=20.0, without_memory="go north",
    )  # fmt: skip
    return Decision(
        step=4, state=State("[Street: lamp]", ("lamp",)), valid_actions=names,
        candidates=tuple(Candidate(n, 0.0, "both") for n in names), prior=(0.3, 0.4, 0.3), posterior=(1.0, 0.0, 0.0),
        chosen=chosen, action=names[chosen], parts=(update,),
    )  # fmt: skip


def memory_text(choice: Choice, width: int = 80, entries: int = 60) -> str:
    pane = MemoryPane("memory")
    pane.choice, pane.entries = choice, entries
    lines = [line.plain for line in pane.build(width, 20)]
    assert all(cell_len(line) <= width for line in lines)
    return "\n".join(line.rstrip() for line in lines)


def headline(choice: Choice, width: int = 80) -> str:
    pane = CandidatesPane("candidates")
    pane.choice = choice
    line = pane.build(width, 20)[0].plain
    assert cell_len(line) <= width
    return line


# ---------------------------------------------------------------------------------------- the method


@pytest.mark.parametrize(
    ("settings", "agent", "long", "short"),
    [
        (DEFAULT, "jitrl", "values: plans through memory", "plans"),
        (PAPER, "jitrl", "values: nearest neighbours, the paper's", "neighbours"),
        (DEFAULT, "static", "no memory", "no memory"),
        ({}, "jitrl", "", ""),
        ({"estimator": "latest"}, "jitrl", "values: latest", "latest"),  # of a package that may be missing by now
    ],
)
def test_the_method_is_named(settings, agent, long, short):
    assert explain.method(settings, agent) == long
    assert explain.method_in_short(settings, agent) == short


async def status_at(size, start: SessionStarted, *more) -> list[str]:
    app, _ = replay_app([start, *stream.run(2, 8)[1:-1], *more])
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: watch(pilot).view.activity == "paused")
        text = await settled(pilot)
        return [line.strip() for line in text.splitlines()[:2]]


def test_the_status_line_names_the_method_and_the_reading_at_every_size():
    async def go():
        start = started(PAPER, model="gemini/gemini-2.5-flash", reading="verbalized")
        second = (await status_at((160, 45), start))[1]
        assert "gemini/gemini-2.5-flash · confidences · nearest neighbours" in second
        second = (await status_at((80, 24), start))[1]
        assert "gemini-2.5-flash · confidences · neighbours" in second
        assert "16 remembered" in second
        assert "values: plans through memory" in (await status_at((80, 24), started(DEFAULT)))[1]
        static = started(DEFAULT, agent="static", reading="string")
        assert "likelihoods · no memory" in (await status_at((80, 24), static))[1]

    asyncio.run(go())


# ---------------------------------------------------------------------------------------- memory hits


def test_a_plan_shows_the_steps_it_repeats_and_apart_from_them_what_else_was_done_here():
    decision = planned(hit("go south", 0), hit("open icebox", 2), hit("take parsnip", 3, 1.0), hit("wait", 0))
    assert [n.action for n in hits.repeated_steps(decision)] == ["go south", "open icebox", "take parsnip"]
    choice = Choice(2, decision, started(), 60)
    lines = memory_text(choice).splitlines()
    assert lines[0] == "The plan repeats these remembered steps:"
    assert lines[1].split() == ["in", "gain", "action", "ep/step", "by", "state"]
    assert lines[2].split()[:3] == ["now", "go", "south"]
    assert lines[4].split()[:4] == ["3", "+1", "take", "parsnip"]
    assert lines[5] == "Also done in this place before:"
    assert lines[6].split()[:2] == ["wait", "1/4"]  # nobody plans to do it now
    for column in ("action", "state"):
        value = {"action": "go south", "state": "[Cellar"}[column]
        assert lines[1].index(column) == lines[2].index(value)
    assert hits.basis_lines(choice, 60) == [
        "The plan repeats these remembered steps:",
        "now, go south, episode 1 step 4, by agent",
        "in 2 steps, open icebox, episode 1 step 4, by agent",
        "in 3 steps, take parsnip, gained +1, episode 1 step 4, by agent",
        "Also done in this place before:",
        "wait, episode 1 step 4, by agent",
    ]
    assert headline(choice) == "V̂(s) = +2.60 points, plans through memory;  z′ = z + β·Ã,  β = 20"
    assert headline(choice, 54) == "V̂(s) = +2.60 points, plans through memory;  β = 20"


def test_a_plan_that_repeats_nothing_says_so_and_counts_what_is_remembered():
    choice = Choice(2, planned(), started(), 60)
    text = " ".join(memory_text(choice).split())
    assert text.startswith("The plan repeats nothing that is known: it tries something new. 60 steps were remembered.")
    assert hits.basis_lines(choice, 0)[0] in text
    first = memory_text(Choice(1, planned(), started(), 0))
    assert " ".join(first.split()).startswith(hits.EXPLORES)
    # What was done here before is no step of a plan that begins otherwise.
    decision = planned(hit("wait", 0, episode=2))
    assert hits.repeated_steps(decision) == ()
    text = memory_text(Choice(2, decision, started(), 60))
    assert "repeats nothing" in text
    assert "Also done in this place before:" in text
    # Where there is no plan, nobody speaks of one.
    text = memory_text(Choice(2, planned(delay=(0.0, 0.0, 0.0)), started(), 60))
    assert text.startswith("No plan promises anything from here")


def test_neighbours_are_shown_with_their_similarity_and_columns_line_up():
    decision = stream.decision(np.random.default_rng(3), 2, 5)
    choice = Choice(2, decision, started(PAPER), 60)
    lines = memory_text(choice, 90).splitlines()
    assert lines[0].split() == ["sim", "G", "action", "ep/step", "by", "state"]
    assert lines[1].startswith("1.00 ")
    assert lines[0].index("action") == lines[1].index(decision.update.neighbours[0].action)
    assert lines[0].index("state") == lines[1].index("[")
    assert hits.basis_lines(choice, 60)[0].startswith("similarity 1.00, ")
    assert f"return G, {len(decision.update.neighbours)} similar visits;" in headline(choice)


@pytest.mark.parametrize(
    ("settings", "agent", "remembered", "memory", "candidates"),
    [
        (PAPER, "jitrl", 0, "Memory was empty. It fills at the end of each episode.", "Nothing similar remembered"),
        (PAPER, "jitrl", 1, "No remembered state was similar enough (1 step was remembered).", "Nothing similar"),
        (DEFAULT, "jitrl", 0, "Memory was empty.", "Nothing to plan with yet: the model alone decides."),
        (DEFAULT, "static", 60, "This agent has no memory.", "No memory: the model alone decides."),
        (DEFAULT, "random", 60, "This agent has no memory.", "No memory, no model: drawn at random."),
    ],
)  # fmt: skip
def test_what_is_said_where_nothing_bears_on_a_choice(settings, agent, remembered, memory, candidates):
    decision = stream.decision(np.random.default_rng(3), 2, 0)
    choice = Choice(1, decision, started(settings, agent=agent), remembered)
    # What has been remembered since does not count: one may be looking back.
    assert memory_text(choice, entries=999).startswith(memory)
    assert hits.basis_lines(choice, 999) == [memory_text(choice, 200).splitlines()[0]]
    assert headline(choice).startswith(candidates)


def test_numbers_on_one_screen_fit_each_other():
    # The paper's beta leaves two decimals enough; a larger one would carry what was rounded off into the sum.
    assert "+0.30 + 1.2·(+1.00) = +1.50" in worked.equation(0.3, 1.2, 1.0, 1.5, 0.3, 0.7)
    assert "+2.0000 + 20·(+0.6063) = +14.13" in worked.equation(2.0, 20.0, 0.6063, 14.126, 0.6, 1.0)
    assert "+0.600 + 1.2·(−0.214) = +0.34" in worked.equation(0.6, 1.2, -0.214, 0.343, 0.4, 0.2)
    # 32% and 66% are 34 apart, whatever was rounded off.
    assert (percents(0.3158, 0.6613), arrow(0.3158, 0.6613)) == (34, "▲")
    assert (percents(0.426, 0.432), arrow(0.426, 0.432)) == (0, "=")


def test_plain_lines_tell_the_candidates_as_the_screen_does():
    head, *lines = candidate_lines(Choice(2, planned(), started(), 60))
    assert head == "V +2.60 points, plans through memory, beta 20."
    assert [line.partition(":")[0] for line in lines] == ["go south", "go north", "wait"]
    assert "N 2, Q +3.00, advantage +0.40, scaled +1.0000, probability 30% to 100%, up, chosen" in lines[0]
    assert "N 0 (optimistic)" in lines[1]
    assert lines[1].endswith(", what the prior alone takes")
    nothing = Choice(1, stream.decision(np.random.default_rng(3), 2, 0), started(PAPER), 0)
    assert candidate_lines(nothing)[0] == headline(nothing)


def test_no_equation_is_broken_that_fits_into_a_line():
    choice = Choice(2, dataclasses.replace(planned(), why="So."), started(), 60)
    pane = WhyPane("why")
    pane.choice = choice
    lines = [line.plain for line in pane.build(60, 20)]
    assert lines[1] == "Greedy: the candidate with the highest z′ is taken."
    assert [line.split(" = ")[0] for line in lines[2:4]] == ["Â", "Ã"]
    assert all(cell_len(line) <= 60 for line in lines)


# ------------------------------------------------------------------------------------------ accounts


def with_tally(events, tally: Tally, steps: int = 8):
    """Return events in which each decision has this tally."""
    made = [
        dataclasses.replace(e, decision=dataclasses.replace(e.decision, tally=tally))
        if isinstance(e, Decided)
        else dataclasses.replace(
            e, tally=Tally(steps * tally.asked, steps * tally.missing, steps * tally.random)
        )
        if isinstance(e, EpisodeEnded)
        else e
        for e in events
    ]
    return made


def test_answers_are_counted_once_whatever_becomes_of_a_decision():
    events = with_tally(stream.run(2, 3), MISSED, 3)
    view = RunView()
    view.fold_all(events)
    assert (view.tally.asked, view.tally.missing) == (6, 6)
    view = RunView()
    decided = next(e for e in events if isinstance(e, Decided))
    view.fold_all(events[: events.index(decided) + 1])
    assert view.tally == MISSED
    view.fold(Decided(1, dataclasses.replace(decided.decision, action="wait", provenance="human")))
    assert view.tally == MISSED
    seen = view.seen
    assert seen is not None
    view.fold(TakenBack(1, "wait", 0, seen))
    view.fold(decided)
    assert view.tally.asked == 2


def test_choices_that_memory_changed_are_counted_without_those_that_were_taken_back(tmp_path):
    config = SessionConfig("pantry", model="prior/verbs", episodes=2, settings=profile("default", step_limit=12))
    view, control, seen = RunView(), Person({(1, 6)}, {(1, 4), (1, 5), (1, 7), (2, 3), (2, 9)}), []

    def emit(event):
        control.see(event)
        view.fold(event)
        if isinstance(event, EpisodeEnded):
            seen.append((view.flips, event.flips))

    Session(sessions.create(tmp_path, config, "watch"), tmp_path, emit, control=control).run()
    assert [shown for shown, _ in seen] == [counted for _, counted in seen]
    assert min(counted for _, counted in seen) > 0


def test_missing_answers_are_told_and_nothing_where_there_are_none():
    async def go():
        start = started(PAPER, model="gemini/gemini-2.5-flash", reading="verbalized")
        rest = stream.run(2, 8)[1:]
        for tally, shown in ((MISSED, True), (Tally(asked=1), False)):
            app, _ = replay_app([start, *with_tally(rest, tally)])
            async with app.run_test(size=(80, 24)) as pilot:
                await until(pilot, lambda: watch(pilot).view.ended)
                for size in ((80, 24), (140, 45)):
                    await pilot.resize_terminal(*size)
                    await still(pilot)
                    text = screen_text(app)
                    assert ("16 of 16 answers missing" in text) == shown
                    assert ("drawn at random 16×" in text) == shown
                    assert "neighbours" in text.splitlines()[1]
                    assert ("16 remembered" in text) or (shown and size[0] == 80)

    asyncio.run(go())


def test_waiting_for_a_server_is_told_until_it_is_over():
    bar, view = StatusBar("status"), RunView()
    view.fold_all([started(PAPER), *stream.run(1, 2)[1:3]])
    view.fold(Waiting("rate limit", 12.0, 540.0))
    bar._view, bar._mode = view, Mode(hurry=3)
    assert wait_text(Waiting("rate limit", 12.0, 540.0)) == "rate limit: next try in 12 s (gives up in 9 min)"
    assert wait_text(Waiting("rate limit", 5.0, 45.0)) == "rate limit: next try in 5 s (gives up in 45 s)"
    assert bar._state().plain == "‖ rate limit: 12 s (gives up in 9 min)"  # a narrow bar
    view.fold(Waiting("rate limit", 0.9, 528.0))
    assert bar._state().plain == "‖ rate limit: trying again"
    view.fold(Thinking("thinking"))
    assert view.activity == "thinking"


def test_plain_lines_say_once_for_each_pause_that_one_waits():
    events = stream.run(1, 2)
    waits = [Waiting("rate limit", s, 600.0 - i) for i, s in enumerate((3.0, 2.0, 1.0, 6.0, 5.0))]
    text, _, _ = play(["", ""], [started(PAPER), events[1], Thinking("thinking"), *waits, *events[2:]])
    told = [line for line in text.splitlines() if line.startswith("Waiting: ")]
    assert told == [
        "Waiting: rate limit: next try in 3 s (gives up in 10 min)",
        "Waiting: rate limit: next try in 6 s (gives up in 10 min)",
    ]


SENTENCE = "rewards=score in place of llm: local/smollm2 did not pass the short writing test"


@pytest.mark.parametrize("live", [True, False])
def test_what_was_replaced_is_told_once_at_the_start(live):
    begin = [Notice("warning", SENTENCE)] if live else []
    events = [*begin, started(PAPER, replaced=(SENTENCE,)), *stream.run(1, 2)[1:]]
    view = RunView()
    view.fold_all(events)
    notices = [p.text for p in view.paragraphs if p.kind == "notice"]
    assert notices == [f"Replaced: {SENTENCE}"]
    text, _, _ = play(["", ""], events)
    assert text.count(SENTENCE) == 1
    assert f"Replaced: {SENTENCE}" in text
    assert "jitrl with local/smollm2; values: nearest neighbours, the paper's. 0 steps remembered." in text


# -------------------------------------------------------------------------------------------- reasons


def why(decision: Decision) -> str:
    update = decision.update
    return explain.why(
        decision.chosen, decision.candidates, update.valuation, update.neighbours, update.advantage,
        update.without_memory,
    )  # fmt: skip


def with_update(decision: Decision, **changes) -> Decision:
    return dataclasses.replace(decision, parts=(dataclasses.replace(decision.update, **changes),))


def test_reasons_from_plans_are_true_whatever_was_chosen():
    assert why(planned()).startswith(
        "The best plan found for the steps left begins with 'go south' (tried here 2×)"
    )
    other = why(planned(chosen=1))
    assert other.startswith(
        "'go north' (never tried here) was chosen, though the best plan found begins with 'go south'"
    )
    assert other.endswith("the prior alone would have taken it, too.")
    assert why(planned(delay=(0.0, 0.0, 0.0))).startswith("No plan promises anything from here")
    silent = with_update(planned(), without_memory="")
    assert why(silent).endswith("the model gave no usable answer.")


def test_reasons_without_memory_do_not_credit_a_model_that_said_nothing():
    nobody = Valuation(0.0, (0.0, 0.0), (0, 0), ("prior", "prior"))
    for source, z, said in (
        ("random", 0.0, "'wait' was drawn from the valid actions"),
        ("llm", 0.0, "Nothing speaks for one candidate more than for another: 'wait' was drawn"),
        ("llm", 1.0, "The model's opinion alone decided: 'wait'"),
        ("valid", 0.0, "The model rates what it proposed lower than the neutral logit 0: 'wait'"),
    ):
        candidates = (Candidate("wait", z, source), Candidate("look", -1.0 if source == "valid" else 0.0, "llm"))
        assert said in explain.why(0, candidates, nobody, (), (0.0, 0.0), "wait")


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        (explain.SAMPLED, "'wait' was drawn, with the probabilities that the model's opinion gives to the candidates."),
        (explain.NAMED, "The model named 'wait' the best."),
        (explain.GREEDY, "The model rates 2 candidates alike and the highest: 'wait' was drawn among them."),
    ],
)
def test_a_drawn_action_is_not_called_the_models_decision(taken, said):
    nobody = Valuation(0.0, (0.0,) * 3, (0,) * 3, ("prior",) * 3)
    candidates = (Candidate("wait", 0.5), Candidate("look", 0.5), Candidate("dig", -1.0))
    sentence = explain.why(0, candidates, nobody, (), (0.0,) * 3, "wait", taken=taken)
    assert sentence == f"Nothing like this state was remembered. {said}"
    assert explain.by_the_model(0, candidates, taken) == said
    made = dataclasses.replace(stream.decision(np.random.default_rng(3), 2, 0))
    for selection, decides in (("sample", "drawn by the model's odds"), ("greedy", "the model alone decides")):
        choice = Choice(1, made, started({"selection": selection}, agent="static"))
        assert hits.without_values(choice) == f"No memory: {decides}."


def test_how_an_action_was_taken_is_said_with_the_draw():
    decision = dataclasses.replace(with_update(planned(chosen=1), draw=0.62), posterior=(0.35, 0.3, 0.35))
    said = "Sampled: the draw 0.62 fell on 'go north' (30%); 'go south' had 35%."
    assert explain.how_drawn(decision, PAPER) == said
    lines = " ".join(line.plain for line in why_lines(Choice(1, decision, started(PAPER)), 80, brief=True))
    assert said in lines
    likely = dataclasses.replace(decision, chosen=0, action="go south")
    assert explain.how_drawn(likely, PAPER).endswith("fell on 'go south' (35%), the most probable one.")
    # Greedy choices say so, and where several logits are the highest, the draw decides between them.
    assert explain.how_drawn(likely, DEFAULT) == "Greedy: the candidate with the highest z′ is taken."
    even = with_update(likely, z_prime=(3.0, 3.0, 1.0))
    said = "Greedy: 2 candidates share the highest z′; the draw 0.62 fell on 'go south'."
    assert explain.how_drawn(even, DEFAULT) == said
    # Recordings of earlier versions have no draw.
    assert "the draw fell on" in explain.how_drawn(with_update(decision, draw=None), PAPER)
    human = dataclasses.replace(decision, provenance="human")
    assert explain.how_drawn(human, PAPER) == explain.how_drawn(decision, {}) == ""


def test_what_the_draw_chose_is_not_explained_as_if_it_were_the_best():
    decision = planned(chosen=1)
    parts = (decision.chosen, decision.candidates, decision.update.valuation, (), decision.update.advantage, "wait")
    assert "'go north' (never tried here) was drawn, though the best plan" in explain.why(*parts, preferred=False)
    near = Valuation(1.0, (2.0, 0.5, 0.5), (1, 2, 0), ("known", "known", "neutral"))
    found = (hit("go south", -1), hit("go north", -1), hit("go north", -1))
    sentence = explain.why(1, decision.candidates, near, found, (1.0, -0.5, -0.5), "wait", preferred=False)
    assert sentence.startswith("The draw decided, another action was more probable: 'go north' was tried in 2 of 3")


@pytest.mark.parametrize(
    ("transform", "confidence", "z", "text"),
    [
        ("linear", 60.0, 0.6, "z = c / 100 = 60 / 100 = +0.60"),
        ("log", 60.0, float(np.log(60 * 3 / 100)), "z = ln(c / mean c) = ln(60 / 33.33) = +0.59"),
        ("log", 0.0, float(np.log(0.5 / 33.5)), "z = ln(c / mean c) = ln(0.5 / 33.50) = −4.20"),
    ],
)
def test_the_logit_of_a_confidence_is_derived(transform, confidence, z, text):
    candidate = Candidate("wait", z, "llm", confidence)
    decision = dataclasses.replace(planned(), candidates=(candidate, *planned().candidates[1:]))
    assert worked.logit(candidate, decision, {"transform": transform}, "", "verbalized") == text
    assert worked.logit(candidate, decision, {"transform": transform}, "a+b", "verbalized") == ""
    assert worked.logit(candidate, decision, {}, "", "verbalized") == ""
    choice = Choice(1, decision, started({"transform": transform}))
    assert text in " ".join(line.plain for line in why_lines(choice, 200, brief=False))


def test_the_derivation_divides_by_a_remembered_action_that_is_no_candidate():
    prior, found = Proposing(("open door", 0.5)), (("open door", -4.0), ("sing", -1.0), ("open door", -4.0))
    settings = Settings(memory_candidates="positive", normalisation="positive")
    choice = Choice(1, decided(settings, prior, *found), started({"normalisation": "positive"}))
    outside = explain.outside(choice.decision)
    assert worked.scale(choice.decision.update.advantage, "positive", outside) == (
        "max Â of all remembered actions", pytest.approx(2.0)
    )  # fmt: skip
    assert "Ã = Â / (max Â of all remembered actions + ε)" in " ".join(
        line.plain for line in why_lines(choice, 200, brief=False)
    )
    assert choice.decision.update.advantage_normalised == pytest.approx((-0.5,))


def test_the_derivation_divides_by_what_the_advantages_were_divided_by():
    decision = planned()
    both = {
        "absolute": "Ã = Â / (max|Â| + ε) = +0.40 / (0.40 + 0)", "positive": "Ã = Â / (max Â + ε) = +0.40 / (0.40 + 0)"
    }  # fmt: skip
    for normalisation, text in both.items():
        choice = Choice(1, decision, started({"normalisation": normalisation}))
        assert text in " ".join(line.plain for line in why_lines(choice, 200, brief=False))
