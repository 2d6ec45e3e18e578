"""What a recording says of each candidate of each decision, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from engine import explain
from engine.records import EpisodeEnded, SessionStarted
from engine.session import recording
from engine.session.recorded_steps import SessionReader, TakenStep


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One candidate of a decision that was carried out. Steps that were taken back are left out.

    Attributes:
        cell: Name of the cell of a benchmark, "" for a session.
        session: Name of the session.
        game: Name of the environment.
        agent: Name of the method.
        model: Name of the model.
        seed: Seed of the session.
        episode: Episode within the session, from 1.
        step: Step within the episode, from 0.
        state: The abstracted state in words.
        candidate: Its index in the decision, from 0; -1 for an action that a person typed.
        action: The candidate.
        source: Who proposed it: "llm", "memory", "both", "valid" or "random"; "human" if a person typed it.
        confidence: Verbalized confidence, 0 to 100.
        n: Remembered steps that took it.
        v: V(s).
        q: Q(s, a).
        a: Advantage A(s, a) = Q - V.
        a_normalised: The advantage as it is added to the logit, before β.
        beta: β of this decision.
        z: Logit before the update.
        z_prime: Logit after the update.
        prior: Probability before the update.
        pi: Probability after the update.
        chosen: Whether it was carried out.
        by: Who chose: "agent" or "human".
        reward: Change of the score with this step, whichever candidate was carried out.
        judged: The evaluator's reward of the step, once the episode has ended.
        g: Discounted return of the step, likewise.
        v_shown: V(s) as screens show it: at most what is left to gain.
        q_shown: Q(s, a) as screens show it, likewise.
        a_shown: A(s, a) as screens show it, likewise.
        unit: What the shown values are: "points", "novelty" or "return G".
        turned: Settings that a person had changed by then, such as "beta=5.0 k=3".
    """

    cell: str
    session: str
    game: str
    agent: str
    model: str
    seed: int
    episode: int
    step: int
    state: str
    candidate: int
    action: str
    source: str
    confidence: float | None
    n: int | None
    v: float | None
    q: float | None
    a: float | None
    a_normalised: float | None
    beta: float | None
    z: float
    z_prime: float | None
    prior: float
    pi: float
    chosen: bool
    by: str
    reward: float
    judged: float | None
    g: float | None
    v_shown: float | None = None
    q_shown: float | None = None
    a_shown: float | None = None
    unit: str | None = None
    turned: str = ""


def candidate_rows(path: Path, cell: str = "") -> Iterator[CandidateRow]:
    """Yield the rows of a recording: by episode, step and candidate.

    Args:
        path: The recording, or the folder of its session.
        cell: Name of the cell that the session belongs to.

    Raises:
        BadFile: It is no recording, or it is damaged; what was yielded before stands.
        UsageError: It is not there.
    """
    reader = SessionReader()
    for episode in reader.episodes(recording.read(path)):
        assert reader.started is not None  # a recording begins with it
        for step, taken in enumerate(episode.steps):
            turned = " ".join(f"{name}={value}" for name, value in sorted(taken.changed.items()))
            for row in _of_step(taken, step, episode.started.episode, reader.started, episode.ended, cell):
                yield replace(row, turned=turned) if turned else row


def _of_step(
    taken: TakenStep, step: int, episode: int, started: SessionStarted, ended: EpisodeEnded | None, cell: str
) -> Iterator[CandidateRow]:
    decision, update = taken.decision, taken.decision.update
    typed = CandidateRow(
        cell=cell, session=started.session, game=started.environment.name, agent=started.agent, model=started.model,
        seed=started.seed, episode=episode, step=step, state=decision.state.text, candidate=-1, action=decision.action,
        source="human", confidence=None, n=None, v=None, q=None, a=None, a_normalised=None, beta=None, z=0.0,
        z_prime=None, prior=0.0, pi=0.0, chosen=True, by=decision.provenance,
        reward=taken.after.score - taken.before.score,
        judged=ended.rewards[step] if ended is not None and step < len(ended.rewards) else None,
        g=ended.returns[step] if ended is not None and step < len(ended.returns) else None,
    )  # fmt: skip
    shown = explain.shown_values(update) if update is not None else None
    for i, one in enumerate(decision.candidates):
        row = replace(
            typed, candidate=i, action=one.action, source=one.source, confidence=one.confidence, z=one.z,
            prior=decision.prior[i], pi=decision.posterior[i], chosen=i == decision.chosen,
        )  # fmt: skip
        if update is not None and shown is not None:
            values = update.valuation
            row = replace(
                row, n=values.n[i], v=values.v, q=values.q[i], a=update.advantage[i], beta=update.beta,
                a_normalised=update.advantage_normalised[i], z_prime=update.z_prime[i],
                v_shown=shown.v, q_shown=shown.q[i], a_shown=shown.advantage[i], unit=shown.unit,
            )  # fmt: skip
        yield row
    if decision.chosen < 0:
        yield typed
