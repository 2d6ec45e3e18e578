"""The events of a run as labelled lines, in the order in which they happen, and a decision as lines."""

from __future__ import annotations

from typing import TextIO

from engine import explain, worked
from engine.records import (
    Decided,
    Decision,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Notice,
    Paused,
    Resumed,
    SessionEnded,
    SessionStarted,
    SettingsChanged,
    Steered,
    Stepped,
    TakenBack,
    Thinking,
    Update,
    Waiting,
)
from jitrl_tui.runs import hits
from jitrl_tui.runs.steer_texts import drawn_at_random, from_elsewhere
from jitrl_tui.runs.view import Choice, RunView, notice_text, percents, points, signed, signed_points, steps
from jitrl_tui.system.output import clean

INVITED = "Your turn. /hint and /why ask the agent; /help lists more."
"""What is said when a person has the turn for the first time."""


class EventLines:
    """Keeps the view of a run, and prints a line for what changes in it.

    Args:
        out: Where lines go.
        play: A person plays: what the agent would do is not said.
        steered: A person can pause the run and go on: both are said.

    Attributes:
        view: The run so far.
        over: Nothing more will come.
    """

    def __init__(self, out: TextIO, *, play: bool, steered: bool = False) -> None:
        self.view = RunView()
        self.over = False
        self._out, self._play, self._steered = out, play, steered
        self._waited = 0.0
        """Seconds until the next attempt in the last event, 0 if no call waits."""
        self._invited = False
        """Whether it was said how the agent is asked."""
        """Episode and step of the decision that was told while valid actions were looked for."""

    def say(self, text: str) -> None:
        """Print text."""
        self._out.write(clean(text) + "\n")
        self._out.flush()

    def take_in(self, event: Event) -> None:
        """Add an event to the view, and print its lines."""
        view = self.view
        written, waited = view.written, self._waited
        self._waited = event.seconds if isinstance(event, Waiting) and event.seconds > 1 else 0.0
        view.fold(event)
        if isinstance(event, SessionStarted):
            new = min(view.written - written, len(view.paragraphs))
            for number in range(len(view.paragraphs) - new, len(view.paragraphs)):
                self.say(view.paragraphs[number].text)
        if isinstance(event, Waiting) and event.seconds > max(1.0, waited):
            self.say(f"Waiting: {view.doing}")
        self._tell(event)

    def jump(self, view: RunView) -> None:
        """Take another moment of a recording, and print what was written since the present one."""
        new = min(max(0, view.written - self.view.written), len(view.paragraphs))
        self.view = view
        for number in range(len(view.paragraphs) - new, len(view.paragraphs)):
            paragraph = view.paragraphs[number]
            who = "You" if paragraph.human else "Agent"
            self.say(f"\n{who}: > {paragraph.text}" if paragraph.kind == "command" else paragraph.text)

    def score(self) -> str:
        """Return the score, the step and the episode in a sentence."""
        view = self.view
        top = f" of {points(view.max_score)}" if view.max_score else ""
        score = points(view.seen.score) if view.seen else "0"
        return f"Score {score}{top}, step {view.step}, episode {view.episode}."

    def say_more(self, choice: Choice) -> None:
        """Print the basis of a choice, and how it was taken from the policy."""
        for basis in hits.texts(choice.decision):
            self.say(hits.rests_on(basis))
        drawn = hits.how_taken(choice)
        if drawn:
            self.say(drawn)

    def _tell(self, event: Event) -> None:
        view = self.view
        match event:
            case SessionStarted():
                top = f", {points(view.max_score)} points at most" if view.max_score else ""
                named = explain.method(event.settings, event.agent)
                self.say(
                    f"Game: {event.environment.title or event.environment.name}{top}. "
                    f"Agent: {event.agent} with {event.model}{f'; {named}' if named else ''}. "
                    f"{steps(event.memory_entries)} remembered."
                )
            case EpisodeStarted():
                total = f" of {view.started.episodes}" if view.started else ""
                self.say(f"\nEpisode {event.episode}{total}{view.in_memory}.")
                self.say(event.observation.text.strip())
            case Thinking() if event.what != "thinking":
                self.say(f"({event.what})")
            case Decided() if self._play and event.decision.by == "agent":
                self.say("Your turn." if self._invited else INVITED)
                self._invited = True
            case Decided() if self._play and event.decision.provenance == "human":
                pass  # who plays knows what they typed
            case Decided() if event.decision.by != "agent" and event.decision.provenance != "human":
                self.say(explain.credit(event.decision))
            case Decided():
                self._say_at_random(event.decision)
                self.say(f"Why: {event.decision.why}")
                if view.choice is not None:
                    self.say_more(view.choice)
            case Stepped():
                who = "You" if event.provenance == "human" else "Agent"
                self.say(f"\n{who}: > {event.action}")
                self.say(event.observation.text.strip())
                if event.reward:
                    self.say(f"Score {signed_points(event.reward)}. {self.score()}")
            case TakenBack():
                self.say(f"\nTaken back: {event.action}. Step {event.step}.")
                self.say(event.observation.text.strip())
            case EpisodeEnded():
                self.say(view.paragraphs[-1].text)
            case Notice():
                self.say(notice_text(event) if event.level != "info" else f"Info: {event.message}")
            case Paused() if event.reason.startswith("end of"):
                self.over = True
            case Paused() if self._steered:
                self._say_paused()
            case Paused() if event.question and event.reason:
                self.say(event.reason)
            case Resumed() if self._steered:
                self.say("Going on.")
            case SettingsChanged():
                self.say(view.paragraphs[-1].text)
            case Steered():
                self.say(from_elsewhere(event))
            case SessionEnded():
                if event.episodes:
                    self.say(view.paragraphs[-1].text)
                self.over = True
            case _:
                pass

    def _say_at_random(self, decision: Decision) -> None:
        """Say that an action was drawn because there was no usable answer."""
        if sentence := drawn_at_random(decision):
            self.say(sentence)

    def _say_paused(self) -> None:
        """Say that the run waits, for what, and what the agent would do, unless a person plays."""
        view = self.view
        is_known = view.choice is not None and view.pending and not self._play
        would = f" Agent would: {view.choice.decision.action}" if is_known and view.choice is not None else ""
        self.say(f"Paused{f': {view.doing}' if view.doing else ''}.{would}")


def candidate_lines(choice: Choice) -> list[str]:
    """Return a line about the source of values, and a line for each candidate that can be read aloud."""
    decision = choice.decision
    update, columns = decision.update, hits.columns(decision)
    lines = [hits.without_values(choice)]
    if update is not None and not hits.says_nothing(update):
        seen = explain.shown_values(update)
        lines = [f"V {signed(seen.v)} {hits.unit(seen)}, {hits.source(update)}, beta {update.beta:g}."]
    for i in hits.display_order(decision):
        candidate = decision.candidates[i]
        opinion = ""
        if candidate.confidence is not None:
            opinion = f"confidence {candidate.confidence:.0f}, "
        elif candidate.logprob is not None:
            opinion = f"log-likelihood {signed(candidate.logprob)}, "
        logit = f"logit {signed(candidate.z)}{f' to {signed(update.z_prime[i])}' if update else ''}"
        own = "".join(f"{name} {signed(values[i])}, " for name, values in columns)
        lines.append(
            f"{candidate.action}: from {candidate.source}, {opinion}{logit}, "
            f"{_values(update, i)}{own}{_probability(decision, i)}{_sign(decision, i)}"
        )
    return lines


def _values(update: Update | None, i: int) -> str:
    """Return what memory says of a candidate, "" for nothing."""
    if update is None or update.valuation.how[i] == "prior":
        return ""
    seen, how = explain.shown_values(update), update.valuation.how[i]
    known = "" if how == "known" else f" ({how})"
    count = hits.try_count(*explain.try_counts(update, i))
    return (
        f"N {count}{known}, Q {signed(seen.q[i])}, advantage {signed(seen.advantage[i])}, "
        f"scaled {signed(update.advantage_normalised[i], worked.places_beside(update.beta))}, "
    )


def _probability(decision: Decision, i: int) -> str:
    before, after = decision.prior[i], decision.posterior[i]
    if decision.update is None and decision.prior == decision.posterior:
        return f"probability {after:.0%}"
    change = percents(before, after)
    moved = "up" if change > 0 else "down" if change < 0 else "same"
    return f"probability {before:.0%} to {after:.0%}, {moved}"


def _sign(decision: Decision, i: int) -> str:
    if i == decision.chosen:
        return ", chosen"
    update = decision.update
    taken = update is not None and decision.candidates[i].action == update.without_memory
    return ", what the prior alone takes" if taken else ""
