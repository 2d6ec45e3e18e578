"""WebRL's dialect: the prompt of its checkpoints, and the actions that their answers stand for.

The prompt is the text that the checkpoints were trained on, special tokens of Llama 3 included, for a server that
continues text. The published evaluation sends the same text to the checkpoint on GLM-4.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import UsageError
from engine.web.actions import Call, Target
from engine.web.browser import snapshot
from engine.web.browser.snapshot import PageNode, plain_name
from engine.web.choices import DONE
from engine.web.drawing.text import GOAL
from engine.web.webrl import calls
from engine.web.webrl.html import HEIGHT, plain, simplify

USER = "<|eot_id|><|start_header_id|>user<|end_header_id|>"
ASSISTANT = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>"
EARLIER_PAGE = "** Simplified html **"
"""Stands in place of the page in earlier rounds, except the first, which has the task."""
SCROLLED = HEIGHT * 2 // 3
"""CSS pixels that a page is scrolled by, as published."""
ACTIONS = (
    "Click", "Hover", "Type", "Search", "Select Dropdown Option", "Scroll Up", "Scroll Down", "Press Enter",
    "Switch Tab", "Wait", "Go Backward", "Go Forward",
)  # fmt: skip
"""The actions of `do` that can be taken."""


class WebrlScene:
    """A page in WebRL's dialect. Implements `engine.llm.dialect.Scene`.

    Args:
        present: The situation as text for prompts; its first line has the task.
        page: The page as a snapshot.
    """

    stops = (calls.END,)
    nothing = Call("noop").text

    def __init__(self, present: str, page: str) -> None:
        self._task = plain(present.partition("\n")[0].removeprefix(GOAL))
        self._tree = snapshot.parse(page)
        self._page = simplify(self._tree)

    def prompt(self, said: Sequence[str], most: int) -> str:
        """Return the prompt: the task, the rounds so far, and the page, which is cut at its end."""
        history = "".join(
            _round(number, EARLIER_PAGE if number else self._task, answer) for number, answer in enumerate(said)
        )
        page = self._page.text[: max(0, most - len(history))]
        return f"Task Instruction: {self._task}\n\n{history}{_round(len(said), page)}"

    def actions(self, answer: str) -> tuple[str, ...]:
        """Return the actions that an answer stands for: two for a search (type, Enter), else one.

        Raises:
            UsageError: It stands for none.
        """
        said = calls.parse(answer)
        if said.name == "do":
            return tuple(call.text for call in self._done(said))
        if said.name == "exit":
            return (Call("send_msg_to_user", None, (said.given.get("message", "").strip() or DONE,)).text,)
        if said.name == "quote":
            return (self.nothing,)  # The quotation stays in the history.
        return (Call({"go_backward": "go_back"}.get(said.name, said.name)).text,)

    def _done(self, said: calls.WebCall) -> tuple[Call, ...]:
        match said.need("action").strip().casefold():
            case "click":
                return (Call("click", self._target(said)),)
            case "hover":
                return (Call("hover", self._target(said)),)
            case "type":
                return (Call("fill", self._target(said), (said.need("argument"),)),)
            case "search":
                target = self._target(said)
                return Call("fill", target, (said.need("argument"),)), Call("press", target, ("Enter",))
            case "select dropdown option":
                return (Call("select_option", self._target(said), (self._option(said),)),)
            case "scroll up":
                return (Call("scroll", None, (0, -SCROLLED)),)
            case "scroll down":
                return (Call("scroll", None, (0, SCROLLED)),)
            case "press enter":
                return (Call("keyboard_press", None, ("Enter",)),)
            case "switch tab":
                tab = said.need("argument").strip()
                if not tab.isdecimal():
                    raise UsageError(f"the tab {tab[:40]!r} is no number")
                return (Call("tab_focus", None, (int(tab[:4]),)),)
            case "wait":
                return (Call("noop"),)
            case "go backward":
                return (Call("go_back"),)
            case "go forward":
                return (Call("go_forward"),)
        raise UsageError(f"there is no action {said.given['action'][:40]!r}; there are: {', '.join(ACTIONS)}")

    def _node(self, said: calls.WebCall) -> PageNode:
        number = said.need("element").strip()
        if number not in self._page.elements:
            raise UsageError(f"the page has no element with the id {number[:40]!r}")
        return self._page.elements[number]

    def _target(self, said: calls.WebCall) -> Target:
        node = self._node(said)
        return Target(node.role, plain_name(node.name), node.ordinal if node.twins > 1 else 0)

    def _option(self, said: calls.WebCall) -> str:
        """Return the first option that contains the wanted text, as published; the text itself if none does."""
        wanted, node = said.need("argument"), self._node(said)
        return next((one for one in self._options(node) if wanted.casefold() in one.casefold()), wanted)

    def _options(self, node: PageNode) -> list[str]:
        children = self._tree.children(self._tree.nodes.index(node))
        return [child.name for child in children if child.role == "option"]


def _round(number: int, seen: str, answer: str | None = None) -> str:
    end = "" if answer is None else f"{answer.split(calls.END)[0].replace('<|', '< |')}\n\n"
    return f"Round {number}\n\n{USER}\n{seen}\n\n{ASSISTANT}\n{end}"

