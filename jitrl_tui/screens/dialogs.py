"""The dialogs of the watch screen: overrule, fast-forward, prompts, help, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.types import CSSPathType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from engine.errors import cause_and_remedy
from engine.records import Decision, ModelCall
from jitrl_tui.runs.amounts import dollars
from jitrl_tui.runs.view import Choice
from jitrl_tui.system import crash, logs
from jitrl_tui.system.background import Background, Told
from jitrl_tui.widgets.lines import ACCENT, HUMAN, MUTED, STRONG, Lines, fit, wrap
from jitrl_tui.widgets.options import Entry, Options

Result = TypeVar("Result")
Row = tuple[str, Content]
"""A line of a list, with the answer that it stands for."""
UNTIL_BREAKPOINT, STEPS = "breakpoint", "steps "
"""Answers of the dialog that hands over: until a breakpoint, or for a number of steps."""
OWN = "Ctrl-O"
"""The key that answers with the typed text, as people write it."""


class Dialog(ModalScreen[Result]):
    """A dialog over the screen. Esc closes it."""

    CSS_PATH: ClassVar[CSSPathType | None] = "dialog.tcss"
    BINDINGS: ClassVar = [Binding("escape", "dismiss(None)", "close", show=False)]

    def box(self, title: str) -> Vertical:
        """Return the frame with its title."""
        box = Vertical(id="box")
        box.border_title = Content(title)
        box.border_subtitle = Content("Esc closes")
        return box


class PickDialog(Dialog[str]):
    """A list that is filtered by typing. Enter answers with the highlighted line.

    Where `free` says what the typed text itself does, it is the last line, and Ctrl-O answers with it.

    Args:
        title: Title of the box.
        hint: What is asked, in a sentence.
        placeholder: What can be typed.
        rows: (answer, line) pairs, or what returns them for the typed text, best first; pairs are shown if their line
            has that text. A subclass may have `options` in place of them.
        typed: A text to begin with.
    """

    free = ""
    BINDINGS: ClassVar = [
        Binding("ctrl+o", "own", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("tab", "complete", show=False, priority=True),
    ]

    def __init__(
        self, title: str, hint: str, placeholder: str, *, rows: Sequence[Row] | Callable[[str], list[Row]] = (),
        typed: str = "",
    ) -> None:  # fmt: skip
        super().__init__()
        self._rows = rows
        self._title, self._hint, self._placeholder, self._typed = title, hint, placeholder, typed
        self._answers: list[str] = []

    def compose(self) -> ComposeResult:
        """Lay out hint, input and list."""
        box = self.box(self._title)
        if self.free:
            box.border_subtitle = Content(f"Enter takes the marked line · {OWN} {self.free} · Esc closes")
        with box:
            yield Static(Content(self._hint), classes="hint")
            yield Entry(self._typed, placeholder=self._placeholder)
            yield Options(markup=False)

    def on_mount(self) -> None:
        """Show all options, and the hint as it is now: it may have changed since the window was laid out."""
        self.query_one(".hint", Static).update(Content(self._hint))
        self.query_one(OptionList).can_focus = False
        self.fill(self._typed)
        if self._typed.endswith("'')"):  # The cursor is put between the quotes.
            self.query_one(Input).cursor_position = len(self._typed) - 2

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return (answer, line) pairs for the typed text, best first."""
        if callable(self._rows):
            return self._rows(typed)
        return [row for row in self._rows if typed.casefold() in row[1].plain.casefold()]

    def fill(self, typed: str) -> None:
        """Show the options for the typed text."""
        rows = self.options(typed)
        if self.free and typed and all(answer != typed for answer, _ in rows):
            mark = f"  {self.free}{f' ({OWN})' if rows else ''}"
            rows = [*rows, (typed, Content.assemble(("  " + fit(typed, 40), HUMAN), (mark, MUTED)))]
        self._answers = [answer for answer, _ in rows]
        listing = self.query_one(OptionList)
        listing.clear_options()
        listing.add_options([Option(line) for _, line in rows])
        if rows:
            listing.highlighted = 0
        elif typed:
            listing.add_option(Option(Content.styled("  Nothing matches.", MUTED), disabled=True))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter."""
        self.fill(event.value.strip())

    def on_input_submitted(self) -> None:
        """Answer with the highlighted line."""
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._answers):
            self.choose(self._answers[at])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Answer with the clicked line."""
        self.choose(self._answers[event.option_index])

    def action_own(self) -> None:
        """Answer with the typed text, where that is possible."""
        typed = self.query_one(Input).value.strip()
        if self.free and typed:
            self.choose(typed)

    def choose(self, answer: str) -> None:
        """Close the dialog with this answer."""
        self.dismiss(answer)

    def action_move(self, by: int) -> None:
        """Move the highlight."""
        listing = self.query_one(OptionList)
        if listing.option_count:
            listing.highlighted = ((listing.highlighted or 0) + by) % listing.option_count

    def action_complete(self) -> None:
        """Put the highlighted answer into the input."""
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._answers):
            field = self.query_one(Input)
            field.value = self._answers[at]
            field.cursor_position = len(field.value)


class OverruleDialog(PickDialog):
    """Pick a candidate or any valid action; what is typed filters them, or is sent as a command.

    Args:
        meaning: On web pages, replaces the number of an element by its action, and returns other texts
            unchanged.
    """

    free = "sends what is typed"

    def __init__(
        self, decision: Decision | None, typed: str = "", meaning: Callable[[str], str] | None = None
    ) -> None:
        super().__init__(
            "overrule",
            _about(decision),
            "a number of the page, such as 7 or 7 some text; or type to filter"
            if meaning
            else "type words of an action, or any command",
            typed=typed,
        )
        self._decision = decision
        self._meaning = meaning

    def show(self, decision: Decision | None) -> None:
        """Show the decision that waits now."""
        if decision is self._decision:
            return
        self._decision, self._hint = decision, _about(decision)
        if self.is_mounted:
            self.query_one(".hint", Static).update(Content(self._hint))
            self.fill(self.query_one(Input).value.strip())

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return the candidates and the other valid actions that have all typed words; those that begin so first."""
        words = typed.casefold().split()
        rows = _actions(self._decision) if self._decision is not None else []
        found = [row for row in rows if all(word in row[0].casefold() for word in words)]
        found.sort(key=lambda row: (row[0] != typed, not row[0].casefold().startswith(typed.casefold())))
        meant = self._meaning(typed) if self._meaning and typed else typed
        if meant != typed:
            more = "  add its text: " + typed.split()[0] + " some text" if meant.endswith("'')") else ""
            line = Content.assemble(("  " + meant, HUMAN), ("  on the page" + more, MUTED))
            return [(typed, line), *found]
        return found


def _actions(decision: Decision) -> list[tuple[str, Content]]:
    """Return the rows of the candidates and of the other valid actions."""
    found: list[tuple[str, Content]] = []
    for index, candidate in enumerate(decision.candidates):
        here = "▸ " if index == decision.chosen else "  "
        line = Content.assemble(
            (here + fit(candidate.action, 40), STRONG),
            (f"  {decision.posterior[index]:4.0%}  {candidate.source}", MUTED),
        )
        found.append((candidate.action, line))
    known = {action for action, _ in found}
    for action in decision.possible:
        if action not in known:
            found.append((action, Content.assemble("  " + fit(action, 40), ("  valid action", MUTED))))
    return found


def _about(decision: Decision | None) -> str:
    wants = f"The agent wants to: {decision.action}." if decision else "There is no decision yet; it is shown here."
    return f"{wants} What shall it do instead? ↑↓ choose, Enter does it; memory learns from it as yours."


def forward_dialog(left: int, *, live: bool = False, stops: bool = False) -> PickDialog:
    """Return a window that asks how far to fast-forward. Answers are numbers of episodes; 0 is the end of this one.

    Args:
        left: Number of episodes after this one.
        live: Whether steps can be handed over, too. The answers are then also `steps N` and `breakpoint`.
        stops: Whether there are breakpoints.
    """

    def rows(typed: str) -> list[Row]:
        """Return the usual numbers of episodes, or the typed one."""
        if typed:
            if not typed.isascii() or not typed.isdigit() or int(typed) > 1_000_000:
                return []
            count = int(typed)
            plural = "s" if count != 1 else ""
            found = [(typed, f"{count} more episode{plural}")]
            if live and count:
                found.append((f"{STEPS}{count}", f"{count} step{plural}, then wait for me"))
        else:
            found = [("0", "to the end of this episode")]
            found += [(f"{STEPS}10", "10 steps, then wait for me")] if live else []
            found += [(UNTIL_BREAKPOINT, "until a breakpoint stops it")] if stops else []
            found += [(str(n), f"and {n} more episode{'s' if n > 1 else ''}") for n in (1, 5, 10) if n < left]
            found += [(str(left), f"all {left} episodes that are left")] if left > 0 else []
        return [(answer, Content("  " + text)) for answer, text in found]

    if live:
        hint = "Without pause, delay or question. A breakpoint or space stops it."
        return PickDialog("fast-forward: hand over", hint, "a number of episodes or steps", rows=rows)
    hint = "Without pause or delay; space stops it at any moment."
    return PickDialog("fast-forward", hint, "a number of episodes", rows=rows)


class PageDialog(Dialog[None]):
    """Lines to read, which scroll.

    Args:
        title: Title of the box.
        build: Returns the lines for a width.
        keys: Keys that close it, besides Esc.
    """

    def __init__(self, title: str, build: Callable[[int], Sequence[Content]], keys: str = "q") -> None:
        super().__init__(classes="-page")
        self._title, self._build = title, build
        self._bindings.bind(keys, "dismiss(None)", show=False)

    def compose(self) -> ComposeResult:
        """Lay out the one pane."""
        with self.box(self._title):
            yield Lines("page", self._build)


def calls_dialog(choice: Choice, calls: Sequence[ModelCall]) -> PageDialog:
    """Return a window with the raw prompts and replies behind a choice, in their order."""
    title = f"model calls: episode {choice.episode}, step {choice.decision.step + 1}"
    return PageDialog(title, lambda width: _call_lines(calls, width), "p,q")


def _call_lines(calls: Sequence[ModelCall], width: int) -> list[Content]:
    lines: list[Content] = []
    for number, call in enumerate(calls, 1):
        cost = f", {dollars(call.cost_usd)}" if call.cost_usd != 0 else ""
        head = (
            f"call {number}: {call.purpose}, {call.model}, {call.prompt_tokens:,} tokens in, "
            f"{call.completion_tokens:,} out, {call.latency_s:.2f} s{cost}"
            f"{', tokens estimated' if call.estimated else ''}{', from the cache' if call.cached else ''}"
        )
        lines += [Content.styled(line, ACCENT) for line in wrap(head, width)]
        for name, text in (("prompt", call.prompt), ("reply", call.reply)):
            lines += [Content(""), Content.styled(f"── {name} " + "─" * max(0, width - len(name) - 4), MUTED)]
            lines += [Content(line) for line in wrap(text, width)]
        lines.append(Content(""))
    return lines or [Content.styled("No model was called for this choice.", MUTED)]


class FieldDialog(Dialog[Result]):
    """Asks for a value in one field. One that is not allowed is told, and the dialog stays.

    Args:
        title: Title of the box.
        hint: What the value is.
        text: The present one, as it is typed.
        read: Returns the value of a text, and what is wrong with it, "" for nothing.
        selected: Whether typing replaces the present one.
    """

    def __init__(
        self, title: str, hint: str, text: str, read: Callable[[str], tuple[Result, str]], *, selected: bool = True
    ) -> None:
        super().__init__()
        self._title, self._hint, self._text, self._read, self._selected = title, hint, text, read, selected

    def compose(self) -> ComposeResult:
        """Lay out hint, field and mistake."""
        with self.box(self._title):
            yield Static(Content(self._hint), classes="hint")
            yield Entry(self._text, select_on_focus=self._selected)
            yield Static(id="wrong", markup=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what is wrong with the value as it is typed."""
        self.query_one("#wrong", Static).update(Content.styled(self._read(event.value)[1], HUMAN))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer with the value, if nothing is wrong with it."""
        value, why = self._read(event.value)
        if not why:
            self.dismiss(value)


class ErrorDialog(Dialog[str]):
    """An error: what happened, what can be done, where more is written, and the possible next steps.

    Args:
        message: The message of the error.
        kind: Name of its class in `engine.errors`, "" if it is not known.
    """

    BINDINGS: ClassVar = [
        Binding("q", "dismiss('leave')", show=False),
        Binding("y", "copy", show=False),
    ]

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(classes="-error")
        cause, remedy = cause_and_remedy(message, kind)
        remedy, _, report = remedy.partition(f" {crash.DETAILS} ")
        named = [("What happened", cause), ("What to do", remedy), ("Report", report), ("Log", logs.where())]
        self._parts = [(title, text) for title, text in named if text]

    def compose(self) -> ComposeResult:
        """Lay out the sentences and the keys."""
        box = self.box("this cannot go on")
        box.border_subtitle = ""
        with box:
            with VerticalScroll():
                for title, text in self._parts:
                    yield Static(Content.styled(title, MUTED))
                    yield Static(Content(text), classes="message")
            keys = ("Esc", ACCENT), " look around   ", ("y", ACCENT), " copy   ", ("q", ACCENT), " leave"
            yield Static(Content.assemble(*keys))

    def action_copy(self) -> None:
        """Copy the sentences."""
        self.app.copy_to_clipboard("\n".join(f"{title}: {text}" for title, text in self._parts))
        self.notify("Copied.", timeout=2)


class ConfirmDialog(Dialog[bool]):
    """A question. Enter answers yes, Esc closes it without an answer.

    Args:
        title: Title of the box.
        message: What will happen, in a sentence.
        yes: What Enter does, in a word or two.
        key: The key that asked, which answers yes, too; "" for none.
        no: The key that answers no, and what it does; ("", "") where there is only yes.
        esc: What Esc does.
    """

    BINDINGS: ClassVar = [Binding("enter", "dismiss(True)", show=False)]

    def __init__(
        self, title: str, message: str, yes: str, key: str = "", no: tuple[str, str] = ("", ""), esc: str = "go on"
    ) -> None:
        super().__init__()
        self._title, self._message, self._yes, self._key, self._no, self._esc = title, message, yes, key, no, esc
        if key:
            self._bindings.bind(key, "dismiss(True)", show=False)
        if no[0]:
            self._bindings.bind(no[0], "dismiss(False)", show=False)

    def compose(self) -> ComposeResult:
        """Lay out the sentence and the keys."""
        box = self.box(self._title)
        box.border_subtitle = ""
        with box:
            yield Static(Content(self._message), classes="message")
            keys = f"Enter or {self._key}" if self._key else "Enter"
            no: list[str | tuple[str, str]] = [(self._no[0], ACCENT), f" {self._no[1]}   "] if self._no[0] else []
            yield Static(Content.assemble((keys, ACCENT), f" {self._yes}   ", *no, ("Esc", ACCENT), f" {self._esc}"))


_EVERY_S = 0.2
"""Seconds between looks at how far the work is."""


class WaitDialog(Dialog[Result]):
    """Work in the background. The answer is its result; None if it was cancelled or failed, which is said.

    Args:
        what: What is done, in a few words.
        work: Called in a thread with a function that takes progress.
    """

    def __init__(self, what: str, work: Callable[[Told], Result]) -> None:
        super().__init__()
        self._what, self._do = what, work
        self.work = Background(self)
        self._answers: list[Result | None] = []

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        box = self.box(self._what)
        box.border_subtitle = Content("Esc cancels")
        with box:
            yield Static(id="told", markup=False)

    def on_mount(self) -> None:
        """Begin the work."""
        self.work.begin(self._do, self._ended, self._failed, what=self._what)
        self.set_interval(_EVERY_S, self._tell)
        self._tell()

    def on_unmount(self) -> None:
        """Cancel the work."""
        self.work.close()

    def on_screen_resume(self) -> None:
        """Answer, if the work has ended below another window."""
        if self._answers:
            self.dismiss(self._answers[0])

    def _ended(self, answer: Result | None) -> None:
        self._answers = [answer]
        if self.is_current:
            self.dismiss(answer)

    def _failed(self, sentence: str) -> None:
        self.app.notify(sentence, severity="error", timeout=8)
        self._ended(None)

    def _tell(self) -> None:
        self.query_one("#told", Static).update(Content(self.work.progress_text))
