"""Web pages as an environment."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.environment import Abstractor, Environment, VisiblePage
from engine.errors import GameError, UsageError
from engine.records import EnvironmentInfo, Observation
from engine.redaction import REDACTED, clean, hide, without_credentials
from engine.web.actions import ENDING, Call, normalise, parse, resolve
from engine.web.browser.driver import Driver
from engine.web.browser.driver_base import BrowserDriver, PageRules
from engine.web.browser.limits import BrowserLimits
from engine.web.browser.network import gate_for
from engine.web.browser.pages import secret_handles, snapshot_text
from engine.web.browser.signing_in import sign_in
from engine.web.browser.snapshot import Page, PageNode, Seen
from engine.web.browser.url import pattern, query_values
from engine.web.choices import (
    SECRET,
    SECRET_LIKE,
    SECRET_VALUE,
    is_secret,
    labelled_texts,
    possible_actions,
    values_of,
)
from engine.web.drawing import text as texts
from engine.web.records import Assignment
from engine.web.states.state import WebAbstractor

if TYPE_CHECKING:
    from engine.llm.model import Model
    from engine.web.tasks.judge import TaskJudge

ANSWER = 2000


class WebEnvironment(Environment):
    """One task on web pages.

    The browser is started once, and each episode has a new context. If the browser dies, the episode ends
    with a message, and the next episode starts a new browser.

    Args:
        executable: Path of a Chromium.
        judge: Judges at the end whether the task was done. If None, each episode has the score 0.
        rules: Reads the reward from the page itself (MiniWoB++); None for other pages.
        driver: A driver with a browser of its own; None starts `executable`.
        scope: Key of the memory that belongs to it.
        repeatable: Whether each episode begins with the same state of the sites, because the judge resets
            them or they store nothing.

    Attributes:
        driver: What drives the browser.

    Raises:
        GameError: The browser does not start.
    """

    def __init__(
        self,
        assignment: Assignment,
        executable: str,
        *,
        scope: str,
        judge: TaskJudge | None = None,
        rules: PageRules | None = None,
        driver: BrowserDriver | None = None,
        limits: BrowserLimits | None = None,
        on_close: Callable[[], None] | None = None,
        repeatable: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        title = texts.clean(f"{assignment.id}: {assignment.intent}" if assignment.intent else assignment.id)[:120]
        start = without_credentials(assignment.start_urls[0])
        self.info = EnvironmentInfo(
            assignment.id, title, scope, 1.0, start, repeatable=repeatable, task=assignment.id
        )
        self._assignment = assignment
        self._judge = judge
        self._rules = rules
        self._clock = clock
        self._spent = 0.0
        """Seconds spent in the browser in this episode."""
        self._on_close = on_close
        self._intent = assignment.intent
        self._secrets: set[str] = {
            value
            for form in assignment.sign_in
            for label, value in form.labels.items()
            if SECRET.search(label)
        }
        self._typed: dict[str, str] = {}
        self._moved = False
        """Whether this episode has left the page it began on."""
        self._answers = rules is None
        """Whether the task may ask for a message to the user."""
        self._passes_on = False
        """Whether messages to the user are passed to the driver, which then decides when the episode ends."""
        self._seen = Seen(Page())
        self._begun = ""
        self._last: Observation | None = None
        self._answer = ""
        self._moves = 0
        self._picture: bytes | None = None
        """The picture of the present page, None if none was taken yet."""
        self._looked = 0
        """Number of HAR entries that `sight` has already returned."""
        urls = [
            *assignment.start_urls,
            *assignment.sites.values(),
            *(form.url for form in assignment.sign_in),
        ]
        try:
            self.driver: BrowserDriver = driver or Driver(
                executable, gate_for(urls, assignment.hosts, assignment.moved), limits
            )
        except BaseException:
            if on_close is not None:
                on_close()
            raise

    @property
    def page(self) -> Page:
        """The page seen last."""
        return self._seen.page

    @property
    def entries(self) -> list[dict[str, Any]]:
        """HAR entries of the episode so far."""
        return self.driver.traffic.entries

    def reset(self, seed: int) -> Observation:
        """Begin an episode in a new context.

        Raises:
            GameError: The browser cannot be restarted.
        """
        self._answer, self._moves, self._last, self._looked = "", 0, None, 0
        self._moved, began = False, self._clock()
        self._typed.clear()
        self._intent = self._assignment.intent
        if self._judge is not None:
            self.driver.leave()  # Pages of the former episode must not change the sites after they are reset.
            self._judge.begin()
        starts = self._assignment.start_urls
        signed_in, trouble = sign_in(self.driver, self._assignment.sign_in, starts, self._secrets)
        self._take(signed_in or self.driver.begin(starts))
        if self._rules is not None:
            self._intent = self._rules.begin(self.driver, seed)
            self._take(self.driver.look())
        self._begun = self._seen.page.url
        self._last = self._observe("\n".join(filter(None, [trouble, self._said()])), changed=True)
        self._spent = self._clock() - began
        return self._last

    def step(self, action: str) -> Observation:
        """Take one action. If it is invalid, the text of the observation says why.

        Raises:
            GameError: `reset` was not called before.
        """
        before = self._last
        if before is None:
            raise GameError("the episode has not begun; reset comes first")
        if before.over:
            return before
        self._moves, began = self._moves + 1, self._clock()
        try:
            call = self._revealed(parse(action))
        except UsageError as error:
            self._last = self._observe(f"Error: {error}.", changed=False)
            return self._last
        try:
            if call.name in ENDING and not self._passes_on:
                self._answer = str(call.arguments[0])[:ANSWER]
                return self._finish(call)
            self._take(self.driver.look() if call.name == "noop" else self.driver.act(call))
            if self._rules is not None:
                reward = self._rules.reward(self.driver)
                if reward is not None:
                    cut = self._rules.truncated(self.driver)
                    return self._end(
                        self._page_score(reward), f"the page gave the reward {reward:.2f}", truncated=cut
                    )
        except GameError as error:
            self._last = dataclasses.replace(
                self._end(0.0, f"{error}; the episode ends here", truncated=True), failed=True
            )
            return self._last
        self._spent += self._clock() - began
        limit = self.driver.limits.episode
        if self._spent > limit:
            return self._end(0.0, f"the pages took more than {limit:.0f} s of it", truncated=True)
        self._moved = self._moved or self._seen.page.url != self._begun
        self._last = self._observe(self._said(), changed=self._hash() != before.world_hash)
        return self._last

    def conclude(self) -> Observation:
        """Return the last observation. It is won if the sites show that the task was done (WebArena's own checks).

        Raises:
            GameError: `reset` was not called before.
        """
        last = self._last
        if last is None:
            raise GameError("the episode has not begun; reset comes first")
        if not last.over and self._judge is not None and not self._judge.wants_answer:
            with contextlib.suppress(GameError):  # A browser that is gone has no page.
                if self._verdict()[0] == 1.0:
                    return self._end(1.0, "the task was done, though nobody said so")
        return last

    def valid_actions(self) -> tuple[str, ...]:
        """Return the possible actions on the page that can be listed; () if the episode is over."""
        if self._last is None or self._last.over:
            return ()
        back = self._answers and self._moved
        found = possible_actions(
            self._seen.page, self._intent, answers=self._answers, back=back, allows=self.driver.gate.allows
        )
        tabs = [
            Call("tab_focus", None, (i,)).text for i in range(len(self._seen.tabs)) if i != self._seen.active
        ]
        return tuple(hide(action, self._secrets) for action in (*found, *tabs))

    def normalised(self, action: str) -> str:
        """Return an action in the form stored in memory, with its element by role and name.

        Raises:
            UsageError: It is not an action, or its element is not on the page.
        """
        return normalise(parse(action), self._seen.page)

    def resolve(self, action: str) -> str | None:
        """Return an action in the form stored in memory, None if it cannot be taken on this page.

        A text that is typed into a password box is held separately during this episode, and the action has a
        placeholder instead. It is not written anywhere else.
        """
        try:
            call = parse(action)
            if any(REDACTED in str(argument) for argument in call.arguments):
                return None
            node = resolve(call.target, self._seen.page) if call.target is not None else None
            if node is not None and node.state("disabled"):
                return None
            if (box := self._secret_box(call, node)) is not None:
                given = str(call.arguments[0])
                if given not in self._known_secrets():
                    if SECRET_LIKE.fullmatch(given):
                        return None  # Typed in another episode, so it is not known here.
                    self._typed[given := f"[typed secret {len(self._typed) + 1}]"] = str(call.arguments[0])
                    self._hide(str(call.arguments[0]), box)
                call = Call(call.name, call.target, (given,))
            elif self._has_secret(call) or not self._reachable(call):
                return None
            return normalise(call, self._seen.page)
        except UsageError:
            return None

    def secrets(self) -> frozenset[str]:
        """Return what was typed into boxes for secrets, or was seen in them: it is told, recorded and kept nowhere."""
        return frozenset(self._secrets)

    def _secret_box(self, call: Call, node: PageNode | None) -> PageNode | None:
        """Return the box for secrets that a call writes into: its element, or else the one that has the focus."""
        if node is None and call.name in ("keyboard_type", "keyboard_press"):
            node = next((each for each in self._seen.page.nodes if each.state("active") and each.ref), None)
        if node is None or not is_secret(node):
            return None
        writes = call.name in ("fill", "keyboard_type")
        if call.name in ("press", "keyboard_press"):  # A key with a name, such as Enter, is none of the text.
            writes = len(given := str(call.arguments[0])) == 1 or bool(SECRET_LIKE.fullmatch(given))
        return node if writes else None

    def _hide(self, typed: str, box: PageNode) -> None:
        """Keep a text secret from now on. A word of the task is none, unless the task says it is for this box."""
        if not self._is_in_task(typed) or any(typed in given for given in labelled_texts(self._intent, box.name)):
            self._secrets.add(typed)

    def _is_in_task(self, text: str) -> bool:
        """Return whether the task shows a text."""
        return hide(self._intent, (text,)) != self._intent

    def _has_secret(self, call: Call) -> bool:
        """Return whether a call has a secret among its texts."""
        return any(hide(str(given), self._secrets) != str(given) for given in call.arguments)

    def _reachable(self, call: Call) -> bool:
        if call.name == "goto":
            return self.driver.gate.allows(str(call.arguments[0]))
        if call.name == "tab_focus":
            return 0 <= int(float(str(call.arguments[0]))) < len(self._seen.tabs)
        return True

    def _known_secrets(self) -> dict[str, str]:
        """Return the secrets by placeholder: those of the task, and those typed in this episode."""
        given = {SECRET_VALUE.format(i + 1): value for i, value in enumerate(values_of(self._intent))}
        return {**given, **self._typed}

    def save(self) -> bytes:
        """Refuse, because the state of a site is on its server.

        Raises:
            GameError: Always.
        """
        raise GameError("a web page cannot be saved and gone back to: what was sent to the site stays sent")

    def restore(self, saved: bytes) -> Observation:
        """Refuse, like `save`.

        Raises:
            GameError: Always.
        """
        raise GameError("a web page cannot be gone back to: what was sent to the site stays sent")

    def abstractor(self) -> Abstractor:
        """Return a new abstractor for pages."""
        return WebAbstractor(
            lambda: hide(self._intent, self._secrets),
            lambda: tuple(hide(value, self._secrets) for value in query_values(self._seen.page.url)),
            self.screenshot,
        )

    def screenshot(self) -> bytes:
        """Return the visible tab as JPEG, b"" if no picture can be taken. Never raises.

        Secrets are painted over; if that is not possible, there is no picture. It is taken once per step, so
        the model sees the same picture as the recording.
        """
        if self._picture is None:
            handles = secret_handles(self._seen.page, self._secrets)
            self._picture = b""
            with contextlib.suppress(GameError):  # The next step reports a browser that is gone.
                self._picture = b"" if handles is None else self.driver.screenshot(hidden=handles)
        return self._picture

    def snapshot(self) -> str:
        """Return the page's elements as text, without secrets. Never raises."""
        return snapshot_text(self._seen.page, self._secrets)

    def sight(self) -> VisiblePage:
        """Return the visible page without secrets. Never raises."""
        page, secrets = self._seen.page, self._secrets
        new = self.driver.traffic.entries[self._looked :]
        self._looked += len(new)
        return VisiblePage(
            hide(texts.clean(page.url), secrets),
            hide(texts.clean(page.title), secrets),
            hide(texts.clean(self._intent), secrets),
            self.snapshot(),
            self.driver.limits.width,
            self.driver.limits.height,
            self.screenshot(),
            clean(tuple(new), secrets),
        )

    def judge_with(self, model: Model) -> None:
        """Use `model` to compare answers by meaning where a comparison of texts is not enough."""
        if self._judge is not None:
            self._judge.judge_with(model)

    def on_wait(self, say: Callable[[str], None]) -> None:
        """Call `say` with a sentence, again and again, while the browser takes long."""
        self.driver.on_wait = say

    def close(self) -> None:
        """End the browser; calling this twice is safe."""
        self._picture = None
        self.driver.close()
        if self._judge is not None:
            self._judge.close()
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()

    # ------------------------------------------------------------------------------------------ ending

    def _finish(self, call: Call) -> Observation:
        if call.name == "report_infeasible":
            self._answer = "N/A"
        if self._judge is None:
            return self._end(0.0, "the answer was given; nobody judges this task", truncated=True)
        score, why = self._verdict()
        if score is None:
            return self._end(0.0, f"the answer was given and could not be judged: {why}", truncated=True)
        return self._end(score, "the task was done" if score >= 1 else f"the task was not done: {why}")

    def _page_score(self, reward: float) -> float:
        """Return the score for a page's reward. MiniWoB++ reduces rewards with time, which is undone here."""
        return 1.0 if reward > 0 else 0.0

    def _verdict(self) -> tuple[float | None, str]:
        assert self._judge is not None
        url, entries = self._seen.page.url, list(self.driver.traffic.entries)
        found = [self.driver.find(look) for look in self._judge.looks(url)]
        del self.driver.traffic.entries[len(entries) :]  # Requests of the judge are not the agent's.
        return self._judge.judge(self._answer, url, entries, found)

    def _end(self, score: float, why: str, *, truncated: bool = False) -> Observation:
        """End the episode with a verdict, or without one if it is truncated."""
        outcome = "won" if score >= 1.0 else "lost" if score <= 0.0 else ""
        seen = self._observe(f"The episode is over: {why}.", changed=True, score=score)
        self._last = dataclasses.replace(
            seen, terminated=not truncated, truncated=truncated, outcome="" if truncated else outcome
        )
        return self._last

    # ------------------------------------------------------------------------------------------ looking

    def _observe(self, said: str, *, changed: bool, score: float = 0.0) -> Observation:
        page, self._picture = self._seen.page, None
        head = [f"URL: {texts.clean(page.url)}", f"Title: {texts.clean(page.title)}"]
        if len(self._seen.tabs) > 1:
            head.append(f"Tabs: {len(self._seen.tabs)}, shown: {self._seen.active}")
        shown = texts.fence("\n".join([*head, texts.outline(page, secrets=self._secrets)]))
        description = f"Task: {texts.clean(self._intent)}\n{shown}"
        return Observation(
            text=hide(
                said or f"{texts.clean(page.title)} {texts.clean(page.url)}".strip(), self._secrets
            ),
            description=hide(description, self._secrets),
            place=pattern(page.url, {**self._assignment.sites, **self._assignment.neighbours}),
            score=score,
            max_score=1.0,
            moves=self._moves,
            world_hash=self._hash(),
            changed=changed,
        )

    def _said(self) -> str:
        parts = [f"Error: {texts.clean(self._seen.error)}." if self._seen.error else ""]
        parts += [f"Note: {texts.clean(note)}." for note in self._seen.notes]
        parts.append(f"{texts.clean(self._seen.page.title)} {texts.clean(self._seen.page.url)}".strip())
        return "\n".join(filter(None, parts))

    def _hash(self) -> str:
        key = f"{self._seen.page.url} {self._seen.active} {len(self._seen.tabs)} {self._seen.page.digest()}"
        return hashlib.blake2b(key.encode(), digest_size=12).hexdigest()

    # ------------------------------------------------------------------------------------------ secrets

    def _revealed(self, call: Call) -> Call:
        """Return the call with its placeholder replaced by the secret. A removed value that is unknown is refused."""
        if any(REDACTED in str(argument) for argument in call.arguments):
            raise UsageError("this text was a secret and is not remembered; it cannot be typed again")
        node = resolve(call.target, self._seen.page) if call.target is not None else None
        if (box := self._secret_box(call, node)) is None:
            if self._has_secret(call):
                raise UsageError("this text is a secret: it is typed into password boxes and told nobody else")
            return call
        given, known = str(call.arguments[0]), self._known_secrets()
        if given not in known and SECRET_LIKE.fullmatch(given):
            raise UsageError("this text was a secret and is not remembered; it cannot be typed again")
        typed = known.get(given, given)
        self._hide(typed, box)
        return Call(call.name, call.target, (typed,))

    def _take(self, seen: Seen) -> None:
        """Take in what the browser shows now."""
        self._seen = seen
        self._secrets |= {value for value in seen.secrets if not self._is_in_task(value)}
