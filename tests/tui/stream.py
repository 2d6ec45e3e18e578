"""A plausible run, made by hand: events as a session emits them, without game or model."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

import numpy as np

from engine import explain, jitrl, worked
from engine.records import (
    Candidate,
    Decided,
    Decision,
    EnvironmentInfo,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    ModelCall,
    Neighbour,
    Observation,
    SessionEnded,
    SessionStarted,
    State,
    Stepped,
    Thinking,
    Update,
    Valuation,
)
from engine.session.control import Control, PersonSaid, StopRequested

ROOMS = ("West of House", "North of House", "Forest Path", "Clearing", "Attic", "Cellar [dark]")
ACTIONS = (
    "open mailbox", "go north", "go east", "take leaflet", "read leaflet", "climb tree",
    "take jewel-encrusted egg", "open window", "enter house", "take lantern", "turn on lantern",
)  # fmt: skip
PROSE = (
    "You are standing in an open field west of a white house, with a boarded front door. There is a small "
    "mailbox here.",
    "This is a path winding through a dimly lit forest. The path heads north-south here. One particularly "
    "large tree with some low branches stands at the edge of the path.",
    "Taken.",
    "You can't see any [b]such thing[/b] here: [inventory] is [@click=app.quit]not[/] markup.",
    'Opening the small mailbox reveals a leaflet.\n\nThe leaflet says:\n  "WELCOME TO THE TEST!\n   It is a '
    'test of adventure, danger, and low cunning."',
)


def decision(rng: np.random.Generator, step: int, remembered: int) -> Decision:
    """Return a decision whose numbers come from Algorithm 1."""
    names = [str(a) for a in rng.choice(ACTIONS, 4, replace=False)]
    confidence = [float(c) for c in rng.integers(5, 95, 3)]
    candidates = tuple(
        Candidate(n, float(np.log(c * 3 / 100)), "llm", c, None, "It might help.")
        for n, c in zip(names, confidence, strict=False)
    )
    neighbours: tuple[Neighbour, ...] = ()
    if remembered:
        candidates = (*candidates, Candidate(names[3], 0.0, "memory"))
        neighbours = tuple(
            Neighbour(
                i, 1.0 - i * 0.004, str(rng.choice(names[1:])), float(rng.normal(2, 3)),
                int(rng.integers(1, remembered + 1)), int(rng.integers(0, 60)),
                f"[{rng.choice(ROOMS)}: mailbox, door, field, house, leaflet]", "human" if i == 2 else "agent",
            )
            for i in range(6)
        )  # fmt: skip
    values = jitrl.estimate_values(
        [c.action for c in candidates], [n.action for n in neighbours], [n.g for n in neighbours],
        rng.random(len(candidates)), lam=0.65, alpha=5.0,
    )  # fmt: skip
    z = [c.z for c in candidates]
    update = jitrl.policy_update(z, values, beta=1.0, epsilon=1e-8)
    draw = float(rng.random())
    chosen = jitrl.sample(update.posterior, draw)
    without = candidates[jitrl.sample(jitrl.softmax(z[:3]), draw)].action
    valuation = Valuation(values.v, tuple(map(float, values.q)), tuple(map(int, values.n)), values.how)
    advantage = tuple(map(float, update.advantage))
    part = Update(
        neighbours=neighbours,
        valuation=valuation,
        advantage=advantage,
        advantage_normalised=tuple(map(float, update.advantage_normalised)),
        z_prime=tuple(map(float, update.z_prime)),
        without_memory=without,
        equation=worked.equation(
            z[chosen], 1.0, float(update.advantage_normalised[chosen]), float(update.z_prime[chosen]),
            float(update.prior[chosen]), float(update.posterior[chosen]),
        ),
    )  # fmt: skip
    return Decision(
        step=step,
        state=State("[West of House: mailbox, door, field]", ("door", "field", "mailbox")),
        valid_actions=ACTIONS,
        candidates=candidates,
        prior=tuple(map(float, update.prior)),
        posterior=tuple(map(float, update.posterior)),
        chosen=chosen,
        action=candidates[chosen].action,
        why=explain.why(chosen, candidates, valuation, neighbours, advantage, without),
        calls=(ModelCall("actions", "local/smollm2", "SYSTEM: You play.\nUSER: What now?", "1. open mailbox 72",
                         812, 40, 0.0, 0.41),),
        parts=(part,),
    )  # fmt: skip


def run(episodes: int = 2, steps: int = 8, seed: int = 1, planned: int = 0) -> list[Event]:
    """Return the events of a whole session."""
    rng = np.random.default_rng(seed)
    environment = EnvironmentInfo("zork1", "Zork I", "zork1", 350.0)
    events: list[Event] = [
        SessionStarted(
            "s1", environment, "jitrl", "local/smollm2", seed, "default", planned or episodes, steps, {}
        )
    ]
    remembered, scores = 0, []
    for episode in range(1, episodes + 1):
        score = 0.0
        events.append(EpisodeStarted(episode, seed, Observation(PROSE[0], place=ROOMS[0], max_score=350.0)))
        for step in range(steps):
            made = decision(rng, step, episode - 1)
            reward = float(rng.choice([0, 0, 0, 5, 10], p=[0.4, 0.2, 0.2, 0.1, 0.1]))
            if rng.random() < 0.03:
                reward = -10.0
            score += reward
            seen = Observation(
                str(rng.choice(PROSE)),
                place=str(rng.choice(ROOMS)),
                score=score,
                max_score=350.0,
                moves=step + 1,
            )
            events.append(Thinking("thinking"))
            events.append(Decided(episode, made))
            events.append(Stepped(episode, step, made.action, seen, reward, tokens=852 * (step + 1)))
        scores.append(score)
        remembered += steps
        events.append(
            EpisodeEnded(episode, score, 350.0, steps, False, True, "", (0.0,) * steps, (0.0,) * steps,
                         remembered, steps, 852 * steps, 0.0, 9.0, 2)
        )  # fmt: skip
    events.append(SessionEnded(True, episodes, sum(scores) / len(scores), scores[-1]))
    return events


def recorded(events: list[Event]) -> list[tuple[float, Event]]:
    """Return events with times, as a recording gives them."""
    return [(1.0e9 + i, event) for i, event in enumerate(events)]


class ScriptedSession:
    """Plays prepared events through a real `Control`, as a session does: it waits between Decided and Stepped.

    `carried_out` collects (provenance, action) of every step.
    """

    def __init__(
        self, emit: Callable[[Event], None], events: list[Event], crash: BaseException | None = None
    ):
        self.control = Control()
        self.carried_out: list[tuple[str, str]] = []
        self.ended = threading.Event()
        self._emit, self._events, self._crash = emit, events, crash
        self._episode = 1

    def fast_forward(self, episodes: int) -> None:
        self.control.fast_forward(self._episode + episodes)

    def run(self) -> None:
        try:
            self._run()
        except StopRequested:
            self._emit(SessionEnded(False, 0, 0.0, 0.0))
        finally:
            self.ended.set()

    def _run(self) -> None:
        override = None
        for event in self._events:
            self.control.check()
            if isinstance(event, EpisodeStarted):
                self._episode = event.episode
            if isinstance(event, Stepped):
                if override is not None:
                    event = dataclasses.replace(event, action=override, provenance="human")
                self.carried_out.append((event.provenance, event.action))
            self._emit(event)
            if isinstance(event, Decided):
                answer = self.control.gate(event.episode, self._emit)
                override = answer.action if answer.said is PersonSaid.INSTEAD else None
                if override is not None:
                    self._emit(Decided(event.episode, explain.overrule(event.decision, override)))
        if self._crash is not None:
            raise self._crash
