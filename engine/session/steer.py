"""Lets a person steer: holds decisions, and makes what the person says of them into decisions.

Each change is told as a further `Decided`, which says who made it and how. The one that was told last is carried out.
Actions that a person has vetoed in a state stay forbidden there for the rest of the session.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine import jitrl
from engine.errors import BadFile, StorageError
from engine.explain import overrule
from engine.records import (
    Decided,
    Decision,
    EpisodeStarted,
    Event,
    Notice,
    Observation,
    Paused,
    Resumed,
    State,
    Steered,
    Stepped,
    TakenBack,
    Update,
)
from engine.session import orders, rules
from engine.session.control import Answer, Control, EndEpisode, PersonSaid, Reread, TakeBack

if TYPE_CHECKING:
    from engine.session.emitter import EventWriter
    from engine.session.live import RunningEpisode
    from engine.session.lookahead import Lookahead


class Vetoes:
    """The vetoed actions by state.

    Args:
        past: Events of the session so far. What a person or a rule decided last in a state says what is vetoed there.
    """

    def __init__(self, past: Iterable[Event] = ()) -> None:
        self._by_state: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        for event in past:
            if isinstance(event, Decided) and event.decision.by != "agent":
                self.put(event.decision.state, event.decision.vetoed)

    def of(self, state: State) -> tuple[str, ...]:
        """Return the actions that are vetoed in a state, the first one first."""
        return self._by_state.get((state.place, state.tokens), ())

    def put(self, state: State, actions: tuple[str, ...]) -> None:
        """Set which actions are vetoed in a state."""
        if actions:
            self._by_state[state.place, state.tokens] = actions
        else:
            self._by_state.pop((state.place, state.tokens), None)


def without(decision: Decision, vetoed: tuple[str, ...], *, greedy: bool, draw: float) -> Decision | None:
    """Return the decision that is made from the same candidates without the vetoed ones; None if none is left.

    The posterior is renormalised over the candidates that are left. No model is asked.

    Args:
        greedy: Whether the most probable candidate is taken, instead of a drawn one.
        draw: A random number in [0, 1).
    """
    left = [i for i, candidate in enumerate(decision.candidates) if candidate.action not in vetoed]
    if not left:
        return None
    policy = _renormalised(decision, left)
    best = np.flatnonzero(policy >= policy.max() - 1e-12)
    chosen = left[int(best[int(draw * len(best))]) if greedy else jitrl.sample(policy, draw)]
    posterior = [0.0] * len(decision.candidates)
    for i, probability in zip(left, policy, strict=True):
        posterior[i] = float(probability)
    action = decision.candidates[chosen].action
    names = " and ".join(f"'{name}'" for name in vetoed)
    parts = tuple(
        dataclasses.replace(part, without_memory="", equation="") if isinstance(part, Update) else part
        for part in decision.parts
    )
    return dataclasses.replace(
        decision,
        posterior=tuple(posterior),
        chosen=chosen,
        action=action,
        why=f"You vetoed {names} in this state. Of the candidates left, '{action}' has {posterior[chosen]:.0%}.",
        parts=parts,
        vetoed=vetoed,
    )


def _renormalised(decision: Decision, left: Sequence[int]) -> jitrl.Array:
    """Return the posterior of the candidates that are left, renormalised."""
    policy = np.asarray([decision.posterior[i] for i in left])
    if policy.sum() > 0.0:
        return np.asarray(policy / policy.sum())
    # The vetoed ones had all of the posterior, as far as a number can say.
    update = decision.update
    return jitrl.softmax([update.z_prime[i] if update else decision.candidates[i].z for i in left])


ONCE_ONLY = (
    "A step cannot be taken back here: this cannot be put back to its start; taking the other steps again would lead "
    "elsewhere, or send a site's forms a second time."
)
ALL_VETOED = "everything that the agent proposes here is vetoed; choose another action"


class BreakpointHold(NamedTuple):
    """Why breakpoints hold a decision.

    Attributes:
        names: The rules that match, "" for none.
        why: What they found, for people.
    """

    names: str = ""
    why: str = ""

    @property
    def text(self) -> str:
        """For the screen, "" if no breakpoint matches."""
        return f"Breakpoint {self.names}: {self.why}." if self.names else f"{self.why[:1].upper()}{self.why[1:]}"


class Steering:
    """What a person says to the decisions of a session.

    Args:
        control: Commands of the person.
        events: Tells events, and records them.
        folder: Folder of the session; the orders are kept there.
        draws: Returns the generator of a decision for the number of its episode in the session and its step.
        greedy: Whether the most probable candidate is taken after a veto, instead of a drawn one.
        past: Events of the session so far.
        takes_back: Whether steps can be taken back.
    """

    def __init__(
        self,
        control: Control,
        events: EventWriter,
        folder: Path,
        draws: Callable[[int, int], np.random.Generator],
        greedy: bool,
        past: Iterable[Event],
        *,
        takes_back: bool = True,
    ) -> None:
        self._control = control
        self._events = events
        self._draws = draws
        self._greedy, self._takes_back = greedy, takes_back
        past = list(past)
        self._vetoes = Vetoes(past)
        self._undone: list[Decision] = []
        self._redone = False
        self._places: set[tuple[str, int]] = set()
        self._after = BreakpointHold()
        for event in past:
            if isinstance(event, (EpisodeStarted, Stepped, TakenBack)):
                self._places.add(rules.place_of(event.observation))
        self._keep_orders(folder)

    def _keep_orders(self, folder: Path) -> None:
        """Keep orders in the folder: those that were given since the session was opened, and later ones."""

        def keep(new: orders.Orders) -> None:
            try:
                orders.store(folder, new)
            except StorageError as error:
                self._events.emit(Notice("warning", str(error)))

        self._control.on_order(keep)
        try:
            kept = orders.load(folder)
        except BadFile as error:
            self._events.emit(Notice("warning", str(error)))
            kept = orders.Orders()
        if (ordered := self._control.orders) != kept:  # something was ordered since the session was opened
            keep(ordered)

    # ----------------------------------------------------------------------------------- before a step

    def settle(
        self,
        live: RunningEpisode,
        decision: Decision,
        resolve: Callable[[str], str | None] | None,
        *,
        repeatable: bool,
        ahead: Lookahead | None,
        again: Callable[[Decision], Decision] = lambda made: made,
    ) -> Decision:
        """Tell a decision of the agent, and return what is to be carried out in its place, once nothing holds it.

        Args:
            live: The running episode.
            resolve: Returns an action in the form in which it is remembered, None if it cannot be taken.
            repeatable: Whether steps of the episode can be taken again, to take back the last one.
            ahead: Prepares the next prompt while the person reads; None if nothing does.
            again: Makes a decision again after the person changed memory.

        Raises:
            Stopped: The person stopped the session.
            TakeBack: The person undid the last step, and it can be undone.
            EndEpisode: The person ended the episode, and it has steps.
        """
        decision = dataclasses.replace(decision, reason=self._control.handed_over(live.number))
        self._record_decision(live, decision)
        decision, hold = self._forewarned(live, decision)
        while True:
            try:
                answer = self._gate(live, decision, hold.text, ahead)
            except TakeBack:
                if self._can_take_back(live, repeatable):
                    raise
                continue
            except Reread:
                made = again(decision)
                if made is not decision:
                    self._record_decision(live, made)
                    decision, _ = self._forewarned(live, made)
                continue
            except EndEpisode:
                if live.steps:
                    raise
                self._inform("The episode has just begun: there is no step yet that could be stored.")
                continue
            settled = self._answered(live, decision, answer, resolve, hold.names)
            if settled is not None and settled is not decision:
                self._record_decision(live, settled)
            if answer.said is PersonSaid.VETOED:
                decision = settled or decision
            elif settled is not None:
                return settled

    def _forewarned(self, live: RunningEpisode, decision: Decision) -> tuple[Decision, BreakpointHold]:
        """Return the decision with earlier vetoes applied, and why breakpoints hold it."""
        hold, self._after = self._after, BreakpointHold()
        vetoed = self._vetoes.of(decision.state)
        if decision.action in vetoed:
            other = self._without(live, decision, vetoed)
            if other is None:
                hold = BreakpointHold("", ALL_VETOED)
            else:
                decision = dataclasses.replace(other, by="rule", reason="vetoed before")
                self._record_decision(live, decision)
        for rule in self._control.orders.rules:
            why = rules.before(rule, decision, live.observation, live.number)
            hold = _joined(hold, str(rule), why) if why else hold
        return decision, hold

    def _gate(self, live: RunningEpisode, decision: Decision, hold: str, ahead: Lookahead | None) -> Answer:
        """Let the person see the decision; return what they say."""
        if ahead is None or not self._control.waits(live.number, hold):
            return self._control.gate(live.number, self._record_gate, hold)
        shown = [*(past.action for past in live.decisions), decision.action]
        with ahead.beyond(shown) as decided:
            answer = self._control.gate(live.number, self._record_gate, hold)
            decided(
                answer.said in (PersonSaid.NOTHING, PersonSaid.APPROVED, PersonSaid.HANDED_OVER)
                or (answer.said is PersonSaid.INSTEAD and answer.action == decision.action)
            )
        return answer

    def _answered(
        self,
        live: RunningEpisode,
        decision: Decision,
        answer: Answer,
        resolve: Callable[[str], str | None] | None,
        held_by: str,
    ) -> Decision | None:
        """Return the decision that an answer makes; None if it makes none, and the person is asked again."""
        vetoed = self._vetoes.of(decision.state)
        at = f" at breakpoint {held_by}" if held_by else ""
        if answer.said is PersonSaid.NOTHING:
            return decision
        if answer.said is PersonSaid.APPROVED:
            return dataclasses.replace(decision, by="person", reason=f"approved{at}", vetoed=vetoed)
        if answer.said is PersonSaid.HANDED_OVER:
            return dataclasses.replace(decision, by="person", reason=f"{answer.action}{at}", vetoed=vetoed)
        if answer.said is PersonSaid.REDO:
            return self._again(decision.step)
        if answer.said is PersonSaid.VETOED:
            return self._vetoed(live, decision, answer.action, at)
        action = (resolve(answer.action) if resolve else None) or answer.action
        chosen = overrule(decision, action)
        left = tuple(one for one in vetoed if one != action)  # who takes it, allows it again
        self._vetoes.put(decision.state, left)
        return dataclasses.replace(chosen, reason=f"{chosen.reason}{at}", vetoed=left)

    def _vetoed(self, live: RunningEpisode, decision: Decision, action: str, at: str) -> Decision | None:
        """Return what the agent chooses without an action; None if it has nothing else."""
        vetoed = (*(one for one in self._vetoes.of(decision.state) if one != action), action)
        other = self._without(live, decision, vetoed)
        if other is None:
            self._inform(f"'{action}' is the last candidate here that is not vetoed; choose another action instead.")
            return None
        self._vetoes.put(decision.state, vetoed)
        return dataclasses.replace(other, by="person", reason=f"vetoed '{action}'{at}")

    def _without(self, live: RunningEpisode, decision: Decision, vetoed: tuple[str, ...]) -> Decision | None:
        """Return the choice without the vetoed actions, with the draw that the agent's own choice was made with."""
        _, _, sampling = self._draws(live.number, decision.step).spawn(3)
        return without(decision, vetoed, greedy=self._greedy, draw=float(sampling.random()))

    def _again(self, step: int) -> Decision | None:
        """Return the decision of the step that was taken back last; None if there is none."""
        if not self._undone or self._undone[-1].step != step:
            self._inform("There is no step to take again: none was taken back here, or another one was taken since.")
            return None
        self._redone = True
        undone = self._undone[-1]
        how = undone.reason.removeprefix("taken again; ")
        return dataclasses.replace(undone, by="person", reason="; ".join(filter(None, ["taken again", how])))

    def _can_take_back(self, live: RunningEpisode, repeatable: bool) -> bool:
        """Return whether the last step can be taken back; tell why where it cannot."""
        if not live.steps:
            self._inform("There is no step to take back: the episode has just begun.")
        elif not self._takes_back:
            self._inform("No step can be taken back in a run that nobody watches.")
        elif not repeatable:
            self._events.emit(Notice("warning", ONCE_ONLY))
        return bool(live.steps) and repeatable and self._takes_back

    # ------------------------------------------------------------------------------------ after a step

    def began(self, seen: Observation) -> None:
        """Note that an episode begins. What was taken back in the one before cannot be taken again."""
        self._undone.clear()
        self._places.add(rules.place_of(seen))

    def stepped(self, seen: Observation, then: Observation) -> None:
        """Note a step. A breakpoint that matches holds the next decision, and is told at once.

        Args:
            seen: What was seen before it.
            then: What was seen after it.
        """
        if self._redone:
            self._undone.pop()
        else:
            self._undone.clear()
        self._redone = False
        for rule in self._control.orders.rules:
            why = rules.after(rule, seen, then, self._places)
            self._after = _joined(self._after, str(rule), why) if why else self._after
        self._places.add(rules.place_of(then))
        if self._after.names:
            self._inform(self._after.text)

    def taken_back(self, decision: Decision) -> None:
        """Note that the last step was taken back."""
        self._undone.append(decision)
        self._after = BreakpointHold()

    # ------------------------------------------------------------------------------------------ telling

    def _record_decision(self, live: RunningEpisode, decision: Decision) -> None:
        self._events.record(Decided(live.number, decision))

    def _record_gate(self, event: Paused | Resumed | Steered | Notice) -> None:
        """Tell what the gate says. That the session waits is not recorded; that another process steered it is."""
        if isinstance(event, (Paused, Resumed)):
            self._events.emit(event)
        else:
            self._events.record(event)

    def _inform(self, text: str) -> None:
        self._events.emit(Notice("info", text))


def _joined(hold: BreakpointHold, name: str, why: str) -> BreakpointHold:
    return BreakpointHold(", ".join(filter(None, [hold.names, name])), "; ".join(filter(None, [hold.why, why])))
