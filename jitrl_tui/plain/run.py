"""One run in plain lines: what it tells is printed, and what is typed steers it."""

from __future__ import annotations

import dataclasses
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from engine import waits
from engine.errors import JitrlError, UsageError
from engine.session.orders import Orders, orders_of
from jitrl_tui import command_table
from jitrl_tui.plain.commands import PlainCommands
from jitrl_tui.plain.event_lines import EventLines
from jitrl_tui.plain.terminal import TypedLines, line_reader
from jitrl_tui.runs.session_files import SessionFiles, TypedHistory
from jitrl_tui.runs.source import Inbox, Source
from jitrl_tui.runs.view import RunView, action_meant
from jitrl_tui.system import shutdown
from jitrl_tui.system.output import clean, one_line

if TYPE_CHECKING:
    from engine.session.branches import Keeper
    from engine.session.control import Control
    from engine.session.store import SavedSession
    from engine.web.browser.pages import PageStore

_LOOK_S = 0.2
"""Seconds between two looks whether the run is over."""
WATCHED_S = 1.0
"""Seconds between steps where a person watches and can type."""


class PlainRun:
    """One run as lines.

    Args:
        out: Where lines go.
        read: Returns the next line typed, without its end, or None when there are no more. Where a person plays, it is
            asked at each decision.
        play: A person plays: wait at every decision.
        keeper: Saves and branches; None where there is nothing to save.
        pages: Where what pages looked like is kept; None where there are none.
        files: What lies beside the session on disk; None if there is nothing.
        terminal: Where lines are typed while the agent plays; None if nobody can type.
        delay: Seconds between steps.
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
        files: SessionFiles | None = None,
        terminal: TextIO | None = None,
        delay: float = 0.0,
    ) -> None:
        self._pages, self._files = pages, files
        self._source, self._read, self._play = source, read, play
        self._terminal, self._delay = terminal, delay
        self._output = EventLines(out, play=play, steered=terminal is not None)
        self._answers = PlainCommands(self._output, play=play, keeper=keeper, pages=pages, files=files)
        self.commands: dict[str, Callable[[str], bool | None]] = {
            **self._answers.commands, "pause": lambda _: source.pause(), "speed": self._set_speed, "break": self._break,
            "go": self._goes_on(lambda _: source.resume()), "step": self._goes_on(lambda _: source.step_once()),
            "forward": self._goes_on(lambda _: source.fast_forward(0)),
            "undo": self._goes_on(lambda _: source.take_back()), "auto": self._goes_on(self._hand_over),
            "redo": self._redo, "end": self._end, "quit": lambda _: False,
        }  # fmt: skip
        """What is done, by the names of the typed commands; each takes what follows its name. It returns None to ask
        for another line, True where the run goes on, False to leave."""
        self._arrived = threading.Event()
        self._inbox = Inbox(self._arrived.set)
        self._auto = 0
        self._asked: set[str] = set()
        """Words of `command_table.OURS` about which was asked."""

    @property
    def view(self) -> RunView:
        """The run so far."""
        return self._output.view

    @property
    def then(self) -> SavedSession | None:
        """The session to go on with after this one."""
        return self._answers.then

    def run(self) -> int:
        """Print and read until the run is over; return the exit code."""
        if self._play:
            self._source.pause()
            self._output.say("Plain mode. /help lists the commands.")
        elif self._terminal is not None:
            self._output.say("Plain mode. Enter pauses, /help lists the commands.")
        self._source.set_delay(self._delay)
        self._source.start(self._inbox)
        try:
            self._loop()
        except KeyboardInterrupt:
            self._leave()
            return 130
        return self._source.exit_code

    def _loop(self) -> None:
        lines = TypedLines(self._terminal, self._arrived.set) if self._terminal is not None else None
        while not self._output.over:
            self._arrived.wait(_LOOK_S)
            self._arrived.clear()
            for item in self._inbox.drain(1000):
                if isinstance(item, RunView):
                    self._output.jump(item)
                else:
                    self._output.take_in(item)
            if len(self._inbox):
                self._arrived.set()
            elif self._source.wait(0) and not len(self._inbox):
                break
            elif not (self._steer(lines) if lines is not None else self._waits_or_goes_on()):
                self._leave()
                break

    def _leave(self) -> None:
        self._source.stop()
        if self.then is None:
            self._output.say("Leaving. The session goes on from here next time." if self._source.live else "Leaving.")
        self._source.wait(waits.LINES_END.seconds)

    # ------------------------------------------------------------------------------------ asking

    def _waits_or_goes_on(self) -> bool:
        """Ask for a line if the run waits for one; return False to leave."""
        waits = self.view.activity == "paused" and (self._play or bool(self.view.doing))
        return self._ask() if waits else True

    def _ask(self) -> bool:
        """Take one line; return False to leave."""
        if self.view.doing and not self.view.pending:
            self._output.say(f"Waiting: {self.view.doing}")
        if self._auto > 0 and not self.view.doing:
            self._auto -= 1
            self._step()
            return True
        self._auto = 0
        while True:
            line = self._read() if self._read else None
            if line is None:
                return False
            line = self._typed(line)
            if not line.startswith("/"):
                if self.view.doing and not self.view.pending:
                    self._source.resume()
                    self._source.pause()
                elif self._is_ours(line):
                    continue
                elif line:
                    self._source.overrule(0, action_meant(line, self.view, self._pages))
                    self.view.activity = "running"
                else:
                    self._step()
                return True
            done = self._command(line[1:])
            if done is not None:
                return done

    def _typed(self, line: str) -> str:
        """Return a typed line as it is meant, and keep it for the history."""
        line = clean(line).strip()
        if self._files is not None:
            self._files.typed.add(line, keep=not self.view.pages)
        return line

    def _is_ours(self, line: str) -> bool:
        """Say, the first time, that a word may mean one of our commands. Typed again, it is for the game."""
        word = line.casefold()
        if word not in command_table.OURS or word in self._asked:
            return False
        self._asked.add(word)
        self._output.say(f"Did you mean /{word}? '{line}' typed once more goes to the game.")
        return True

    def _step(self) -> None:
        self._source.step_once()
        self.view.activity = "running"

    def _command(self, text: str) -> bool | None:
        """Run a typed command; return None to ask for another line, False to leave."""
        word, _, rest = text.partition(" ")
        name, done = command_table.found(word), None
        if not name:
            self._output.say(f"There is no command /{word}; /help lists them.")
        else:
            try:
                done = self.commands[name](rest.strip())
            except JitrlError as error:
                self._output.say(f"Error: {error}")
        if done:
            self.view.activity = "running"
        return False if self.then is not None else done

    @staticmethod
    def _goes_on(act: Callable[[str], object]) -> Callable[[str], bool]:
        """Return a command that does this, after which the run goes on."""

        def done(rest: str) -> bool:
            act(rest)
            return True

        return done

    def _hand_over(self, steps: str) -> None:
        """Let the agent take some steps by itself."""
        self._auto = max(0, int(steps) - 1) if steps.isascii() and steps.isdigit() else 0
        self._source.step_once()

    def _control(self) -> Control | None:
        """Return what takes commands; None, with a sentence, for a recording."""
        if self._source.control is None:
            self._output.say("This is a recording: what happened cannot be changed.")
        return self._source.control

    def _redo(self, _: str) -> bool | None:
        if control := self._control():
            control.redo()
        return control is not None or None

    def _end(self, _: str) -> bool | None:
        if control := self._control():
            control.end_episode(self.view.episode)
        return control is not None or None

    def _break(self, text: str) -> None:
        """Add a breakpoint, remove all, or list them."""
        from engine.session.rules import parse

        control = self._control()
        if control is None:
            return
        orders = control.orders
        try:
            if text == "off":
                orders = dataclasses.replace(orders, rules=())
            elif text:
                orders = dataclasses.replace(orders, rules=tuple(dict.fromkeys((*orders.rules, parse(text)))))
        except UsageError as error:
            self._output.say(str(error))
            return
        if orders != control.orders:
            control.order(orders)
        rules = ", ".join(map(str, orders.rules))
        self._output.say(f"Breakpoints: {rules}." if rules else "There are no breakpoints.")

    def _set_speed(self, text: str) -> None:
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= 3600:
            self._output.say("Say how many seconds between steps, for instance: /speed 2")
            return
        self._source.set_delay(seconds)
        self._output.say(f"{seconds:g} seconds between steps.")

    # ------------------------------------------------------------------------------------ steering

    def _steer(self, lines: TypedLines) -> bool:
        """Do what was typed while the agent plays; return False to leave."""
        line = lines.take()
        if line is None:
            return not lines.ended
        self._arrived.set()  # there may be more lines
        line = self._typed(line)
        if line.startswith("/"):
            return self._command(line[1:]) is not False
        if line and not self._source.live:
            self._output.say("This is a recording: what happened cannot be overruled.")
        elif line and self._is_ours(line):
            pass
        elif line:
            self._source.overrule(0, action_meant(line, self.view, self._pages))
        elif self.view.activity == "paused":
            self._step()
        else:
            self._source.pause()
        return True


# ---------------------------------------------------------------------------------------------- running


def run_plain(source: Source, *, files: SessionFiles | None = None, delay: float | None = None) -> int:
    """Show a run that nobody plays as lines on stdout; return the exit code.

    Args:
        delay: Seconds between steps; None for the usual ones.
    """
    return _run(source, play=False, files=files, delay=delay)[0]


def run_recording_plain(path: Path, delay: float | None = None) -> int:
    """Play back a recording in plain mode; return the exit code."""
    from engine.session import recording
    from jitrl_tui.runs.replay import ReplaySource

    source = ReplaySource(lambda: recording.read(path), delay=0.0)
    return run_plain(source, files=SessionFiles.recorded(path), delay=delay)


def refuse_to_wait(standing: Orders) -> None:
    """Refuse a session that the agent plays and that waits for a person, where none can answer.

    Raises:
        UsageError: It is one, and there is no terminal.
    """
    if standing != Orders() and not sys.stdin.isatty():
        raise UsageError(
            "the session would wait for you (--ask, --break), and here is no terminal in which you could answer; "
            "use one, or a session without these"
        )


def run_saved_plain(saved: SavedSession, saves: Path, *, play: bool) -> int:
    """Resume a saved session in plain mode, and then any session that is loaded or branched from it."""
    from engine.session.branches import Keeper
    from engine.session.edits import discard_unplayed
    from engine.session.loop import Session
    from engine.web.browser.pages import PageStore
    from jitrl_tui.runs.amounts import before_paying
    from jitrl_tui.runs.source import LiveSource

    if not play:
        refuse_to_wait(orders_of(saved.folder))
    following: SavedSession | None = saved
    code = 0
    while following is not None:
        now = following
        source = LiveSource(
            partial(Session, now, saves, interactive=play),
            saves=saves,
            before=partial(before_paying, now, saves),
            after=partial(discard_unplayed, now),
        )
        code, following = _run(
            source, play=play, keeper=Keeper(saves, now), pages=PageStore(now.folder), files=SessionFiles.of(now, saves)
        )
    return code


def _run(
    source: Source,
    *,
    play: bool,
    keeper: Keeper | None = None,
    pages: PageStore | None = None,
    files: SessionFiles | None = None,
    delay: float | None = None,
) -> tuple[int, SavedSession | None]:
    run: PlainRun

    def valid() -> list[str]:
        actions = run.view.choice.decision.possible if run.view.choice else ()
        return [*map(one_line, actions), *command_table.words()]

    terminal = sys.stdin if not play and sys.stdin.isatty() else None
    history = files.typed if files is not None else TypedHistory()
    read = line_reader(sys.stdin, history, valid) if play else None
    usual = WATCHED_S if terminal is not None else 0.0
    run = PlainRun(
        source, sys.stdout, read, play=play, keeper=keeper, pages=pages, files=files, terminal=terminal,
        delay=usual if delay is None else delay,
    )  # fmt: skip

    def hang_up() -> None:
        shutdown.end_within(last=restore)
        source.stop()

    def asked(*_: object) -> None:
        hang_up()
        raise KeyboardInterrupt

    handlers = {signal.SIGTERM: asked, signal.SIGHUP: asked}
    with (
        shutdown.same_modes(sys.stdin) as restore,
        shutdown.handle_signals(handlers),
        shutdown.when_closed([sys.stdin, sys.stdout], hang_up),
    ):
        return run.run(), run.then
