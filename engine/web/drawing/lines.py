"""A page as lines, as `engine.web.drawing.text.outline` writes them; made from a page, or parsed from that text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.web.browser.snapshot import Page, PageNode, plain_name

_LINE = re.compile(
    r"(?P<indent> *)<(?P<role>[A-Za-z][\w-]*)\[(?P<name>.*?)\](?:#(?P<ordinal>\d+))?>"
    r"(?: \((?P<states>[^()]*)\))?(?:: (?P<value>.*))?"
)
LONGEST_CAPTION = 100
LABELS = frozenset({
    "text", "cell", "rowheader", "term", "generic", "paragraph", "strong", "heading", "legend", "label", "columnheader",
})  # fmt: skip
"""Roles of elements that may be the label of the next one."""
GROUPS = frozenset(
    {"row", "listitem", "article", "paragraph", "group", "radiogroup", "term", "definition", "treeitem"}
)
"""Roles of elements that contain things that belong together."""


@dataclass(frozen=True)
class PageLine:
    """One line of a page.

    Attributes:
        depth: Number of lines that contain it, 0 for the outermost.
        label: `role[name]#k`, as actions write it.
        text: Its name and value.
    """

    depth: int
    role: str = "text"
    name: str = ""
    ordinal: int = 0
    value: str = ""
    states: str = ""

    @property
    def label(self) -> str:
        """The element as an action writes it, without angle brackets."""
        return f"{self.role}[{self.name}]{f'#{self.ordinal}' if self.ordinal else ''}"

    @property
    def text(self) -> str:
        """Name and value, once if they are equal."""
        return f"{self.name} {self.value}".strip() if self.name != self.value else self.name


class PageLines(Sequence[PageLine]):
    """The lines of a page, with lookups of their surroundings."""

    def __init__(self, lines: Sequence[PageLine]) -> None:
        self._lines = tuple(lines)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        """Return a line, or a slice of lines."""
        return self._lines[index]

    def __len__(self) -> int:
        return len(self._lines)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """By line: index of the line that contains it, -1 for none."""
        found, above = [], list[int]()
        for index, line in enumerate(self._lines):
            while above and self._lines[above[-1]].depth >= line.depth:
                above.pop()
            found.append(above[-1] if above else -1)
            above.append(index)
        return tuple(found)

    @cached_property
    def labels(self) -> dict[str, int]:
        """By label: index of the first line with it; bare text has none."""
        return {line.label: i for i, line in reversed(list(enumerate(self._lines))) if line.role != "text"}

    def group(self, index: int) -> int:
        """Return the index of the row, list item or other group that contains a line, -1 for none."""
        above = self.parents[index]
        while above >= 0 and self._lines[above].role not in GROUPS:
            above = self.parents[above]
        return above

    def inside(self, index: int) -> Iterator[int]:
        """Yield the indices of the lines inside a line."""
        for i in range(index + 1, len(self._lines)):
            if self._lines[i].depth <= self._lines[index].depth:
                return
            yield i

    def said(self, index: int) -> str:
        """Return the text of a line and all lines inside it."""
        return " ".join([self._lines[index].text, *(self._lines[i].text for i in self.inside(index))]).strip()

    def beside(self, index: int) -> str:
        """Return the text right before a line if it may be its label, else ""."""
        before = index - 1
        while before >= 0 and not self._lines[before].text and self._lines[before].role not in GROUPS:
            before -= 1  # Lists made by scripts are next to the list that they replace.
        if before < 0 or self._lines[before].depth < self._lines[index].depth - 1:
            return ""
        return self._lines[before].text if self._lines[before].role in LABELS else ""

    def caption(self, index: int) -> str:
        """Return a caption for a field without a name: the text before it, in a table that of its row."""
        row = self.group(index)
        if row >= 0 and self._lines[row].role == "row":
            inside = [i for i in self.inside(row) if i < index and self._lines[i].role in LABELS]
            own = self.parents[index]  # The cell around the field repeats its text.
            return " ".join(self._lines[i].text for i in inside if i != own)[:LONGEST_CAPTION]
        return self.beside(index)

    def header(self, index: int) -> str:
        """Return the column header of a cell, "" if there is none."""
        row = self.parents[index]
        if row < 0 or self._lines[row].role != "row":
            return ""
        place = sum(self.parents[i] == row for i in range(row + 1, index))
        for above in range(row - 1, -1, -1):
            if self._lines[above].depth < self._lines[row].depth - 1:
                break
            if self._lines[above].role == "row":
                cells = [i for i in self.inside(above) if self.parents[i] == above]
                if place < len(cells) and self._lines[cells[place]].role == "columnheader":
                    return self.said(cells[place])
        return ""


def lines_of(page: Page, hidden: Callable[[PageNode], bool]) -> PageLines:
    """Return a page's lines. Values of nodes that are `hidden` are left out."""
    lines: list[PageLine] = []
    depths = [0] * len(page.nodes)
    shown = [False] * len(page.nodes)
    for index, node in enumerate(page.nodes):
        up = node.parent
        depths[index] = depths[up] + shown[up] if up >= 0 else 0
        shown[index] = says(node)
        if shown[index]:
            value = "" if hidden(node) else " ".join(node.value.split())
            ordinal = node.ordinal if node.twins > 1 else 0
            states = ", ".join(k if v == "true" else f"{k}={v}" for k, v in node.states)
            role = "text" if is_bare(node) else node.role
            lines.append(PageLine(depths[index], role, plain_name(node.name), ordinal, value, states))
    return PageLines(lines)


def is_bare(node: PageNode) -> bool:
    """Whether the node is only its text."""
    return node.role in ("generic", "text", "group", "none", "presentation") and not node.name


def says(node: PageNode) -> bool:
    """Whether the node has anything to write."""
    return bool(node.value) if is_bare(node) else True


def read(outline: str) -> PageLines:
    """Parse the outline of a page; never raises."""
    lines = []
    for written in outline.splitlines():
        found = _LINE.fullmatch(written)
        if found is None:
            text = written.lstrip(" ")
            lines.append(PageLine((len(written) - len(text)) // 2, value=text))
            continue
        lines.append(
            PageLine(
                len(found["indent"]) // 2,
                found["role"],
                found["name"],
                int(found["ordinal"] or 0),
                found["value"] or "",
                found["states"] or "",
            )
        )
    return PageLines(lines)
