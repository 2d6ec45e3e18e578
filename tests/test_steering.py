"""A person steers a real session on a shipped game: asks, vetoes, breakpoints, hand-over, redo, end of the episode."""

from __future__ import annotations

import random
import threading

import pytest

from engine.environments import profile
from engine.memory import Memory
from engine.records import Decided, EpisodeEnded, Notice, Paused, SessionEnded, Stepped, TakenBack
from engine.session import branches, orders, recording
from engine.session import store as sessions
from engine.session.control import FOREVER, Control, PersonSaid
from engine.session.orders import ALWAYS, BREAKPOINTS, NEVER, Orders
from engine.session.rules import parse
from engine.session.steer import Vetoes
from engine.settings import SessionConfig
from tests.killed import decided, differences
from tests.playing import only, run, taking_back


def config(**changes):
    settings = profile("default", step_limit=changes.pop("steps", 8))
    return SessionConfig(**{"game": "pantry", "model": "prior/verbs", "episodes": 1, "settings": settings, **changes})


def play(saves, answer, *, ask=ALWAYS, rules=(), saved=None, plan=None, **control):
    """Play a session in which `answer(control, paused, decision)` is called for each decision that waits.

    It is given the decision that waits, and returns True to leave the session.
    """
    saved = saved or sessions.create(saves, plan or config(), "watch")
    made = Control(orders=Orders(ask, tuple(map(parse, rules))), **control)
    waiting = []

    def on_event(session, event):
        if isinstance(event, Decided):
            waiting[:] = [event.decision]
        elif isinstance(event, Paused) and answer(session.control, event, waiting[0] if waiting else None):
            session.control.stop()

    session, events = run(saved, saves, on_event, control=made)
    assert session.error is None, session.error
    return saved, events


def approve(control, paused, decision):
    control.answer(paused.question, PersonSaid.APPROVED)


def carried_out(events):
    """Return the decision behind each step that was taken."""
    last, found = None, []
    for event in events:
        if isinstance(event, Decided):
            last = event.decision
        elif isinstance(event, Stepped):
            assert (last.action, last.provenance, last.step) == (event.action, event.provenance, event.step)
            found.append(last)
    return found


def by(decisions):
    return [(one.provenance, one.by, one.reason) for one in decisions]


# ------------------------------------------------------------------------------------------- asking


def test_each_step_waits_for_an_answer_and_the_answer_is_recorded(tmp_path):
    said = {}

    def answer(control, paused, decision):
        step = decision.step
        said[step] = decision
        if step == 1:
            control.override(decision.candidates[-1].action)
        elif step == 2:
            control.override("sing loudly")
        elif step == 3:
            control.override(next(a for a in decision.valid_actions if a != decision.action))
        elif step == 4:
            control.hand_over(2)
        else:
            assert paused.asks
            control.answer(paused.question, PersonSaid.APPROVED)

    saved, events = play(tmp_path, answer)
    assert sorted(said) == [0, 1, 2, 3, 4, 6, 7]
    made = carried_out(events)
    assert by(made) == [
        ("agent", "person", "approved"),
        ("human", "person", "chosen instead"),
        ("human", "person", "typed"),
        ("human", "person", "chosen instead"),
        ("agent", "person", "handed over for 2 steps"),
        ("agent", "agent", "handed over for 2 steps"),
        ("agent", "person", "approved"),
        ("agent", "person", "approved"),
    ]
    # An approved action is the agent's, also in memory.
    with Memory(tmp_path / "memory") as memory:
        (episode,) = memory.scope(memory.scopes()[0]).episodes()
    assert [step.provenance for step in episode.steps] == [one.provenance for one in made]
    # The recording says the same.
    assert by(carried_out([event for _, event in recording.read(saved.folder)])) == by(made)


def test_approvals_change_nothing_about_what_the_agent_does(tmp_path):
    plan = config(episodes=2, steps=8)
    _, asked = play(tmp_path / "asked", approve, plan=plan)
    _, free = play(tmp_path / "free", approve, ask=NEVER, plan=plan)
    assert [step.action for step in only(asked, Stepped)] == [step.action for step in only(free, Stepped)]
    assert [e.tally for e in only(asked, EpisodeEnded)] == [e.tally for e in only(free, EpisodeEnded)]
    assert not only(free, Paused)
    assert {one.by for one in carried_out(free)} == {"agent"}


def test_an_answer_counts_for_one_question_only(tmp_path):
    asked = []

    def answer(control, paused, decision):
        asked.append(decision.step)
        if asked == [0]:
            for _ in range(5):
                control.answer(paused.question, PersonSaid.APPROVED)
            control.answer(paused.question + 1, PersonSaid.APPROVED)  # a question that was not asked yet
            return False
        return True

    _, events = play(tmp_path, answer)
    assert asked == [0, 1]
    assert len(only(events, Stepped)) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_no_command_but_an_answer_or_a_hand_over_moves_a_session_that_asks(tmp_path, seed):
    rng = random.Random(seed)
    lines, answered, news = [], set(), threading.Event()

    def answer(control, paused, decision):
        lines.append((control, paused, decision))
        news.set()

    def person():
        assert news.wait(60)
        for _ in range(200):
            news.wait(0.002)
            news.clear()
            control, paused, decision = lines[-1]
            number = rng.randrange(11)
            if number == 0:
                answered.add(paused.question)
                control.answer(paused.question, PersonSaid.APPROVED)
            elif number == 1:
                control.answer(rng.randrange(paused.question), PersonSaid.APPROVED)
            elif number == 2:
                control.answer(paused.question, PersonSaid.VETOED, decision.action)
            elif number == 3:
                control.override("sing")
            elif number == 4:
                control.end_episode(99)
            else:
                rng.choice([control.resume, control.pause, control.take_back, control.redo])()
        control.stop()

    thread = threading.Thread(target=person, daemon=True)
    thread.start()
    _, events = play(tmp_path, answer, plan=config(steps=60))
    thread.join(60)
    made = carried_out(events)
    assert len(made) > 5
    assert {one.by for one in made} == {"person"}
    assert sum(one.reason == "approved" for one in made) <= len(answered)
    assert {one.reason.partition(";")[0] for one in made} <= {"approved", "typed", "taken again"}


def test_turning_the_questions_off_does_not_carry_out_what_waits(tmp_path):
    seen = []

    def answer(control, paused, decision):
        seen.append((paused.asks, decision.step))
        if len(seen) == 1:
            control.order(Orders(NEVER))
        elif len(seen) == 2:
            control.order(Orders(ALWAYS))
        else:
            return True

    _, events = play(tmp_path, answer)
    assert seen == [(True, 0), (False, 0), (True, 0)]
    assert not only(events, Stepped)


def test_a_session_left_at_a_question_loses_nothing_and_asks_again(tmp_path):
    def answer(control, paused, decision):
        approve(control, paused, decision) if decision.step < 3 else control.stop()

    saved, events = play(tmp_path, answer)
    assert len(only(events, Stepped)) == 3
    _, rest = play(tmp_path, approve, saved=sessions.load(saved.folder), ask=NEVER)
    # The new process got its orders from the folder of the session.
    assert [one.reason for one in carried_out(rest)] == ["approved"] * 8
    _, whole = play(tmp_path / "whole", approve)
    assert [s.action for s in only(rest, Stepped)] == [s.action for s in only(whole, Stepped)]


# ------------------------------------------------------------------------------------------- vetoes


def test_a_vetoed_action_is_not_taken_in_this_state_and_the_agent_chooses_again(tmp_path):
    first = []

    def answer(control, paused, decision):
        if decision.step == 0 and len(first) < 2:
            first.append(decision)
            control.answer(paused.question, PersonSaid.VETOED, decision.action)
        else:
            approve(control, paused, decision)

    saved, events = play(tmp_path, answer)
    told = [event.decision for event in only(events, Decided) if event.decision.step == 0]
    one, other = (decision.action for decision in first)
    assert [d.by for d in told] == ["agent", "person", "person", "person"]
    assert [d.reason for d in told] == ["", f"vetoed '{one}'", f"vetoed '{other}'", "approved"]
    assert told[-1].vetoed == (one, other)
    assert told[-1].action not in (one, other)
    assert sum(told[-1].posterior) == pytest.approx(1)
    for candidate, probability in zip(told[-1].candidates, told[-1].posterior, strict=True):
        assert (probability == 0.0) == (candidate.action in (one, other))
    # One decision of the agent, one call of the model.
    assert only(events, EpisodeEnded)[0].tally == only(play(tmp_path / "b", approve)[1], EpisodeEnded)[0].tally
    # The recording says so to the process that goes on with it.
    _, kept = zip(*recording.read(saved.recording), strict=True)
    assert Vetoes(kept).of(told[0].state) == (one, other)


def test_the_rule_of_an_earlier_veto_says_that_it_decided(tmp_path):
    def answer(control, paused, decision):
        if decision.step == 0 and not decision.vetoed:
            control.answer(paused.question, PersonSaid.VETOED, decision.action)
        else:
            control.order(Orders(NEVER))
            control.resume()

    plan = config(episodes=2, steps=3, agent="static")
    _, events = play(tmp_path, answer, plan=plan)
    second = [event.decision for event in only(events, Decided) if (event.episode, event.decision.step) == (2, 0)]
    assert [(d.by, d.reason) for d in second] == [("agent", ""), ("rule", "vetoed before")]
    assert second[0].action in second[1].vetoed
    assert second[1].action not in second[1].vetoed


def test_the_last_candidate_cannot_be_vetoed_and_who_takes_an_action_allows_it_again(tmp_path):
    seen = []

    def answer(control, paused, decision):
        if decision.step:
            return True
        seen.append(decision)
        if len(seen) <= len(decision.candidates):
            control.answer(paused.question, PersonSaid.VETOED, decision.action)
        else:
            control.override(decision.vetoed[0])
        return False

    _, events = play(tmp_path, answer)
    assert any("last candidate" in notice.message for notice in only(events, Notice))
    (step,) = carried_out(events)
    assert step.action == seen[0].action
    assert step.action not in step.vetoed
    assert len(step.vetoed) == len(step.candidates) - 2


# -------------------------------------------------------------------------------------- breakpoints


def test_a_breakpoint_stops_a_fast_forward_and_says_which_and_why(tmp_path):
    held = []

    def answer(control, paused, decision):
        if not paused.reason:
            control.fast_forward(FOREVER)
            return False
        assert not paused.asks
        held.append((paused.reason, decision))
        control.step_once() if len(held) == 1 else control.fast_forward(FOREVER)
        return len(held) == 3

    plan = config(episodes=3, steps=30)
    _, events = play(tmp_path, answer, ask=NEVER, rules=("score",), plan=plan, paused=True)
    assert held
    steps = only(events, Stepped)
    for reason, decision in held:
        before = next(s for s in reversed(steps) if s.step == decision.step - 1 and s.reward)
        assert reason == f"Breakpoint score: the score changed by {before.reward:+g} to {before.observation.score:g}."
    assert any("handed over until a breakpoint" in d.reason for d in carried_out(events))
    assert [d.reason for d in carried_out(events) if "approved" in d.reason] == ["approved at breakpoint score"]


@pytest.mark.parametrize(
    ("rule", "at"), [("episode=2", (2, 0)), ("command:*", (1, 0)), ("entropy>0.001", (1, 0)), ("new-place", (1, 1))]
)
def test_breakpoints_pause_a_run_where_they_match(tmp_path, rule, at):
    events_at = []

    def answer(control, paused, decision):
        events_at.append((paused, decision))
        return True

    plan = config(episodes=2, steps=4, model="prior/uniform", agent="random" if rule == "new-place" else "jitrl")
    _, events = play(tmp_path, answer, ask=NEVER, rules=(rule,), plan=plan)
    ((paused, decision),) = events_at
    assert rule in paused.reason
    assert paused.question
    steps = only(events, Stepped)
    if rule == "new-place":
        places = [step.observation.place for step in steps]
        assert places[-1] not in places[:-1]
    else:
        assert (1 + len(only(events, EpisodeEnded)), decision.step) == at


def test_a_rule_can_make_the_session_ask_and_it_goes_on_by_itself(tmp_path):
    asked = []

    def answer(control, paused, decision):
        asked.append((paused.asks, decision.step))
        approve(control, paused, decision)

    plan = config(episodes=3, steps=3)
    _, events = play(tmp_path, answer, ask=BREAKPOINTS, rules=("episode=2",), plan=plan)
    assert asked == [(True, 0)]
    assert len(only(events, Stepped)) == 9
    assert [d.reason for d in carried_out(events) if d.by == "person"] == ["approved at breakpoint episode=2"]


def test_damaged_orders_are_told_and_the_session_runs_without_them(tmp_path):
    saved = sessions.create(tmp_path, config(steps=2), "watch")
    (saved.folder / orders.FILE_NAME).write_text("{")
    _, events = play(tmp_path, approve, saved=saved, ask=NEVER)
    assert any("cannot be read" in notice.message for notice in only(events, Notice))
    assert only(events, SessionEnded)[0].finished


# --------------------------------------------------------------------------- redo, end of the episode


def test_steps_taken_back_are_taken_again_with_their_decisions(tmp_path):
    script = iter(["approve", "sing", "approve", "undo", "undo", "redo", "redo", "redo", "undo", "approve", "redo"])
    states = []

    def answer(control, paused, decision):
        word = next(script, None)
        states.append((word, decision.step))
        if word is None:
            return True
        if word == "approve":
            approve(control, paused, decision)
        elif word in ("undo", "redo"):
            {"undo": control.take_back, "redo": control.redo}[word]()
        else:
            control.override(word)

    saved, events = play(tmp_path, answer)
    made = carried_out(events)
    assert by(made) == [
        ("agent", "person", "approved"),
        ("human", "person", "typed"),
        ("agent", "person", "approved"),
        ("human", "person", "taken again; typed"),
        ("agent", "person", "taken again; approved"),
        ("agent", "person", "approved"),
    ]
    assert made[1].action == made[3].action == "sing"
    assert made[2].action == made[4].action
    steps = only(events, Stepped)
    assert [s.observation for s in steps[1:3]] == [s.observation for s in steps[3:5]]
    assert len(only(events, TakenBack)) == 3
    # The third "redo" has nothing left, and after another step the last one has nothing, either.
    refused = [n.message for n in only(events, Notice) if "no step to take again" in n.message]
    assert len(refused) == 2
    _, rest = play(tmp_path, approve, saved=sessions.load(saved.folder))
    assert only(rest, SessionEnded)[0].finished
    assert only(rest, EpisodeEnded)[0].steps == 8


def test_where_nobody_watches_no_step_is_taken_back(tmp_path):
    saved = sessions.create(tmp_path, config(episodes=1, steps=4), "run")
    session, events = run(saved, tmp_path, taking_back(2), takes_back=False)
    assert session.error is None
    assert only(events, TakenBack) == []
    assert [n.message for n in only(events, Notice)] == ["No step can be taken back in a run that nobody watches."]
    assert [step.step for step in only(events, Stepped)] == [0, 1, 2, 3]


def test_an_episode_that_a_person_ends_is_truncated_and_stored(tmp_path):
    def answer(control, paused, decision):
        if decision.step in (0, 3) and decision.step not in ended:
            ended.append(decision.step)
            control.end_episode(1)
        else:
            approve(control, paused, decision)

    ended = []
    _, events = play(tmp_path, answer, plan=config(episodes=2, steps=5))
    first, second = only(events, EpisodeEnded)
    assert (first.steps, first.truncated, first.terminated, first.ended_by) == (3, True, False, "person")
    assert (second.steps, second.ended_by) == (5, "")
    assert first.entries_added == 3
    assert any("no step yet" in notice.message for notice in only(events, Notice))
    with Memory(tmp_path / "memory") as memory:
        one, _ = memory.scope(memory.scopes()[0]).episodes()
    assert (len(one.steps), one.truncated, one.terminated) == (3, True, False)


# ------------------------------------------------------------------------- resuming, branches


def test_a_steered_session_left_anywhere_decides_as_one_that_was_not(tmp_path):
    """Vetoes, approvals, own commands and steps taken back come at the same places in both sessions."""

    def person(leave):
        backs, left = set(), set()

        def answer(control, paused, decision):
            at = (control.episodes, decision.step)
            if at == leave and at not in left:
                left.add(at)
                return True
            if decision.step == 2 and not decision.vetoed:
                control.answer(paused.question, PersonSaid.VETOED, decision.action)
            elif decision.step == 4 and at not in backs:
                backs.add(at)
                control.take_back()
            elif decision.step == 5:
                control.override("sing")
            else:
                approve(control, paused, decision)
            return False

        return answer

    class Counting(Control):
        episodes = 1

        def gate(self, episode, tell, hold=""):
            self.episodes = episode
            return super().gate(episode, tell, hold)

    def playing(saves, saved, answer):
        made, waiting = Counting(orders=Orders(ALWAYS)), []

        def on_event(session, event):
            if isinstance(event, Decided):
                waiting[:] = [event.decision]
            elif isinstance(event, Paused) and answer(session.control, event, waiting[0]):
                session.control.stop()

        session, _ = run(saved, saves, on_event, control=made)
        assert session.error is None

    found = []
    for name, leave in (("whole", None), ("left", (2, 3))):
        saved = sessions.create(tmp_path / name, config(episodes=2, steps=8), "watch")
        answer = person(leave)
        playing(tmp_path / name, saved, answer)
        if leave:
            assert not saved.finished()
            playing(tmp_path / name, sessions.load(saved.folder), answer)
        assert saved.finished()
        found.append({key: one for key, one in decided(saved).items() if "again" not in key})
    assert differences(*found) == []


def test_a_branch_of_a_steered_session_has_its_steps_and_its_orders(tmp_path):
    def answer(control, paused, decision):
        if decision.step == 1 and not decision.vetoed:
            control.answer(paused.question, PersonSaid.VETOED, decision.action)
        else:
            approve(control, paused, decision)

    saved, events = play(tmp_path, answer, rules=("score",))
    branch = branches.branch(tmp_path, saved, (1, 4))
    assert orders.load(branch.folder) == Orders(ALWAYS, (parse("score"),))
    copied = carried_out([event for _, event in recording.read(branch.folder)])
    assert copied == carried_out(events)[:4]
    _, rest = play(tmp_path, approve, saved=branch)
    assert [d.action for d in carried_out(rest)][:4] == [d.action for d in copied]
    assert only(rest, SessionEnded)[0].finished
