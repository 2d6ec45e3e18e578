"""The worker process of one BrowserGym environment. It reads a JSON request per line and writes a JSON reply per line.

It runs in a Python environment with BrowserGym, which needs an old Playwright, and imports nothing of this
project. It ends when its input ends. Requests, by `op`:

list    the names of installed tasks, and why benchmarks do not load
open    `task` such as "miniwob.click-test", `given` (arguments for making the task), `executable`, `hosts` (may be
        reached; null for all), `arguments` (more of them for the browser), `sandbox` (whether it is on), `secrets` (a
        script that finds the boxes for secrets in a frame), `requests` (most of them during one action)
reset   `seed`
step    `action` in BrowserGym's grammar, with elements by bid
picture `hidden`: bids of elements to cover

Pages are in the format of Playwright's accessibility snapshot, with bids as handles.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import importlib
import importlib.util
import json
import logging
import os
import pkgutil
import re
import sys
from typing import Any

MOST_NODES = 20_000
HOISTED = frozenset({"none", "presentation", "MenuListPopup", "RootWebArea", "Ignored", "IgnoredRole"})
"""Roles of invisible elements. Their children are treated as children of their parent."""
SKIPPED = frozenset({"InlineTextBox", "ListMarker", "LineBreak"})
ROLES = {
    "StaticText": "text", "image": "img", "LabelText": "generic", "Iframe": "iframe", "DisclosureTriangle": "summary",
    "searchbox": "searchbox", "TextField": "textbox", "Section": "generic", "Abbr": "generic", "SvgRoot": "img",
    "MenuListOption": "option", "DescriptionListTerm": "term", "DescriptionListDetail": "definition",
}  # fmt: skip
STATES = ("checked", "disabled", "expanded", "selected", "pressed", "level", "invalid")
TEXT_IS_NAME = frozenset({
    "button", "link", "tab", "option", "menuitem", "heading", "checkbox", "radio", "cell", "columnheader",
    "rowheader", "gridcell", "treeitem", "switch", "menuitemcheckbox", "menuitemradio", "summary",
})  # fmt: skip


class Messages:
    """Replaces BrowserGym's chat, which would open a second browser."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        self.recording_start_time = None

    def add_message(self, role: str, msg: str) -> None:
        """Store a message."""
        self.messages.append({"role": role, "timestamp": 0.0, "message": msg})

    def wait_for_user_message(self) -> None:
        """Return at once, because no user writes messages."""

    def close(self) -> None:
        """Do nothing."""


class Gym:
    """The one environment of this process."""

    def __init__(self) -> None:
        self._env: Any = None
        self._secrets = ""
        self._requests = self._most = 0
        self._heard = 0
        """Number of messages that were already reported, or were there at the beginning."""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request."""
        op = request["op"]
        self._requests = 0
        if op == "list":
            tasks, broken = known_tasks("")
            return {"tasks": tasks, "broken": broken}
        if op == "open":
            self._secrets, self._most = request["secrets"], request["requests"]
            return self.open(request)
        if op == "reset":
            seen, _ = self._env.reset(seed=request["seed"])
            self._env.context.on("request", lambda _: self.count())
            self._heard = len(seen["chat_messages"])
            return {"goal": str(seen["goal"]), **self.observation_reply(seen)}
        if op == "step":
            seen, reward, ended, cut, _ = self._env.step(request["action"])
            new = seen["chat_messages"][self._heard :]
            self._heard += len(new)
            said = [str(m["message"]) for m in new if m["role"] in ("user", "info") and m["message"]]
            ends = {"terminated": bool(ended), "truncated": bool(cut)}
            return {"reward": float(reward), **ends, "said": said, **self.observation_reply(seen)}
        if op == "picture":
            return {"picture": base64.b64encode(self.picture(request["hidden"])).decode()}
        raise ValueError(f"unknown request {op!r}")

    def count(self) -> None:
        """Count a request of a page. If there are too many, end the browser, and so the action.

        Requests that are sent between two actions are told during the next one, so they count as well.
        """
        self._requests += 1
        if self._requests == self._most + 1:
            with contextlib.suppress(Exception):
                self._env.browser.close()

    def excess(self) -> str:
        """Return a sentence if pages sent too many requests during the action, else ""."""
        too_many = self._requests > self._most > 0
        return f"the page went too far: more than {self._most} requests during one action" if too_many else ""

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make the environment. The browser starts with the first reset."""
        task, given, hosts = request["task"], request["given"], request["hosts"]
        tasks, broken = known_tasks(task)
        if task not in tasks:
            return {"missing": task, "tasks": tasks, "broken": broken}
        import browsergym.core.env
        import gymnasium
        from browsergym.core.action.highlevel import HighLevelActionSet

        browsergym.core.env.Chat = Messages
        # BrowserGym's own method changes the device's metrics for each picture, and the page loses its size.
        browsergym.core.env.extract_screenshot = lambda page: None
        add_arguments(request["arguments"])
        browser: dict[str, Any] = {
            "executable_path": request["executable"],
            "chromium_sandbox": request["sandbox"],
        }
        if hosts is not None:
            browser["proxy"] = {"server": "http://127.0.0.1:9", "bypass": ",".join(["<-loopback>", *hosts])}
        actions = HighLevelActionSet(
            subsets=["chat", "infeas", "bid", "coord", "nav", "tab"], multiaction=False
        )
        self._env = gymnasium.make(
            f"browsergym/{task}",
            headless=True,
            disable_env_checker=True,
            pre_observation_delay=0.1,
            slow_mo=0,
            pw_chromium_kwargs=browser,
            action_mapping=actions.to_python_code,
            **({"task_kwargs": given} if given else {}),
        ).unwrapped
        return {}

    def observation_reply(self, seen: dict[str, Any]) -> dict[str, Any]:
        """Return the reply for an observation."""
        page = self._env.page
        scale = float(getattr(page, "_bgym_scale_factor", 1.0)) or 1.0
        size = page.viewport_size or {"width": 1280, "height": 720}
        active = int(seen["active_page_index"][0])
        return {
            **self.secrets(),
            "url": str(seen["url"]),
            "title": str(seen["open_pages_titles"][active]),
            "tabs": [str(url) for url in seen["open_pages_urls"]],
            "active": active,
            "error": str(seen["last_action_error"]),
            "snapshot": snapshot(seen["axtree_object"], seen["extra_element_properties"], scale),
            "width": int(size["width"]),
            "height": int(size["height"]),
        }

    def secrets(self) -> dict[str, list[str]]:
        """Return the bids and the names of the boxes that take secrets."""
        bids, names = list[str](), list[str]()
        for frame in self._env.page.frames:
            with contextlib.suppress(Exception):  # A frame may be gone.
                found = frame.evaluate(self._secrets)
                bids += map(str, found["bids"])
                names += map(str, found["names"])
        return {"secret": bids, "fields": names}

    def picture(self, hidden: list[str]) -> bytes:
        """Return the page as JPEG, b"" if no picture can be taken."""
        page = self._env.page
        mask = [frame.locator(f'[bid="{bid}"]') for bid in hidden if bid.isalnum() for frame in page.frames]
        with contextlib.suppress(Exception):
            return bytes(page.screenshot(type="jpeg", quality=60, mask=mask, timeout=5000))
        return b""

    def close(self) -> None:
        """End the browser."""
        env, self._env = self._env, None
        with contextlib.suppress(Exception):
            if env is not None:
                env.close()


def add_arguments(further: list[str]) -> None:
    """Start every browser with further arguments. BrowserGym gives some of its own, and takes no others."""
    playwright: Any = importlib.import_module("playwright.sync_api")
    launch = playwright.BrowserType.launch

    def launch_with_them(self: Any, **given: Any) -> Any:
        return launch(self, **{**given, "args": [*(given.get("args") or ()), *further]})

    playwright.BrowserType.launch = launch_with_them


def known_tasks(task: str) -> tuple[list[str], dict[str, str]]:
    """Return the tasks of the benchmark of `task`, or of all installed ones for "", and the errors by benchmark.

    Benchmarks register their tasks when they are imported.
    """
    import browsergym
    import browsergym.core
    import gymnasium

    family = task.partition(".")[0]
    found = [module.name for module in pkgutil.iter_modules(browsergym.__path__)]
    wanted = [name for name in found if name not in ("core", "utils", "experiments")]
    if family in wanted:
        wanted = [family]
    elif task:
        wanted = []
    broken = {}
    for name in wanted:
        try:
            import_benchmark(name)
        except Exception as error:  # One broken benchmark must not hide the others.
            broken[name] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    names = (str(name) for name in gymnasium.envs.registry)
    tasks = sorted(name.removeprefix("browsergym/") for name in names if name.startswith("browsergym/"))
    return tasks, broken


def import_benchmark(name: str) -> None:
    """Import a benchmark, even if it would download something that only few of its tasks need.

    WebArena and related benchmarks load a tokenizer from the network at import, which only some comparisons
    of answers need.
    """
    if name != "miniwob" and importlib.util.find_spec("nltk"):
        nltk: Any = importlib.import_module("nltk")
        fetch = nltk.download
        nltk.download = lambda *given, **options: fetch(*given, **{**options, "raise_on_error": False})
        try:
            importlib.import_module(f"browsergym.{name}")
        finally:
            nltk.download = fetch
        return
    importlib.import_module(f"browsergym.{name}")


# ------------------------------------------------------------------------------------------- snapshot


def snapshot(tree: dict[str, Any], extra: dict[str, Any], scale: float = 1.0) -> str:
    """Return BrowserGym's accessibility tree in the format of Playwright's snapshot.

    Args:
        tree: `nodes` of Chromium's accessibility tree, the first one the root.
        extra: `bbox` and `clickable` by bid. Boxes are multiplied by `scale`.
    """
    nodes = {node["nodeId"]: node for node in tree["nodes"]}
    if not tree["nodes"]:
        return ""
    lines: list[str] = []
    waiting = [(tree["nodes"][0]["nodeId"], ElementSurroundings())]
    seen: set[str] = set()
    while waiting and len(lines) < MOST_NODES:
        at, above = waiting.pop()
        node = nodes.get(at)
        if node is None or at in seen:
            continue
        seen.add(at)
        role = str(node["role"]["value"])
        if role in SKIPPED:
            continue
        below, inside = above, node.get("childIds", [])
        if not (node.get("ignored") or role in HOISTED):
            about = extra.get(str(node.get("browsergym_id", "")), {})
            box = _box(about, scale, above.corner)
            line, name = _line(node, role, about, box or above.box)
            # A text has no box of its own. If it is an only child, it has its parent's box.
            below = dataclasses.replace(above, box=box if len(inside) == 1 else "")
            said = role == "StaticText" and above.role in TEXT_IS_NAME and name in above.name
            empty = ROLES.get(role, role) == "generic" and not name and not about.get("clickable")
            if not said and not empty:
                lines.append("  " * above.depth + line)
                shown = ROLES.get(role, role)
                corner = _corner(about, scale) if shown == "iframe" else above.corner
                below = ElementSurroundings(above.depth + 1, corner or above.corner, name, shown, below.box)
        waiting += [(child, below) for child in reversed(inside)]
    return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class ElementSurroundings:
    """The surroundings of an element: depth, corner of the frame, name and role of the parent, and a box for texts."""

    depth: int = 0
    corner: tuple[float, float] = (0.0, 0.0)
    name: str = ""
    role: str = ""
    box: str = ""


def _corner(about: dict[str, Any], scale: float) -> tuple[float, float] | None:
    box = about.get("bbox")
    return (float(box[0]) / scale, float(box[1]) / scale) if box else None


def _box(about: dict[str, Any], scale: float, corner: tuple[float, float]) -> str:
    """Return an element's box relative to the corner of its frame, "" if it has none."""
    if not about.get("bbox"):
        return ""
    x, y, width, height = (float(v) / scale for v in about["bbox"])
    return f" [box={x - corner[0]:g},{y - corner[1]:g},{width:g},{height:g}]"


def _line(node: dict[str, Any], role: str, about: dict[str, Any], box: str) -> tuple[str, str]:
    """Return an element's line and its name."""
    name = " ".join(str(node.get("name", {}).get("value", "")).split())
    value = " ".join(str(node.get("value", {}).get("value", "")).split())
    shown = ROLES.get(role) or re.sub(r"[^a-z]", "", role.lower()) or "generic"
    if shown == "text":
        return f"- text{box}: {json.dumps(name)}", name
    key = shown + (f" {json.dumps(name)}" if name else "")
    for state in node.get("properties", ()):
        given = state["value"].get("value")
        if state["name"] in STATES and given not in (False, "false", None, ""):
            plain = given is True or given == "true"
            key += f" [{state['name']}]" if plain else f" [{state['name']}={given}]"
    bid = str(node.get("browsergym_id", ""))
    if bid:
        key += f" [ref={bid}]" + (" [cursor=pointer]" if about.get("clickable") else "") + box
    quoted = key.replace("'", "''")
    return f"- '{quoted}'" + (f": {json.dumps(value)}" if value and value != name else ":"), name


def main() -> int:
    """Answer requests until the input ends."""
    logging.disable(logging.CRITICAL)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # Printed text must not mix with replies.
    sys.stdout = sys.stderr
    gym = Gym()
    for line in sys.stdin:
        try:
            reply = gym.answer(json.loads(line))
        except Exception as error:
            reply = {"failed": gym.excess() or f"{type(error).__name__}: {error}"[:2000]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    gym.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
