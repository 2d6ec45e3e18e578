"""A prior for web pages from general knowledge, the counterpart of the table of verbs for games.

It rates an action by how well the words of its element, text or answer fit the task, and by the usual purpose of
such elements: following links is more likely than deleting, a form is sent after it was filled in, actions are not
repeated, and the answer to a question is told to the user. It knows no particular site or task. Scores are
log-odds. The constants were set by hand and tried on MiniWoB++, see docs/results/web.md.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from engine.errors import UsageError
from engine.records import ActionRequest
from engine.web.actions import Call, parse
from engine.web.choices import DONE, SECRET, SECRET_LIKE, TYPED, is_search, values_of
from engine.web.drawing.lines import read
from engine.web.drawing.text import CLOSE, GOAL, OPEN, TITLE
from engine.web.states.words import asks, label_stems, stems, tokens
from engine.web.tasks.answers import rank_answers

SUBMITS = frozenset({
    "go", "done", "ok",
    *stems("submit okay save search send add update login sign apply confirm continue next post finish create filter "
           "book append preview upload publish checkout proceed buy order register reply"),
})  # fmt: skip
"""Stems of words on buttons that send a form."""
RISKY = frozenset(
    stems("delete remove cancel discard reset clear logout log out unsubscribe drop destroy trash empty")
)
"""Stems of words on elements that should not be clicked unless the task has the word."""
ASIDE = frozenset(
    stems("help about language privacy terms imprint skip print rss feed license cookies contact")
)
"""Stems of words on elements that are on most pages and seldom needed."""
AMOUNTS = frozenset(stems("quantity qty amount number count"))
"""Stems of words in names of fields that take a number."""
CHOSEN = frozenset({"checkbox", "radio", "option", "switch"})
LEADS = frozenset({"link", "button", "tab", "menuitem", "treeitem", "summary"})
"""Roles of elements that lead to other pages or parts of the page."""
LOOKS = frozenset({"open", "go", "show", "navigate", "visit", "search", "view", "see", "display", "bring"})
"""Verbs of tasks that ask to show a page."""

SHARP = 1.5
"""Factor of all scores. At 0 actions are drawn uniformly; with a large value the best one is always taken."""
BESIDE = 0.5
"""Weight of a word in the same row or list item, relative to a word in the element's own name."""
WHOLE = 1.5
"""Added if the task contains the whole name of the element or option."""
GENERAL = 0.6
"""Weight of a word of the task outside names, numbers and quotations, if the task has any of these."""
USED = 0.5
"""Weight of a word that is in the element of an earlier action."""
AGAIN = -4.0
"""Added for each repetition of the action in the last steps."""
FOLLOWED = {"link": 0.3, "button": 0.0, "tab": 0.2, "menuitem": 0.2, "treeitem": 0.2, "option": 0.0, "checkbox": -0.5,
            "radio": -0.5, "switch": -0.5, "textbox": -1.5, "searchbox": -2.0, "spinbutton": -2.0}  # fmt: skip
"""Base score of a click on an element with such a role."""
FILL, SELECT, SUBMIT, SCROLL, BACK, TAB = -0.5, -1.0, 2.0, -2.0, -2.0, -1.0
"""Base scores of these actions. SUBMIT is added to buttons once something was filled in, and subtracted before that."""
CUED = 3.0
"""Added if the task mentions the field next to the value."""
AMOUNT = 1.5
"""Added for a whole number in a field that takes one."""
FIRST = 1.0
"""If an entry has at least this score, it comes before any button."""
ANSWER, FIT, EARLY = -4.0, 6.5, -1.0
"""Base score of an answer, factor of its fit, and what is added for an answer before the first action."""
UNSURE = -1.5
"""Added to an answer if the task may ask for a page instead ("Show me ...")."""
LOOKED, ARRIVED = 0.5, 1.0
"""Added to an answer: LOOKED for each of the last steps, so that long searches end, and ARRIVED if the title or
headings of the page have the names of the task. On such a page, the fit of links counts half."""
FINISH, SENT, THERE, CAME = -3.0, 5.0, 4.0, 1.5
"""Scores of saying that the task is done: base score; added after a form was sent; added if the title or headings of
the page have the names of the task; added after a click on an element whose name is in the task."""


def logits(request: ActionRequest) -> list[float]:
    """Return the log-odds of each of `request.valid_actions`."""
    return [SHARP * score for score in _Page(request).scores(request.valid_actions)]


class _Page:
    """The task, the page, and the last actions, read from a request."""

    def __init__(self, request: ActionRequest) -> None:
        first, _, rest = request.current_state.partition("\n")
        self._goal = first.removeprefix(GOAL)
        self._low = " ".join(self._goal.casefold().split())
        shown = rest.partition(f"{OPEN}\n")[2].rpartition(f"\n{CLOSE}")[0].splitlines()
        head = [line for line in shown[:3] if line.startswith(("URL: ", TITLE, "Tabs: "))]
        self._title = next((line.removeprefix(TITLE) for line in head if line.startswith(TITLE)), "")
        self._lines = read("\n".join(shown[len(head) :]))
        self._words = set(stems(self._goal))
        self._values = values_of(self._goal)
        self._sought = [value for value in self._values if any(map(str.isalpha, value))] or self._values
        said = Counter(w for line in self._lines for w in set(stems(line.text)))
        self._seen = said
        self._past = _past(request.recent_history)
        self._here = _this_page(self._past)
        served = {w for call, _ in self._past if call.target for w in stems(call.target.name)}
        self._special = {w for value in self._values for w in stems(value)} & self._words or self._words
        self._weight = {
            w: (USED if w in served else 1.0)
            * (1.0 if w in self._special else GENERAL)
            / (1.0 + math.log(max(1, said[w])))
            for w in self._words
        }
        heads = [line.text for line in self._lines if line.role == "heading"][:2]
        self._called = set(stems(" ".join([self._title, *heads])))
        self._arrived = bool(self._values) and self._special <= self._called
        self._fields = sum(line.role in TYPED for line in self._lines)
        self._entries = self._fields + sum(
            line.role in (*CHOSEN, "combobox", "listbox") for line in self._lines
        )
        self._buttons = {line.name.casefold() for line in self._lines if line.role == "button"}
        self._filled = self._is_filled()
        self._opened = self._is_opened()

    def _is_filled(self) -> bool:
        """Whether a form has something that was entered and not sent, or is shown again with what was sent."""
        for call in self._here:  # The newest first.
            if _sends(call):
                break
            if _enters(call):
                return True
        return any(
            line.role in TYPED and line.value in self._values and not is_search(line.role, line.name)
            for line in self._lines
        )

    def _is_opened(self) -> bool:
        """Whether the last click has opened a menu."""
        last = self._past[-1][0] if self._past else None
        if last is None or last.name != "click" or last.target is None:
            return False
        at = self._lines.labels.get(last.target.text[1:-1], -1)
        return at >= 0 and "expanded" in self._lines[at].states.split(", ")

    def scores(self, actions: Iterable[str]) -> list[float]:
        """Return the score of each action."""
        fits = {a.text: a.fit for a in rank_answers(self._lines, self._goal, self._title)}
        repeated = Counter(call.text for call, _ in self._past)
        found, entries, buttons = [], [0.0], []
        for number, action in enumerate(actions):
            try:
                call = parse(action)
            except UsageError:
                found.append(0.0)
                continue
            found.append(self._score(call, fits) + AGAIN * repeated[call.text])
            if _enters(call) and not (_ticks(call) and call.target and not call.target.name):
                entries.append(found[-1])  # Boxes without a name select rows of a table and are not entries.
            elif _sends(call):
                buttons.append(number)
        if max(entries) >= FIRST:  # Entries are filled in before the form is sent.
            for number in buttons:
                found[number] = min(found[number], 0.0)
        return found

    def _score(self, call: Call, fits: dict[str, float]) -> float:
        match call.name:
            case "click":
                return self._click(call)
            case "fill":
                return self._fill(call)
            case "select_option":
                return self._select(call)
            case "press":
                return self._press(call)
            case "send_msg_to_user":
                return self._tell(str(call.arguments[0]), fits)
            case "scroll":
                return SCROLL
            case "go_back":
                return BACK
            case "tab_focus":
                return TAB
        return 0.0

    # ------------------------------------------------------------------------------------ elements

    def _click(self, call: Call) -> float:
        assert call.target is not None
        role, name = call.target.role, call.target.name
        if role in TYPED:
            return FOLLOWED[role] + (0.0 if self._values else self._fit(name))
        own = set(stems(name)) | {name.casefold().strip(" .:*")} & SUBMITS
        index = self._index(call)
        fit = self._fit(name) / (2.0 if self._arrived and role == "link" else 1.0)
        score = FOLLOWED.get(role, 0.0) + fit + self._around(index, name)
        general = own & SUBMITS and len(own) <= 4 and not (own - SUBMITS) & self._words
        label = role not in LEADS and name.rstrip().endswith(":")
        if role != "link" and general and self._entries and not label:
            score = SUBMIT + score if self._filled else min(score, 0.0) - SUBMIT
        elif role == "button" and self._filled:
            score += SUBMIT / 2
        if own & RISKY and not own & RISKY & self._words:
            score -= 2.0
        if own & ASIDE and not own & self._words:
            score -= 1.0
        if index >= 0 and any(s in self._lines[index].states.split(", ") for s in ("checked", "selected")):
            score -= 3.0
        return score

    def _press(self, call: Call) -> float:
        """Return the score of pressing Enter in a field. With several fields, the button is preferred."""
        assert call.target is not None
        if not any(past.name == "fill" and past.target == call.target for past in self._here):
            return -SUBMIT
        alone = self._entries == 1 or is_search(call.target.role, call.target.name)
        return SUBMIT - 0.5 if alone else 0.0

    def _fill(self, call: Call) -> float:
        assert call.target is not None
        name, value = call.target.name, str(call.arguments[0])
        index = self._index(call)
        field = name or (self._lines.caption(index) if index >= 0 else "")
        score = FILL + CUED * self._cue(value, field)
        if is_search(call.target.role, name) or self._fields == 1:
            score += 1.0 + (0.5 if value in self._sought[:1] else 0.0)
        if call.target.role == "spinbutton":
            score += 1.0 if value.replace(".", "").isdigit() else -3.0
        if re.search(rf"(?<!\w){re.escape(value.casefold())}(?!\w)", self._title.casefold()):
            score -= 1.5  # The page already has it in its title.
        if value.casefold() in self._buttons:
            score -= 3.0  # A button has this name.
        if AMOUNTS & set(stems(name)) and value.isdigit():
            score += AMOUNT
        if SECRET.search(name) or SECRET_LIKE.fullmatch(value):
            score += 0.5
        if index >= 0 and self._lines[index].value in self._values:
            score -= 2.0  # The field already has a value of the task.
        if any(past.name == "fill" and past.arguments == call.arguments for past in self._here):
            score -= 1.5
        return score

    def _select(self, call: Call) -> float:
        assert call.target is not None
        option, index = str(call.arguments[0]), self._index(call)
        field = f"{call.target.name} {self._lines.caption(index) if index >= 0 else ''}"
        score = SELECT + self._fit(option) + CUED * self._cue(option, field) * self._verbatim(option)
        if any(past.name == call.name and past.target == call.target for past in self._here):
            score -= 4.0
        return score

    def _fit(self, name: str) -> float:
        """Return how well a name fits the task: the weight of shared words, reduced by the name's other words."""
        own = set(stems(name))
        shared = sum(self._weight[w] for w in own & self._words)
        alone = sum(1.0 / (1.0 + math.log(max(1, self._seen[w]))) for w in own - self._words)
        fit = shared * shared / (shared + alone) if shared else 0.0
        return 2.0 * min(fit, 2.5) + WHOLE * self._verbatim(name)

    def _verbatim(self, name: str) -> float:
        """Return 1 if the task contains the name, 0.5 for a name of one common word, 0 if it does not."""
        low = " ".join(name.casefold().split()).strip(" .:*")
        if not low or not re.search(rf"(?<!\w){re.escape(low)}(?!\w)", self._low):
            return 0.0
        if any(low == value.casefold() for value in self._values):
            return 1.0
        return 1.0 if len(low.split()) > 1 and stems(low) else 0.5 if stems(low) else 0.0

    def _around(self, index: int, name: str) -> float:
        """Return the score of the row or list item around an element."""
        if index < 0:
            return 0.0
        group = self._lines.group(index)
        text = self._lines.said(group) if group >= 0 else self._lines.beside(index)
        words = set(stems(text[:1000])) & self._words - set(stems(name))
        return 2.0 * BESIDE * min(sum(self._weight[w] for w in words), 2.5)

    def _cue(self, value: str, field: str) -> float:
        """Return how closely the task mentions the field before or after the value, from 1 (next to it) to 0 (not)."""
        wanted = label_stems(field)
        # A secret is written as its position among the values of the task.
        place = re.fullmatch(r"\[secret (\d+)\]", value)
        if place and int(place[1]) <= len(self._values):
            value = self._values[int(place[1]) - 1]
        at = self._low.find(value.casefold())
        if not wanted or at < 0:
            return 0.0
        before = tokens(self._low[:at])[::-1]
        after = tokens(self._low[at + len(value) :])
        if wanted & set(before[:2]):
            return 1.0
        return 0.7 if wanted & {*before[2:4], *after[:1]} else 0.4 if wanted & set(after[1:3]) else 0.0

    def _index(self, call: Call) -> int:
        assert call.target is not None
        return self._lines.labels.get(call.target.text[1:-1], -1)

    # ------------------------------------------------------------------------------------- telling

    def _tell(self, text: str, fits: dict[str, float]) -> float:
        wants = asks(self._goal)
        if text != DONE or (fits and wants):
            score = ANSWER + FIT * fits.get(text, -0.5) + (LOOKED * len(self._past) if self._past else EARLY)
            return score + (ARRIVED if self._arrived else 0.0) + (0.0 if wants else UNSURE)
        if wants:
            return ANSWER - 1.0
        score = FINISH
        if not self._past:
            return score
        last = self._past[-1][0]
        name = last.target.name if last.target else ""
        entered = any(_enters(call) for call, _ in self._past[:-1])
        kept = any(line.role in TYPED and line.value in self._values for line in self._lines)
        if not self._opened and _sends(last) and ((entered and not kept) or set(stems(name)) & self._words):
            score += SENT  # The form was sent and is not shown again, or the button is named in the task.
        if LOOKS & set(re.findall(r"[a-z]+", self._low)[:3]):
            score += THERE * len(self._called & self._special) / max(1, len(self._special))
            score += CAME * self._verbatim(name) if last.name == "click" else 0.0
        return score


def _past(recent: str) -> list[tuple[Call, str]]:
    """Return the last actions, oldest first, each with the page that it led to."""
    found: list[tuple[Call, str]] = []
    for line in recent.splitlines():
        if line.startswith("  ->") and found:
            found[-1] = (found[-1][0], line.rpartition(" ")[2])
        else:
            try:
                found.append((parse(line), ""))
            except UsageError:
                continue
    return found


def _this_page(past: list[tuple[Call, str]]) -> list[Call]:
    """Return the actions on the present page, newest first."""
    here: list[Call] = []
    for number in range(len(past) - 1, -1, -1):
        call, where = past[number]
        if number and past[number - 1][1] != where:
            break
        if number == 0 and call.name not in ("fill", "select_option", "press") and not _ticks(call):
            break
        here.append(call)
    return here


def _ticks(call: Call) -> bool:
    return call.name == "click" and call.target is not None and call.target.role in CHOSEN


def _enters(call: Call) -> bool:
    return call.name in ("fill", "select_option") or _ticks(call)


def _sends(call: Call) -> bool:
    if call.name == "press":
        return True
    return call.name == "click" and call.target is not None and call.target.role == "button"
