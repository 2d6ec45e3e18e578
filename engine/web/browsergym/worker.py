"""One BrowserGym environment in a process of its own: one JSON request a line in, one JSON reply a line out.

Runs in an environment that has BrowserGym, for it wants an old Playwright; imports nothing of this project. Ends with
its input. Requests, by `op`:

list    names of the tasks that are installed, and of benchmarks that do not load why
open    `task` such as "miniwob.click-test", `given` (what the task is to be made with), `executable`, `hosts` (what may
        be reached; null for everything), `secrets` (a script that finds the boxes for secrets in a frame)
reset   `seed`
step    `action` in BrowserGym's grammar, elements by their bid
picture `hidden`: bids to be painted over

A page comes in the format of Playwright's accessibility snapshot, bids as its handles.
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
"""Roles that stand for nothing a person sees; what is in them counts as their parent's."""
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
    """BrowserGym's chat without the second browser that it draws it in."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        self.recording_start_time = None

    def add_message(self, role: str, msg: str) -> None:
        """Keep a message."""
        self.messages.append({"role": role, "timestamp": 0.0, "message": msg})

    def wait_for_user_message(self) -> None:
        """Nobody will write one."""

    def close(self) -> None:
        """Nothing is open."""


class Gym:
    """The one environment of this process."""

    def __init__(self) -> None:
        self._env: Any = None
        self._secrets = ""
        self._heard = 0
        """Messages that were told of, or were there at the beginning."""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request."""
        op = request["op"]
        if op == "list":
            tasks, broken = known("")
            return {"tasks": tasks, "broken": broken}
        if op == "open":
            self._secrets = request["secrets"]
            return self.open(request["task"], request["given"], request["executable"], request["hosts"])
        if op == "reset":
            seen, _ = self._env.reset(seed=request["seed"])
            self._heard = len(seen["chat_messages"])
            return {"goal": str(seen["goal"]), **self.told(seen)}
        if op == "step":
            seen, reward, ended, cut, _ = self._env.step(request["action"])
            new = seen["chat_messages"][self._heard :]
            self._heard += len(new)
            said = [str(m["message"]) for m in new if m["role"] in ("user", "info") and m["message"]]
            ends = {"terminated": bool(ended), "truncated": bool(cut)}
            return {"reward": float(reward), **ends, "said": said, **self.told(seen)}
        if op == "picture":
            return {"picture": base64.b64encode(self.picture(request["hidden"])).decode()}
        raise ValueError(f"unknown request {op!r}")

    def open(
        self, task: str, given: dict[str, str], executable: str, hosts: list[str] | None
    ) -> dict[str, Any]:
        """Make the environment; the browser starts with the first reset."""
        tasks, broken = known(task)
        if task not in tasks:
            return {"missing": task, "tasks": tasks, "broken": broken}
        import browsergym.core.env
        import gymnasium
        from browsergym.core.action.highlevel import HighLevelActionSet

        browsergym.core.env.Chat = Messages
        # Its own way changes the device's metrics for each picture, and the page loses its size.
        browsergym.core.env.extract_screenshot = lambda page: None
        browser: dict[str, Any] = {"executable_path": executable}
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

    def told(self, seen: dict[str, Any]) -> dict[str, Any]:
        """Return what is to be known of an observation."""
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
        """Return the page as JPEG, b"" where it cannot be taken."""
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


def known(task: str) -> tuple[list[str], dict[str, str]]:
    """Return the tasks of the benchmark that a task is of, of all that are installed for ""; and benchmark to why it
    does not load.

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
        except Exception as error:  # One that lacks something must not hide the others.
            broken[name] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    names = (str(name) for name in gymnasium.envs.registry)
    tasks = sorted(name.removeprefix("browsergym/") for name in names if name.startswith("browsergym/"))
    return tasks, broken


def import_benchmark(name: str) -> None:
    """Import a benchmark, also where it wants to fetch what few of its tasks are judged with.

    WebArena and its kin load a tokenizer from the network, or do not load; only parts of answers need it.
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
        extra: bid to `bbox` and `clickable`; boxes are multiplied by `scale`.
    """
    nodes = {node["nodeId"]: node for node in tree["nodes"]}
    if not tree["nodes"]:
        return ""
    lines: list[str] = []
    waiting = [(tree["nodes"][0]["nodeId"], Above())]
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
            # Text has no box of its own; alone in something, it has that one's.
            below = dataclasses.replace(above, box=box if len(inside) == 1 else "")
            said = role == "StaticText" and above.role in TEXT_IS_NAME and name in above.name
            empty = ROLES.get(role, role) == "generic" and not name and not about.get("clickable")
            if not said and not empty:
                lines.append("  " * above.depth + line)
                shown = ROLES.get(role, role)
                corner = _corner(about, scale) if shown == "iframe" else above.corner
                below = Above(above.depth + 1, corner or above.corner, name, shown, below.box)
        waiting += [(child, below) for child in reversed(inside)]
    return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Above:
    """What an element is in: its depth, the corner of its frame, the name and role around it, a box for bare text."""

    depth: int = 0
    corner: tuple[float, float] = (0.0, 0.0)
    name: str = ""
    role: str = ""
    box: str = ""


def _corner(about: dict[str, Any], scale: float) -> tuple[float, float] | None:
    box = about.get("bbox")
    return (float(box[0]) / scale, float(box[1]) / scale) if box else None


def _box(about: dict[str, Any], scale: float, corner: tuple[float, float]) -> str:
    """Return an element's box, counted from the corner of its frame; "" where it has none."""
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
    """Answer until the input ends."""
    logging.disable(logging.CRITICAL)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # Whatever is printed is no reply.
    sys.stdout = sys.stderr
    gym = Gym()
    for line in sys.stdin:
        try:
            reply = gym.answer(json.loads(line))
        except Exception as error:
            reply = {"failed": f"{type(error).__name__}: {error}"[:2000]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    gym.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
