"""The typed commands of the plain mode: those that ask something, and those that keep something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine import worked
from engine.errors import JitrlError
from jitrl_tui import hits, slash_commands, steer_texts
from jitrl_tui.hints import Hints
from jitrl_tui.places import map_lines
from jitrl_tui.plain.choices import candidate_lines
from jitrl_tui.plain.event_lines import EventLines
from jitrl_tui.session_files import SessionFiles
from jitrl_tui.transcript_files import export_as

if TYPE_CHECKING:
    from engine.session.branches import Keeper
    from engine.session.store import SavedSession
    from engine.web.browser.pages import PageStore

PAGE_WIDTH = 100
"""Width of a drawn page in cells."""
HELP = "Type a command for the game, or nothing to let the agent do what it proposes. Commands of jitrl:"
HELP_WATCHING = (
    "Enter pauses, and takes one step where it is paused. A command for the game overrules the agent. "
    "Commands of jitrl:"
)


class PlainCommands:
    """What a typed command answers. None of these carries out a step.

    Args:
        telling: The view, and where lines go.
        play: A person plays.
        keeper: Saves and branches; None where there is nothing to save.
        pages: Where what pages looked like is kept; None where there are none.
        files: What lies beside the session on disk; None if there is nothing.

    Attributes:
        then: The session to go on with after this one.
    """

    def __init__(
        self,
        telling: EventLines,
        *,
        play: bool,
        keeper: Keeper | None = None,
        pages: PageStore | None = None,
        files: SessionFiles | None = None,
    ) -> None:
        self.then: SavedSession | None = None
        self._telling, self._play = telling, play
        self._keeper, self._pages, self._files = keeper, pages, files
        self._hints = Hints()

    def answer(self, name: str, rest: str) -> None:
        """Answer a command, given by its first name and what follows it."""
        try:
            self._answer(name, rest)
        except JitrlError as error:
            self._telling.say(f"Error: {error}")

    def _answer(self, name: str, rest: str) -> None:
        view, say = self._telling.view, self._telling.say
        match name:
            case "help":
                say("\n".join([HELP if self._play else HELP_WATCHING, *slash_commands.help_lines(lines=True)]))
            case "page":
                say(self._page())
            case "hint":
                say(self._hints.next(view.choice, view.pending))
            case "note" | "notes" | "export" if self._files is None:
                say("Nothing is kept on disk here.")
            case "note" if rest and self._files is not None:
                self._files.notes.add(rest, view.episode, view.step)
                say("Noted. /notes tells the notes.")
            case ("note" | "notes") if self._files is not None:
                for note in self._files.notes.all():
                    say(f"Note, episode {note.episode}, step {note.step}: {note.text}")
                if not self._files.notes.all():
                    say("There are no notes yet; /note TEXT makes one.")
            case "export" if self._files is not None:
                self._export(self._files.recording, rest)
            case "map":
                self._map()
            case "score":
                say(self._telling.score())
            case "save" | "load" | "saves" | "branch":
                self._keep(name, rest)
            case _:
                self._of_decision(name)

    def _of_decision(self, name: str) -> None:
        """Answer what asks about the latest decision."""
        view, say = self._telling.view, self._telling.say
        choice = view.choice
        if choice is None:
            say("There is no decision yet.")
            return
        decision = choice.decision
        match name:
            case "why":
                say(f"Why: {decision.why}")
                if equation := worked.update(decision):
                    say(equation)
                self._telling.say_more(choice)
            case "options":
                for line in candidate_lines(choice):
                    say(line)
            case "memory":
                for line in hits.basis_lines(choice, view.memory_entries):
                    say(line)
            case "actions":
                say(steer_texts.all_actions(decision))
            case _:
                pass

    def _keep(self, name: str, rest: str) -> None:
        """Save, or name the session to go on with."""
        say = self._telling.say
        if self._keeper is None:
            say("Here is nothing to save.")
        elif name == "save":
            self._keeper.keep(rest)
            say(f"Saved as {rest}. /load {rest} goes on from here.")
        elif name == "saves":
            say(", ".join(self._keeper.names()) or "There are no saves; /save NAME makes one.")
        elif name == "load":
            self.then = self._keeper.load(rest)
        else:
            step, _, memory = rest.partition(" ")
            if step.isascii() and step.isdigit() and memory in ("", "shared"):
                self.then = self._keeper.branch(self._telling.view.episode, int(step), shared=bool(memory))
            else:
                say("Say after which step, for instance: /branch 3")

    def _export(self, recording: Path, name: str) -> None:
        if not name:
            self._telling.say("Say to which file, for instance: /export pantry.md")
            return
        target = export_as(recording, name)
        self._telling.say(f"Wrote {target}.")

    def _map(self) -> None:
        view = self._telling.view
        known = view.places.map.copy()
        remembered = self._files.remembered if self._files is not None else None
        if remembered is not None and view.started is not None:
            before = remembered.read(view.started, view.places.uids)
            before.merge(known)
            known = before
        decision = view.choice.decision if view.choice is not None and view.pending else None
        for line in map_lines(known, view.places.here, decision):
            self._telling.say(line)

    def _page(self) -> str:
        """Return the page as it is now, drawn in text."""
        shown = self._telling.view.page_at(None)
        page = self._pages.page(shown) if shown is not None and self._pages is not None else None
        if shown is None or page is None:
            return "There is no page to show."
        from engine.web.drawing.wireframe import draw

        return draw(page, PAGE_WIDTH, 40, (shown.width, shown.height)).text
