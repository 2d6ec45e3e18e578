"""The plain mode, which prints labelled lines, for screen readers, pipes and simple terminals."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from engine import explain
from engine.errors import JitrlError
from engine.records import (
    Decided,
    Decision,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Notice,
    Paused,
    SessionEnded,
    SessionStarted,
    Stepped,
    TakenBack,
    Thinking,
    Update,
    Waiting,
)
from jitrl_tui import closing, hits, steered
from jitrl_tui.output import beneath, clean, one_line
from jitrl_tui.source import Inbox, Source
from jitrl_tui.view import Choice, RunView, meant, noticed, percents, points, signed, steps

if TYPE_CHECKING:
    from engine.session.branches import Keeper
    from engine.session.orders import Orders
    from engine.session.store import SavedSession
    from engine.settings import SessionConfig
    from engine.web.browser.pages import PageStore

PAGE_WIDTH = 100
"""Width of a drawn page in cells."""
HELP = """\
Type a command for the game, or nothing to let the agent do what it proposes. Commands of jitrl:
/why        why the agent would choose what it proposes
/options    the candidates with their probabilities before and after memory
/memory     the remembered steps and texts behind them
/actions    the actions that are possible here
/page       on the web: the page drawn in text; the number of an element is an action, too
/score      score, step, episode
/undo       take the last step of this episode back
/save NAME  save the game as it stands; every session also saves itself, step by step
/load NAME  go on from a save, in a session of its own
/saves      the saves there are
/branch N   go on from after step N of this episode, in a session with a memory of its own, as it was then
            (/branch N shared: with the memory of this session, as it is now)
/auto N     let the agent play N steps by itself
/forward    let the agent play to the end of the episode
/quit       leave; the session goes on from here next time"""


def wants_plain() -> bool:
    """Return whether this terminal, or the person, asks for plain lines."""
    return (
        bool(os.environ.get("JITRL_PLAIN"))
        or os.environ.get("TERM", "") in ("", "dumb")
        or not sys.stdout.isatty()
        or not sys.stdin.isatty()
    )


def candidate_lines(choice: Choice) -> list[str]:
    """Return a line about the source of values, and a line for each candidate that can be read aloud."""
    decision = choice.decision
    update, columns = decision.update, hits.columns(decision)
    lines = [hits.without_values(choice)]
    if update is not None and not hits.says_nothing(update):
        seen = hits.shown(update)
        lines = [f"V {signed(seen.v)} {hits.unit(seen)}, {hits.source(update)}, beta {update.beta:g}."]
    for i in hits.ordered(decision):
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
    seen, how = hits.shown(update), update.valuation.how[i]
    known = "" if how == "known" else f" ({how})"
    return (
        f"N {hits.tried(update, i)}{known}, Q {signed(seen.q[i])}, advantage {signed(seen.advantage[i])}, "
        f"scaled {signed(update.advantage_normalised[i])}, "
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


class PlainRun:
    """One run as lines.

    Args:
        out: Where lines go.
        read: Returns the next line typed, without its end; None when there are no more.
        play: A person plays: wait at every decision.
        keeper: Saves and branches; None where there is nothing to save.
        pages: Where what pages looked like is kept; None where there are none.

    Attributes:
        then: The session to go on with after this one.
    """

    def __init__(
        self,
        source: Source,
        out: TextIO,
        read: Callable[[], str | None] | None,
        *,
        play: bool,
        keeper: Keeper | None = None,
        pages: PageStore | None = None,
    ) -> None:
        self.then: SavedSession | None = None
        self._keeper = keeper
        self._pages = pages
        self.view = RunView()
        self._source, self._out, self._read, self._play = source, out, read, play
        self._arrived = threading.Event()
        self._inbox = Inbox(self._arrived.set)
        self._auto = 0
        self._over = False
        self._waited = 0.0
        """Seconds until the next attempt in the last event, 0 if no call waits."""

    def run(self) -> int:
        """Print and read until the run is over; return the exit code."""
        if self._play:
            self._source.pause()
            self._say("Plain mode. /help lists the commands.")
        self._source.set_delay(0.0)
        self._source.start(self._inbox)
        try:
            self._loop()
        except KeyboardInterrupt:
            self._leave()
            return 130
        return self._source.exit_code

    def _loop(self) -> None:
        while not self._over:
            self._arrived.wait(0.2)
            self._arrived.clear()
            for item in self._inbox.drain(1000):
                if isinstance(item, RunView):
                    self.view = item
                else:
                    self._take_in(item)
            if len(self._inbox):
                self._arrived.set()
            elif self._source.wait(0) and not len(self._inbox):
                break
            elif self.view.activity == "paused" and (self._play or self.view.doing) and not self._ask():
                self._leave()
                break

    def _take_in(self, event: Event) -> None:
        """Add an event to the view, and print its lines."""
        view = self.view
        written, waited = view.written, self._waited
        self._waited = event.seconds if isinstance(event, Waiting) and event.seconds > 1 else 0.0
        view.fold(event)
        if isinstance(event, SessionStarted):
            new = min(view.written - written, len(view.paragraphs))
            for number in range(len(view.paragraphs) - new, len(view.paragraphs)):
                self._say(view.paragraphs[number].text)
        if isinstance(event, Waiting) and event.seconds > max(1.0, waited):
            self._say(f"Waiting: {view.doing}")
        self._tell(event)

    def _leave(self) -> None:
        self._source.stop()
        if self.then is None:
            self._say("Leaving. The session goes on from here next time.")
        self._source.wait(30)

    # ------------------------------------------------------------------------------------ asking

    def _ask(self) -> bool:
        """Take one line; return False to leave."""
        if self.view.doing and not self.view.pending:
            self._say(f"Waiting: {self.view.doing}")
        if self._auto > 0:
            self._auto -= 1
            self._step()
            return True
        while True:
            line = self._read() if self._read else None
            if line is None:
                return False
            line = clean(line).strip()
            if not line.startswith("/"):
                if self.view.doing and not self.view.pending:
                    self._source.resume()
                    self._source.pause()
                elif line:
                    self._source.override(meant(line, self.view, self._pages))
                    self.view.activity = "running"
                else:
                    self._step()
                return True
            done = self._command(line[1:])
            if done is not None:
                return done

    def _step(self) -> None:
        self._source.step_once()
        self.view.activity = "running"

    def _command(self, text: str) -> bool | None:
        """Run a typed command; return None to ask for another line."""
        name, _, rest = text.partition(" ")
        choice = self.view.choice
        decision = choice.decision if choice else None
        if name in ("quit", "q", "exit"):
            return False
        if name == "forward":
            self._source.fast_forward(0)
            self.view.activity = "running"
            return True
        if name == "auto":
            self._auto = max(0, int(rest) - 1) if rest.strip().isdigit() else 0
            self._step()
            return True
        if name == "undo":
            self._source.take_back()
            self.view.activity = "running"
            return True
        if name in ("save", "load", "saves", "branch"):
            return self._keep(name, rest.strip())
        if name == "help":
            self._say(HELP)
        elif name == "page":
            self._say(self._page())
        elif choice is None or decision is None:
            self._say("There is no decision yet.")
        elif name == "why":
            self._say(f"Why: {decision.why}")
            if decision.update is not None and decision.update.equation:
                self._say(decision.update.equation)
            self._say_more(choice)
        elif name in ("options", "candidates"):
            for line in candidate_lines(choice):
                self._say(line)
        elif name in ("memory", "mem"):
            for line in hits.told(choice, self.view.memory_entries):
                self._say(line)
        elif name == "actions":
            self._say(", ".join(decision.valid_actions))
        elif name == "score":
            self._say(self._score())
        else:
            self._say(f"There is no command /{name}; /help lists them.")
        return None

    def _keep(self, name: str, rest: str) -> bool | None:
        """Save, or leave for a save or a branch."""
        if self._keeper is None:
            self._say("Here is nothing to save.")
            return None
        try:
            if name == "save":
                self._keeper.keep(rest)
                self._say(f"Saved as {rest}. /load {rest} goes on from here.")
            elif name == "saves":
                self._say(", ".join(self._keeper.names()) or "There are no saves; /save NAME makes one.")
            elif name == "load":
                self.then = self._keeper.load(rest)
            else:
                step, _, memory = rest.partition(" ")
                if step.isascii() and step.isdigit() and memory in ("", "shared"):
                    self.then = self._keeper.branch(self.view.episode, int(step), shared=bool(memory))
                else:
                    self._say("Say after which step, for instance: /branch 3")
        except JitrlError as error:
            self._say(f"Error: {error}")
        return False if self.then is not None else None

    def _page(self) -> str:
        """Return the page as it is now, drawn in text."""
        shown = self.view.page_at(None)
        page = self._pages.page(shown) if shown is not None and self._pages is not None else None
        if shown is None or page is None:
            return "There is no page to show."
        from engine.web.drawing.wireframe import draw

        return draw(page, PAGE_WIDTH, 40, (shown.width, shown.height)).text

    def _score(self) -> str:
        view = self.view
        top = f" of {points(view.max_score)}" if view.max_score else ""
        score = points(view.seen.score) if view.seen else "0"
        return f"Score {score}{top}, step {view.step}, episode {view.episode}."

    # ------------------------------------------------------------------------------------- telling

    def _tell(self, event: Event) -> None:
        view = self.view
        match event:
            case SessionStarted():
                top = f", {points(view.max_score)} points at most" if view.max_score else ""
                named = explain.method(event.settings, event.agent)
                self._say(
                    f"Game: {event.environment.title or event.environment.name}{top}. "
                    f"Agent: {event.agent} with {event.model}{f'; {named}' if named else ''}. "
                    f"{steps(event.memory_entries)} remembered."
                )
            case EpisodeStarted():
                total = f" of {view.started.episodes}" if view.started else ""
                self._say(f"\nEpisode {event.episode}{total}.")
                self._say(event.observation.text.strip())
            case Thinking() if event.what != "thinking":
                self._say(f"({event.what})")
            case Decided() if self._play and event.decision.by == "agent":
                self._say(f"Agent would: {event.decision.action}")
                self._say_at_random(event.decision)
            case Decided() if event.decision.by != "agent" and event.decision.provenance != "human":
                self._say(explain.credit(event.decision))
            case Decided():
                self._say_at_random(event.decision)
                self._say(f"Why: {event.decision.why}")
                if view.choice is not None:
                    self._say_more(view.choice)
            case Stepped():
                who = "You" if event.provenance == "human" else "Agent"
                self._say(f"\n{who}: > {event.action}")
                self._say(event.observation.text.strip())
                if event.reward:
                    self._say(f"Score {signed(event.reward, 0)}. {self._score()}")
            case TakenBack():
                self._say(f"\nTaken back: {event.action}. Step {event.step}.")
                self._say(event.observation.text.strip())
            case EpisodeEnded():
                self._say(view.paragraphs[-1].text)
            case Notice():
                self._say(noticed(event) if event.level != "info" else f"Info: {event.message}")
            case Paused() if event.reason.startswith("end of"):
                self._over = True
            case Paused() if event.question and event.reason:
                self._auto = 0
                self._say(event.reason)
            case SessionEnded():
                if event.episodes:
                    self._say(view.paragraphs[-1].text)
                self._over = True
            case _:
                pass

    def _say_at_random(self, decision: Decision) -> None:
        """Print that an action was drawn because there was no usable answer."""
        if told := steered.drawn_at_random(decision):
            self._say(told)

    def _say_more(self, choice: Choice) -> None:
        """Print the basis of a choice, and how it was taken from the policy."""
        for basis in hits.texts(choice.decision):
            self._say(hits.rests_on(basis))
        drawn = hits.taken(choice)
        if drawn:
            self._say(drawn)

    def _say(self, text: str) -> None:
        self._out.write(clean(text) + "\n")
        self._out.flush()


def line_reader(stdin: TextIO, saves: Path, valid: Callable[[], list[str]]) -> Callable[[], str | None]:
    """Return a function that reads a line: with history and completion on a terminal, else plainly."""
    if not stdin.isatty() or os.environ.get("TERM", "") in ("", "dumb"):

        def plain() -> str | None:
            line = stdin.readline()
            return line.rstrip("\r\n") if line else None

        return plain
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import FuzzyCompleter, WordCompleter
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.output import create_output

    words = FuzzyCompleter(WordCompleter(valid, sentence=True))
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(saves / "play-history")),
        completer=words,
        complete_while_typing=False,
        output=create_output(beneath(sys.stdout)),
    )

    def prompted() -> str | None:
        try:
            return session.prompt("> ")
        except EOFError:
            return None

    return prompted


def run_plain(source: Source, saves: Path, *, play: bool) -> int:
    """Show a run as lines on stdout; return the exit code."""
    return _run(source, saves, play=play)[0]


def run_saved_plain(saved: SavedSession, saves: Path, *, play: bool) -> int:
    """Resume a saved session in plain mode, and then any session that is loaded or branched from it."""
    from engine.session.branches import Keeper
    from engine.session.loop import Session
    from engine.web.browser.pages import PageStore
    from jitrl_tui.source import LiveSource

    following: SavedSession | None = saved
    code = 0
    while following is not None:
        now = following
        source = LiveSource(partial(Session, now, saves, interactive=play), saves=saves)
        keeper, pages = Keeper(saves, now), PageStore(now.folder)
        code, following = _run(source, saves, play=play, keeper=keeper, pages=pages)
    return code


def _run(
    source: Source,
    saves: Path,
    *,
    play: bool,
    keeper: Keeper | None = None,
    pages: PageStore | None = None,
) -> tuple[int, SavedSession | None]:
    run: PlainRun

    def valid() -> list[str]:
        return list(map(one_line, run.view.choice.decision.valid_actions)) if run.view.choice else []

    read = line_reader(sys.stdin, saves, valid) if play else None
    run = PlainRun(source, sys.stdout, read, play=play, keeper=keeper, pages=pages)

    def hang_up() -> None:
        closing.end_within(last=restore)
        source.stop()

    def asked(*_: object) -> None:
        hang_up()
        raise KeyboardInterrupt

    handlers = {signal.SIGTERM: asked, signal.SIGHUP: asked}
    with (
        closing.same_modes(sys.stdin) as restore,
        closing.handling(handlers),
        closing.when_closed([sys.stdin, sys.stdout], hang_up),
    ):
        return run.run(), run.then


def run_play_plain(config: SessionConfig, saves: Path, standing: Orders) -> int:
    """Open a new session in plain mode, in which a person plays and the agent advises."""
    from engine.session import orders
    from engine.session import store as sessions

    saved = sessions.create(saves, config, "play")
    orders.give(saved.folder, standing)
    return run_saved_plain(saved, saves, play=True)
