"""What the home screen shows of the marked row beside the list: a session, a race, a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual.content import Content
from textual.screen import Screen

from engine.records import SettingsChanged, Stepped
from engine.session.levers import change_text
from jitrl_tui.runs.home_contents import RaceRow, SessionRow
from jitrl_tui.runs.memory_summary import ScopeSummary
from jitrl_tui.runs.session_summary import last_steps
from jitrl_tui.runs.view import points, signed
from jitrl_tui.screens.home_rows import CURVE, date_text, session_facts, sparkline
from jitrl_tui.system.background import Background
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, HUMAN, MUTED, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.plots import score_plot

NOTHING = "Nothing is remembered yet: an episode is remembered when it ends."
_STEPS = 40
"""Most steps that are read."""
_ANSWER, _LONG_ANSWER, _TALL = 2, 4, 36
"""Most rows of an answer, the same in a tall window, and the rows of that."""
_PLOT = 9
"""Rows of a curve."""
_OTHERS = 5
"""Most other sessions of the game that are listed."""


class MemoryPreviews:
    """What memories know, read in the background when it is first asked for.

    Args:
        screen: The screen.
        load: Returns what a memory knows, by its folder; None for the shared one.
        ready: Called in the screen's thread when something is known that was not before.
    """

    def __init__(
        self, screen: Screen[int], load: Callable[[Path | None], Sequence[ScopeSummary]], ready: Callable[[], object]
    ) -> None:
        self._work, self._load, self._ready = Background(screen), load, ready
        self._found: dict[Path | None, Sequence[ScopeSummary] | str] = {}
        self._wanted: set[Path | None] = set()

    def of(self, folder: Path | None = None) -> tuple[Sequence[ScopeSummary] | None, str]:
        """Return what a memory knows, None as long as that is not known, and a sentence for where it knows nothing."""
        found = self._found.get(folder)
        if found is None:
            self._want(folder)
            return None, "reading the memory …"
        return (None, found) if isinstance(found, str) else (found, NOTHING)

    def game(self, name: str) -> tuple[ScopeSummary | None, str]:
        """Return what the shared memory knows of a game, and a sentence for where it knows nothing."""
        found, nothing = self.of()
        return next((known for known in found or () if known.title == name), None), nothing

    def forget(self) -> None:
        """Read everything anew."""
        self.close()
        self._found.clear()
        self._wanted.clear()

    def close(self) -> None:
        """Take no results any more."""
        self._work.close()

    def _want(self, folder: Path | None) -> None:
        if folder in self._wanted:
            return
        if self._work.busy:  # only what was marked last is read
            self._wanted.clear()
        self._wanted.add(folder)

        def got(found: Sequence[ScopeSummary] | str) -> None:
            self._found[folder] = found
            self._ready()

        self._work.begin(lambda progress: self._load(folder), got, got, what="Reading the memory")


class KnownPane(LinePane):
    """What the shared memory knows of the marked game."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._known: ScopeSummary | None = None
        self._nothing = ""
        self._secret = False

    def show(self, game: str, known: ScopeSummary | None, nothing: str, *, secret: bool) -> None:
        """Show a game.

        Args:
            game: Its title.
            known: What is known of it, None for nothing.
            nothing: A sentence that is shown where nothing is known.
            secret: Whether actions are left out, because a person is about to play.
        """
        self.border_title = Content(f"what the shared memory knows of {game}")
        self._known, self._nothing, self._secret = known, nothing, secret
        self.scroll_home(animate=False)
        self.renew()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the lines."""
        if self._known is None:
            return [Content.styled(line, MUTED) for line in wrap(self._nothing, width)]
        return known_lines(self._known, width, height, secret=self._secret)


class Preview(LinePane):
    """A session: how it is played, its scores, and the end of its transcript."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._row: SessionRow | None = None
        self._others: Sequence[SessionRow] = ()
        self._nothing = ""
        self._steps: Sequence[Stepped | SettingsChanged] = ()
        self._race: RaceRow | None = None
        self._known: Sequence[ScopeSummary] | None = None

    def show_game(self, game: str, played: Sequence[SessionRow]) -> None:
        """Show the last session of a game, and a line for each of the others.

        Args:
            game: Its title.
            played: Its sessions, the one played last first.
        """
        self._nothing = f"{game} was not played yet." if not played else ""
        self.border_title = Content(f"{game}: what was played last")
        self._show(played[0] if played else None, played[1:])

    def show(self, row: SessionRow | None) -> None:
        """Show a session, None for nothing."""
        self._nothing = ""
        self.border_title = Content("this session")
        self._show(row)

    def show_race(self, row: RaceRow) -> None:
        """Show the scores of the racers."""
        self.border_title = Content("this race")
        self._show(None)
        self._race = row
        self.renew()

    def show_known(self, known: Sequence[ScopeSummary] | None, nothing: str) -> None:
        """Show what a memory knows.

        Args:
            known: By scope; None if that is not known yet.
            nothing: A sentence that is shown where it is not known.
        """
        self.border_title = Content("what it knows")
        self._nothing = nothing
        self._show(None)
        self._known = known
        self.renew()

    def _show(self, row: SessionRow | None, others: Sequence[SessionRow] = ()) -> None:
        self._race = self._known = None
        if row == self._row and others == self._others and row is not None:
            return
        self._row, self._others = row, others
        self._steps = last_steps(row.saved.recording, _STEPS) if row is not None else ()
        self.scroll_home(animate=False)
        self.renew()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the lines: facts and curve, other sessions, then as many of the last steps as fit."""
        if self._race is not None:
            return _race_lines(self._race, width, height)
        if self._known:
            share = max(8, (height - len(self._known) + 1) // len(self._known))
            found = [known_lines(known, width, share, named=True) for known in self._known]
            return [line for lines in found for line in (*lines, Content(""))][:-1]
        if self._row is None:
            return [Content.styled(line, MUTED) for line in wrap(self._nothing, width)]
        title, *facts = [line for text in session_facts(self._row) for line in wrap(text, width)]
        lines = [Content.styled(title, STRONG), *map(Content, facts)]
        if scores := self._row.facts.scores:
            lines += [Content(""), *score_plot(scores, 0, width, _PLOT)]
        if self._others:
            lines += [Content(""), Content.styled("before it", MUTED)]
            lines += [Content(_in_short(one, width)) for one in self._others[:_OTHERS]]
        if len(self._others) > _OTHERS:
            lines.append(Content.styled(f"and {len(self._others) - _OTHERS} more: 4", MUTED))
        steps: list[Content] = []
        for step in reversed(self._steps):
            last_step = _step_lines(step, width, _LONG_ANSWER if height >= _TALL else _ANSWER)
            if steps and len(lines) + 1 + len(steps) + len(last_step) > height:
                break
            steps = [*last_step, *steps]
        return [*lines, Content(""), *steps]


def _in_short(row: SessionRow, width: int) -> str:
    """Return when a session was played, with which model, and its scores."""
    facts, room = row.facts, max(8, width - 11 - CURVE - 11)
    best = f"best {points(facts.best)}" if facts.best is not None else ""
    model = fit(f"{row.saved.config.agent} with {row.saved.config.model}", room)
    return f"{date_text(facts.changed):<11}  {model} {sparkline(facts.scores, CURVE):<{CURVE}} {best}"


def _step_lines(step: Stepped | SettingsChanged, width: int, rows: int) -> list[Content]:
    """Return a command, its points, and the beginning of the answer in so many rows; or what a person changed."""
    if isinstance(step, SettingsChanged):
        return [Content.styled(f"! {line}", HUMAN) for line in wrap(one_line(change_text(step)), max(8, width - 2))]
    gained = f"  {signed(step.reward)}" if step.reward else ""
    lines = [Content.assemble((f"> {one_line(step.action)}", ACCENT), (gained, GOOD if step.reward > 0 else BAD))]
    answer = wrap(" ".join(one_line(step.observation.text).split()), max(8, width - 2))
    if len(answer) > rows:
        answer = [*answer[: rows - 1], fit(f"{answer[rows - 1]} …", max(8, width - 2)).rstrip()]
    return [*lines, *(Content.styled(f"  {line}", MUTED) for line in answer)]


def known_lines(
    known: ScopeSummary, width: int, height: int, *, named: bool = False, secret: bool = False
) -> list[Content]:
    """Return what a memory knows of a scope: numbers, then as much of curve, best episode and actions as there is room.

    Args:
        named: Whether its name stands over it.
        secret: Whether actions are left out.
    """
    lines = [Content.styled(fit(known.title, width), STRONG)] if named else []
    size = f"{known.size / 1000:,.0f} kB"
    if known.left_out:
        return [*lines, Content.styled(fit(f"{size}: too large for a glance. Enter opens a memory.", width), MUTED)]
    top = f" of {points(known.max_score)}" if known.max_score is not None else ""
    score = f", best score {points(max(known.scores))}{top}, last {points(known.scores[-1])}" if known.scores else ""
    numbers = f"{len(known.scores):,} episodes, {known.steps:,} steps, {size}{score}"
    lines += [Content(line) for line in wrap(numbers, width)]
    if known.scores and height - len(lines) > _PLOT + 1:
        lines += score_plot(known.scores, len(known.scores), width, _PLOT)
    if secret:
        return lines
    if known.best and height - len(lines) >= 3:
        head = f"The best episode, {points(max(known.scores))} points in {len(known.best)} steps:"
        way = wrap(" · ".join(map(one_line, known.best)), width)
        room = max(1, min(len(way), (height - len(lines) - 2) // 2 + 1, 6))
        cut = [*way[: room - 1], fit(way[room - 1] + " …", width).rstrip()] if room < len(way) else way
        lines += [Content(""), Content.styled(fit(head, width), MUTED), *map(Content, cut)]
    rows = height - len(lines) - 2
    if known.actions and rows >= 1:
        columns = max(1, width // 44)
        listed = [f"{signed(g, 1):>6} ×{count:<5,} {one_line(action)}" for action, g, count in known.actions]
        listed = listed[: rows * columns]
        deep = -(-len(listed) // columns)
        head = "Actions with the highest mean return G (γ = .5), × steps:"
        lines += [Content(""), Content.styled(fit(head, width), MUTED)]
        for at in range(deep):
            cells = [fit(one, width // columns - 1) for one in listed[at::deep]]
            lines.append(Content(" ".join(cells).rstrip()))
    return lines


def _race_lines(row: RaceRow, width: int, height: int) -> list[Content]:
    """Return the curve of each racer below its name."""
    share = max(_PLOT, min(2 * _PLOT, height // max(1, len(row.racers)) - 2))
    lines: list[Content] = []
    for name, scores in zip(row.racers, row.scores, strict=True):
        mean = f"mean score {sum(scores) / len(scores):.1f} of {len(scores)} episodes" if scores else "no episode yet"
        lines += [Content.assemble((name, STRONG), f"  {mean}")]
        lines += [*score_plot(scores, len(scores), width, share), Content("")] if scores else [Content("")]
    return lines[:-1]
