"""The state of a run as shown on the screen, updated event by event. It has no widgets and no clock.

Only the screen's thread writes to `RunView`. Its size is limited, so a session of any length needs bounded
memory. The recording has all events.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engine import explain
from engine.records import (
    NO_TALLY,
    Decided,
    Decision,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    ModelCall,
    ModelCalled,
    Notice,
    Observation,
    PageShown,
    Paused,
    Resumed,
    SessionEnded,
    SessionStarted,
    SettingsChanged,
    Steered,
    Stepped,
    TakenBack,
    Tally,
    Thinking,
    Waiting,
    total_cost,
)
from engine.session import levers
from engine.session.account import add_tallies, remarks, tally_of
from jitrl_tui.runs import steer_texts
from jitrl_tui.runs.episode_costs import Ledger
from jitrl_tui.runs.places import RunPlaces
from jitrl_tui.runs.session_summary import Scored
from jitrl_tui.runs.tape import Tape
from jitrl_tui.system.output import clean, one_line

if TYPE_CHECKING:
    from engine.session.whatif import Nearest
    from engine.web.browser.pages import PageStore

BEGINNING = "beginning the episode"
"""Activity until the episode has its first observation, which takes seconds on the web."""
PARAGRAPHS = 2_000
DECISIONS = 400
CALLS = 1_000
SCORES = 100_000

_REPLACED = re.compile(r"\w+=\S* in place of ")


def points(value: float) -> str:
    """Return a score as people write it: no decimals where there are none."""
    text = f"{value:.0f}" if value == int(value) else f"{value:.1f}"
    return text.replace("-", "\N{MINUS SIGN}")


def signed(value: float, decimals: int = 2) -> str:
    """Return a number with its sign; a minus sign, not a hyphen, so that columns line up."""
    return f"{value:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def signed_points(value: float) -> str:
    """Return points that were gained or lost, with a sign: no decimals where there are none."""
    return signed(value, 0 if value == int(value) else 1)


def percents(before: float, after: float) -> int:
    """Return the change of a probability in percentage points, as the difference of the two rounded values."""
    return round(after * 100) - round(before * 100)


def steps(count: int) -> str:
    """Return a number of steps in words."""
    return f"{count:,} step{'' if count == 1 else 's'}"


def notice_text(notice: Notice) -> str:
    """Return a notice as it is shown: what kind it is, and what it says."""
    message = notice.message
    if _REPLACED.match(message):
        return f"Replaced: {message}"
    return message if notice.level == "info" else f"{notice.level.capitalize()}: {message}"


def wait_text(waiting: Waiting) -> str:
    """Return what a model's server makes the session wait for, and for how long."""
    if waiting.seconds <= 1:
        return f"{waiting.reason}: trying again"
    left = waiting.left_s
    patience = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
    end = f" (gives up in {patience})" if left > 0 else ""
    return f"{waiting.reason}: next try in {waiting.seconds:.0f} s{end}"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One piece of the transcript.

    Attributes:
        kind: "episode", "text", "command", "gain", "loss", "end" or "notice".
        episode: Where it belongs, 0 if nowhere.
        step: Step of a command, -1 for everything else.
        human: A person did it.
        by: Who let a command be carried out, in a few words; "" if nobody was asked.
    """

    kind: str
    text: str
    episode: int = 0
    step: int = -1
    human: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision with what it belongs to.

    Attributes:
        started: The session it was made in, None if that is not known.
        remembered: Steps that were in memory then, None if that is not known.
        nearest: What comes nearest to its state if it has no neighbours; None if that was not looked for.
    """

    episode: int
    decision: Decision
    started: SessionStarted | None = None
    remembered: int | None = None
    nearest: Nearest | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings it was made with, as far as they are known."""
        return self.started.settings if self.started is not None else {}

    @property
    def agent(self) -> str:
        """Who made it."""
        return self.started.agent if self.started is not None else "jitrl"


@dataclass
class RunView(Scored):
    """The state of a run as far as it is shown.

    Attributes:
        remembered_as: Number that the episode has in memory; None if it is not remembered, or that is not known.
        activity: "starting", "running", "thinking", "waiting" (for a model's server), "paused" or "ended".
        doing: The present work, or the reason for waiting.
        question: Number of the question about the decision that waits; 0 if none waits.
        asks: The session asks about this decision, and goes on after an answer.
        pending: The latest decision has not been carried out yet.
        scores: Final score of each episode of this session, oldest first.
        previous: Mean score of each episode in earlier sessions that can be compared with this one.
        ledger: What each finished episode scored and cost.
        written: Paragraphs written since the start, kept or not.
        tally: What became of the model's answers in this session, the running episode included.
        handed: How far the latest step was handed over, which is told once; "" if it was not.
        flips: Decisions of this episode that JitRL changed (`Decision.changed`).
        resuming: Events of an earlier sitting are being shown again.
        pages: What was seen on the web, oldest first; empty in games.
        calls: Calls of the model outside decisions, oldest first: for states, rewards, what an agent writes.
        places: The places seen so far, and the ways between them.
        tape: What shows it as it was earlier; None if nobody looks back.
    """

    previous: tuple[float, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    started: SessionStarted | None = None
    episode: int = 0
    remembered_as: int | None = None
    step: int = 0
    seen: Observation | None = None
    activity: str = "starting"
    doing: str = "opening the session"
    question: int = 0
    asks: bool = False
    choice: Choice | None = None
    pending: bool = False
    tokens: int = 0
    cost_usd: float | None = 0.0
    tokens_before: int = 0
    cost_before: float | None = 0.0
    memory_entries: int = 0
    handed: str = ""
    flips: int = 0
    tally: Tally = NO_TALLY
    tally_before: Tally = NO_TALLY
    replacements: tuple[str, ...] = ()
    scores: deque[float] = field(default_factory=lambda: deque(maxlen=SCORES))
    choices: deque[Choice] = field(default_factory=lambda: deque(maxlen=DECISIONS))
    pages: deque[PageShown] = field(default_factory=lambda: deque(maxlen=DECISIONS))
    calls: deque[ModelCalled] = field(default_factory=lambda: deque(maxlen=CALLS))
    places: RunPlaces = field(default_factory=RunPlaces)
    paragraphs: deque[Paragraph] = field(default_factory=lambda: deque(maxlen=PARAGRAPHS))
    written: int = 0
    last_episode: EpisodeEnded | None = None
    ended: SessionEnded | None = None
    error: str = ""
    error_kind: str = ""
    warning: str = ""
    resuming: bool = False
    tape: Tape[RunView] | None = None

    def copy(self) -> RunView:
        """Return an independent copy without a tape."""
        twin = RunView(**{name: getattr(self, name) for name in self.__dataclass_fields__})
        for name in ("scores", "choices", "pages", "calls", "paragraphs", "places"):
            setattr(twin, name, getattr(self, name).copy())
        twin.ledger, twin.tape = self.ledger.copy(), None
        return twin

    def at(self, choice: Choice) -> RunView | None:
        """Return the run as it was when a choice of it was shown; None if that is too far back."""
        then = self.tape.at(choice.episode, choice.decision.step) if self.tape is not None else None
        if then is not None:
            then.previous = self.previous
            then.memory_entries = then.memory_entries if choice.remembered is None else choice.remembered
        return then

    def page_at(self, choice: Choice | None) -> PageShown | None:
        """Return the page that a decision was made on, the latest for None; None where there is none."""
        if choice is None:
            return self.pages[-1] if self.pages else None
        where = (choice.episode, choice.decision.step)
        return next((p for p in reversed(self.pages) if (p.episode, p.step) == where), None)

    def calls_of(self, choice: Choice) -> tuple[ModelCall, ...]:
        """Return the calls behind a choice, then those made after it if it is the last one of its episode."""
        episode, step = choice.episode, choice.decision.step
        mine = [item for item in self.calls if item.episode == episode]
        before = [item.call for item in mine if item.step == step]
        last = not any(one.episode == episode and one.decision.step > step for one in self.choices)
        after = [item.call for item in mine if last and item.step > step]
        return (*before, *choice.decision.calls, *after)

    @property
    def in_memory(self) -> str:
        """What memory calls the running episode, to be put behind its number; "" where both numbers are the same."""
        number = self.remembered_as
        return "" if number in (None, self.episode) else f" (no. {number} in memory)"

    @property
    def counted(self) -> bool:
        """Whether a language model is asked, so that tokens and cost are counted."""
        return bool((self.started is not None and self.started.reading) or self.tokens or self.cost_usd)

    @property
    def max_score(self) -> float | None:
        """Highest reachable score, None if unknown."""
        if self.seen is not None and self.seen.max_score is not None:
            return self.seen.max_score
        return self.started.environment.max_score if self.started else None

    def fold_all(self, events: Iterable[Event]) -> None:
        """Take in many events."""
        for event in events:
            self.fold(event)

    def fold(self, event: Event) -> None:
        """Take in one event."""
        if self.tape is not None:
            self.tape.add(event, self)
        self.places.fold(event)
        self.ledger.fold(event)
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    # ------------------------------------------------------------------------------------ one each

    def _session_started(self, event: SessionStarted) -> None:
        self.started = event
        self.memory_entries = event.memory_entries
        self.activity, self.doing, self.ended, self.error = "starting", BEGINNING, None, ""
        self.resuming = event.resumed
        for sentence in event.replaced:
            if sentence not in self.replacements:  # a session that begins now has said it itself
                self._notice(Notice("warning", sentence))

    def _episode_started(self, event: EpisodeStarted) -> None:
        self.episode, self.step, self.flips = event.episode, 0, 0
        self.remembered_as = event.remembered_as
        self.seen = event.observation
        self.tokens, self.cost_usd = self.tokens_before, self.cost_before
        self.tally = self.tally_before
        self.pending = False
        self.activity, self.doing = "running", ""
        total = f" of {self.started.episodes}" if self.started else ""
        self._write("episode", f"Episode {event.episode}{total}{self.in_memory}")
        self._write("text", event.observation.text)

    def _thinking(self, event: Thinking) -> None:
        if self.resuming:
            self.resuming = False
            if self.started is not None:  # memory may have changed since the recording was left
                self.memory_entries = self.started.memory_entries
            self._write("notice", "Resumed: the session goes on from here.")
        self.activity, self.doing = "thinking", one_line(event.what)

    def _waiting(self, event: Waiting) -> None:
        if self.activity != "paused":
            self.activity, self.doing = "waiting", one_line(wait_text(event))

    def _model_called(self, event: ModelCalled) -> None:
        self.calls.append(event)
        self.tally = add_tallies(self.tally, tally_of(event.call))

    def _decided(self, event: Decided) -> None:
        self.choice = Choice(event.episode, event.decision, self.started, self.memory_entries)
        last = self.choices[-1] if self.choices else None
        replaced = last is not None and (last.episode, last.decision.step) == (
            event.episode,
            event.decision.step,
        )
        if replaced:
            self.choices.pop()  # a person decided otherwise, or the session was left at this decision
        else:
            self.tally = add_tallies(self.tally, event.decision.tally)
        self.choices.append(self.choice)
        self.pending = True
        self.step = event.decision.step
        self._write("notice", steer_texts.early_text(event.decision))
        if self.activity != "paused":
            self.activity, self.doing = "running", ""

    def _stepped(self, event: Stepped) -> None:
        before = self.seen.score if self.seen else 0.0
        self.seen, self.step, self.pending = event.observation, event.step + 1, False
        self.tokens = self.tokens_before + event.tokens
        self.cost_usd = total_cost((self.cost_before, event.cost_usd))
        human = event.provenance == "human"
        made = self.choice
        if made and not human and made.decision.changed:
            self.flips += 1
        decision = made.decision if made is not None else None
        credit = explain.credit_in_short(decision, event.provenance)
        handed = credit if credit.startswith("handed over") else ""
        self._write("command", event.action, event.step, human, "" if handed and handed == self.handed else credit)
        self.handed = handed
        self._write("text", event.observation.text)
        change = event.reward if event.reward else event.observation.score - before
        if change:
            limit = f" of {points(self.max_score)}" if self.max_score else ""
            now = f"score {points(event.observation.score)}{limit}"
            word = "point" if abs(change) == 1 else "points"
            self._write("gain" if change > 0 else "loss", f"{signed_points(change)} {word}, {now}")
        if self.activity != "paused":
            self.activity, self.doing = "running", ""

    def _page_shown(self, event: PageShown) -> None:
        self.pages.append(event)

    def _taken_back(self, event: TakenBack) -> None:
        carried_out = self.step
        self.seen, self.step, self.pending = event.observation, event.step, False
        while (
            self.choices
            and self.choices[-1].episode == event.episode
            and self.choices[-1].decision.step >= event.step
        ):
            undone = self.choices.pop().decision
            self.flips -= undone.step < carried_out and undone.changed and undone.provenance != "human"
        while self.calls and self.calls[-1].episode == event.episode and self.calls[-1].step > event.step:
            self.calls.pop()
        self.choice = self.choices[-1] if self.choices else None
        place = f" You are back in: {event.observation.place}." if event.observation.place else ""
        self._write("notice", f"Taken back: {event.action}.{place}")

    def _episode_ended(self, event: EpisodeEnded) -> None:
        self.scores.append(event.score)
        self.last_episode = event
        self.memory_entries = event.memory_entries
        self.tokens_before += event.tokens
        self.cost_before = total_cost((self.cost_before, event.cost_usd))
        self.tokens, self.cost_usd = self.tokens_before, self.cost_before
        self.tally_before = self.tally = add_tallies(self.tally_before, event.tally)
        self.pending = False
        if self.activity != "paused":
            self.activity, self.doing = "starting", BEGINNING
        out = self.started is not None and event.steps >= self.started.steps
        how = event.outcome or ("ended" if event.terminated else "out of steps" if out else "cut off")
        how = {"person": "ended by you", "failure": "the environment failed"}.get(event.ended_by, how)
        limit = f" of {points(event.max_score)}" if event.max_score else ""
        learnt = f"; {event.entries_added} steps remembered" if event.entries_added else ""
        changed = (
            f"; JitRL changed {event.flips} choice{'s' if event.flips > 1 else ''}" if event.flips else ""
        )
        extra = "".join(f"; {remark}" for remark in remarks(event.tally))
        self._write(
            "end",
            f"Episode {event.episode} ended: score {points(event.score)}{limit} "
            f"after {event.steps} steps ({how}){learnt}{changed}{extra}.",
        )

    def _notice(self, event: Notice) -> None:
        message, text = event.message, notice_text(event)
        if event.level == "error":
            self.error, self.error_kind = message, event.kind
        elif event.level == "warning":
            self.warning = message
        if text.startswith("Replaced: "):
            self.replacements = (*self.replacements, message)[-PARAGRAPHS:]
        self._write("notice", text)

    def _paused(self, event: Paused) -> None:
        self.activity, self.doing = "paused", one_line(event.reason)
        self.question, self.asks = event.question, event.asks

    def _resumed(self, event: Resumed) -> None:
        self.question, self.asks = 0, False
        self.activity, self.doing = "running", ""

    def _steered(self, event: Steered) -> None:
        self._write("notice", steer_texts.from_elsewhere(event))

    def _settings_changed(self, event: SettingsChanged) -> None:
        if self.started is not None:
            self.started = replace(self.started, settings={**self.started.settings, **event.settings})
        self._write("notice", levers.change_text(event))

    def _session_ended(self, event: SessionEnded) -> None:
        self.ended, self.pending = event, False
        self.activity = "ended"
        self.doing = "all episodes played" if event.finished else "stopped; it goes on from here next time"
        if event.episodes:
            count = f"{event.episodes} episode{'s' if event.episodes > 1 else ''}"
            average, final = f"average score {points(round(event.average, 1))}", f"last {points(event.final)}"
            self._write("end", f"Session over: {count}, {average}, {final}.")

    def _write(self, kind: str, text: str, step: int = -1, human: bool = False, by: str = "") -> None:
        text = clean(text).strip("\n ") if kind != "text" else clean(text).strip("\n").rstrip()
        if not text:
            return
        self.paragraphs.append(Paragraph(kind, text, self.episode, step, human, by))
        self.written += 1


def action_meant(typed: str, view: RunView, store: PageStore | None) -> str:
    """Return the action meant by the number of an element of the latest page; everything else as it is."""
    shown = view.page_at(None)
    page = store.page(shown) if shown is not None and store is not None else None
    if page is None:
        return typed
    from engine.web.drawing.items import spoken

    return spoken(typed, page) or typed


_HANDLERS: Mapping[type, Callable[..., None]] = {
    SessionStarted: RunView._session_started,
    EpisodeStarted: RunView._episode_started,
    Thinking: RunView._thinking,
    Waiting: RunView._waiting,
    ModelCalled: RunView._model_called,
    Decided: RunView._decided,
    Stepped: RunView._stepped,
    PageShown: RunView._page_shown,
    TakenBack: RunView._taken_back,
    EpisodeEnded: RunView._episode_ended,
    Notice: RunView._notice,
    Paused: RunView._paused,
    Resumed: RunView._resumed,
    Steered: RunView._steered,
    SettingsChanged: RunView._settings_changed,
    SessionEnded: RunView._session_ended,
}
