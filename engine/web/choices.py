"""Lists the actions that a page offers, with the texts to type taken from the task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

from engine.web.actions import Call, Target
from engine.web.browser.snapshot import PLAIN, Page, PageNode, plain_name
from engine.web.dates import dates_in, fits, shape
from engine.web.drawing.lines import lines_of
from engine.web.states.words import STOP, label_stems, stems, tokens, topics
from engine.web.tasks.answers import rank_answers

CLICKED = frozenset({
    "button", "link", "checkbox", "radio", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "switch",
    "treeitem", "gridcell", "option", "summary",
})  # fmt: skip
TYPED = frozenset({"textbox", "searchbox", "spinbutton"})
SELECTED = frozenset({"combobox", "listbox", "slider"})
CONTROLS = CLICKED | TYPED | SELECTED
MOST_INSIDE = 12
"""Most elements inside a clickable plain element. With more, it is taken for a part of the page, not a control."""
SECRET = re.compile(r"(?i)pass(word|wd|phrase|code)|secret|\bpin\b|cvv|cvc|api.?key|token")
SEARCH = re.compile(r"(?i)search|find|look up|query|keyword|^q$|filter")
MOST = 300
MOST_OPTIONS = 40
"""Options of one list. Of a longer one those with a word of the task come first, the word in the fewest of them."""
DONE = "done"
SECRET_VALUE = "[secret {}]"
SECRET_LIKE = re.compile(r"\[(?:typed )?secret \d+\]")
"""What stands for a secret in actions."""
_QUOTED = re.compile(r"\"([^\"]{1,80})\"|“([^”]{1,80})”|(?<!\w)'([^']{1,80})'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.])\$?(\d+(?:[.,/:-]\d+)*)(?![\w])")
_NAME = r"[A-Z][\w'-]*(?:\s+(?:&\s+)?[A-Z0-9][\w'.-]*)*"
_NAMED = re.compile(rf"(?<![.?!] )(?<!^)\b(?!I\b)({_NAME})")
_WHOLE = re.compile(
    rf"(?<![\w.])(\d+[a-z]? {_NAME}|\d[\d./-]* \d\d?:\d\d(?::\d\d)?|-?\d+\.\d+, ?-?\d+\.\d+)(?!\w)"
)
"""A number with the name after it, as in addresses and dates; a date with its time; a point by its coordinates."""
_JOINED = re.compile(rf"(?<![.?!] )(?<!^)\b(?!I\b)({_NAME}(?:(?: (?:of|at|and|the))+ {_NAME})+)")
"""Names with small words between them, which may be one name."""
_MARKED = re.compile(r"(?<!\S)((?=[^\s,;]*[^\W\d_])[^\s,;]*[_/@][^\s,;]*[\w/])")
"""A word with a sign that ordinary words do not have: a user name, a path, an address."""
MOST_VALUES = 12
_NAME_PARTS = {0: re.compile(r"(?i)\b(first|given)\b"), -1: re.compile(r"(?i)\b(last|family)\b|surname")}
"""Fields for a part of a person's name, by the word of the name."""


def values_of(intent: str) -> tuple[str, ...]:
    """Return up to 12 texts of a task that may have to be typed, in order: quotes, capitalised names, numbers."""
    found: list[tuple[int, str]] = []
    for match in _QUOTED.finditer(intent):
        found.append((match.start(), next(filter(None, match.groups()))))
    rest = _QUOTED.sub(lambda m: " " * len(m.group()), intent)
    found += [(m.start(), m.group(1).rstrip(".,")) for m in _NAMED.finditer(rest)]
    patterns = (_NUMBER, _WHOLE, _JOINED, _MARKED)
    found += [(m.start(), m.group(1).rstrip(".,")) for pattern in patterns for m in pattern.finditer(rest)]
    found.sort(key=lambda each: (each[0], -len(each[1])))  # the whole before its parts
    return tuple(dict.fromkeys(value for _, value in found))[:MOST_VALUES]


def labelled_texts(intent: str, field: str) -> tuple[str, ...]:
    """Return the texts that a task has right after a word of a field's name, as in "the tag tested" for "Tag"."""
    wanted, words, found = label_stems(field), intent.split(), []
    for number, word in enumerate(words[:-1]):
        if wanted & set(tokens(word)) and word[-1].isalnum():
            after = []
            for each in words[number + 1 :]:
                plain = each.strip(".,;:?!\"“”'()")
                if not plain or plain.casefold() in STOP:
                    break
                after.append(plain)
                if each[-1] in ".,;:?!":
                    break
            found += [" ".join(after)] if after else []
    return tuple(dict.fromkeys(found))


def _parts(field: str, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first or last words of the names among the values, if the field is for such a part of a name."""
    names = [value.split() for value in values if re.fullmatch(r"[^\W\d]+( [^\W\d]+)+", value)]
    return tuple(name[at] for at, asked in _NAME_PARTS.items() if asked.search(field) for name in names)


def is_search(role: str, name: str) -> bool:
    """Whether text typed into the element starts a search."""
    return role == "searchbox" or (role in TYPED and bool(SEARCH.search(name)))


def is_secret(node: PageNode) -> bool:
    """Whether text typed into the element is secret, as in a password box.

    The browser says so of boxes on real pages. Pages that were stored by earlier versions have labels only.
    """
    return node.secret or (node.role in TYPED and bool(SECRET.search(node.name)))


def is_plain_control(page: Page, index: int) -> bool:
    """Whether a small element can be clicked although its role is not that of a control."""
    node = page.nodes[index]
    if not node.clickable or not node.ref or node.role not in PLAIN:
        return False
    after = page.nodes[index + 1 : index + 2 + MOST_INSIDE]
    return len(after) <= MOST_INSIDE or any(each.depth <= node.depth for each in after)


def with_controls(page: Page) -> list[bool]:
    """Return for each node whether it contains a control."""
    found = [False] * len(page.nodes)
    for node in page.nodes:
        if node.ref and node.role in CONTROLS:
            above = node.parent
            while 0 <= above < len(found) and not found[above]:
                found[above] = True
                above = page.nodes[above].parent
    return found


def _target(node: PageNode) -> Target:
    return Target(node.role, plain_name(node.name), node.ordinal if node.twins > 1 else 0)


def leads_out(page: Page, node: PageNode, allows: Callable[[str], bool]) -> bool:
    """Whether an element is a link to a page that may not be opened."""
    if not node.url:
        return False
    try:
        target = urljoin(page.url, node.url)
        return urlsplit(target).scheme in ("http", "https") and not allows(target)
    except ValueError:  # What is written there is no address.
        return False


def possible_actions(
    page: Page,
    intent: str,
    *,
    answers: bool = True,
    back: bool = True,
    allows: Callable[[str], bool] = lambda url: True,
) -> tuple[str, ...]:
    """Return the actions that are possible on a page, in reading order, then those that every page has.

    At most `MOST` come from the page's elements. Texts to type come from the task. Answers to a question come from
    the page (`engine.web.tasks.answers`); for a task that is no question the only answer is "done".

    Args:
        page: The page.
        intent: The task in words.
        answers: Whether a message to the user ends the task.
        back: Whether there is a page to go back to.
        allows: Whether an address may be opened. Links to others are not offered.
    """
    values, searched = values_of(intent), topics(intent)
    actions: list[str] = []
    inner = with_controls(page)
    for index, node in enumerate(page.nodes):
        if node.ref and not node.state("disabled") and not leads_out(page, node, allows):
            actions += _of(page, index, node, intent, values, searched)
            if not inner[index] and is_plain_control(page, index):
                actions.append(Call("click", _target(node)).text)
    actions = list(dict.fromkeys(actions))[:MOST]
    actions.append(Call("scroll", None, (0, 600)).text)
    if back:
        actions.append(Call("go_back").text)
    if answers:
        said = [answer.text for answer in rank_answers(lines_of(page, is_secret), intent, page.title)]
        actions += [Call("send_msg_to_user", None, (answer,)).text for answer in (*said, DONE)]
    return tuple(dict.fromkeys(actions))


def _before(page: Page, index: int) -> str:
    """Return what a field without a name is called: the text right before it."""
    said = ((node.name or node.value) for node in reversed(page.nodes[:index]) if node.role not in TYPED | SELECTED)
    return next(filter(None, said), "")


def _of(
    page: Page, index: int, node: PageNode, intent: str, values: tuple[str, ...], searched: tuple[str, ...]
) -> list[str]:
    target = _target(node)
    if node.role in TYPED:
        secret = is_secret(node)
        called = node.name or _before(page, index)
        more = searched if is_search(node.role, called) else labelled_texts(intent, called)
        texts = tuple(dict.fromkeys((*values, *_parts(called, values), *more)))
        if node.role == "spinbutton":
            texts = tuple(text for text in texts if _NUMBER.fullmatch(text))
        if form := node.state("format") or shape(node.value):
            others = (text for text in texts if not node.state("format") or fits(text, form))
            texts = tuple(dict.fromkeys((*dates_in(intent, form), *others)))
        if secret:
            texts = tuple(SECRET_VALUE.format(i + 1) for i in range(len(values)))
        found = [Call("fill", target, (text,)).text for text in texts if secret or text != node.value]
        found.append(Call("click", target).text)  # A click may open a calendar or a list.
        return [*found, Call("press", target, ("Enter",)).text] if node.value else found
    if node.role in ("combobox", "listbox"):
        options = [c for c in page.children(index) if c.role == "option"]
        if len(options) > MOST_OPTIONS:
            words = set(stems(intent))
            shared = [words & set(stems(option.name)) for option in options]
            often = Counter(word for each in shared for word in each)
            rarest = [min((often[word] for word in each), default=len(options) + 1) for each in shared]
            options = [options[at] for at in sorted(range(len(options)), key=rarest.__getitem__)[:MOST_OPTIONS]]
        if options:
            return [
                Call("select_option", target, (c.name,)).text
                for c in options
                if c.name and not c.state("selected")
            ]
        texts = tuple(SECRET_VALUE.format(i + 1) for i in range(len(values))) if node.secret else tuple(values)
        return [Call("click", target).text, *(Call("fill", target, (text,)).text for text in texts)]
    return [Call("click", target).text] if node.role in CLICKED else []
