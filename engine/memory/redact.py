"""Removes secrets from texts before they are stored, tokenised or searched for.

Patterns cannot find every secret. The number of those found is counted, and `jitrl memory forget` removes anything
from a memory. In the texts of games only strings that look like keys are replaced: "password: swordfish" may be
part of a game.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from engine.records import Episode, Kept, State, Step
from engine.redaction import ANYWHERE, REDACTED, forms_of, hide

PLACEHOLDER = REDACTED

# (lower-case strings, one of which the text must contain before the pattern is tried; pattern with group "s")
_PATTERNS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("-----begin",), re.compile(
        r"(?P<s>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----)){0,20000}"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?)")),
    (("sk-", "rk-", "pk-", "sk_", "rk_", "pk_"), re.compile(r"\b(?P<s>[srp]k[-_][A-Za-z0-9_-]{16,})")),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
     re.compile(r"\b(?P<s>(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{16,})")),
    (("akia", "asia"), re.compile(r"\b(?P<s>A(?:KIA|SIA)[0-9A-Z]{16})\b")),
    (("aiza",), re.compile(r"\b(?P<s>AIza[0-9A-Za-z_-]{30,})")),
    (("xox",), re.compile(r"\b(?P<s>xox[abeoprs]-[A-Za-z0-9-]{10,})")),
    (("hf_",), re.compile(r"\b(?P<s>hf_[A-Za-z0-9]{20,})")),
    (("ya29.",), re.compile(r"\b(?P<s>ya29\.[A-Za-z0-9_-]{20,})")),
    (("eyj",), re.compile(r"\b(?P<s>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)")),
    (("bearer", "basic"), re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<s>[A-Za-z0-9+/._~=-]{16,})")),
    (("://",), re.compile(r"://(?P<s>[^\s/@:\"'<>]{1,200}:[^\s/@\"'<>]{1,200})@")),
)  # fmt: skip

_FIELD = (
    r"(?:pass(?:word|wd|phrase|code)|secret|api[ _-]?key|(?:access|auth|session|csrf|form)[ _-]?(?:token|key)"
)
_FIELD += r"|one[ -]time code|otp|pin code|security code|cvv2?|cvc|card number|social security|iban)"
_HINTS = tuple(hint for hints, _ in _PATTERNS for hint in hints)
_FORM_HINTS = ("pass", "secret", "key", "token", "otp", "pin code", "code", "cv", "card", "social", "iban")
_FORM_VALUES = (
    re.compile(
        rf"(?i)\b[\w-]{{0,40}}{_FIELD}[\w-]{{0,40}}['\"]?\s{{0,3}}[:=]\s{{0,3}}['\"]?(?P<s>[^\s'\"&,;]{{1,200}})"
    ),
    re.compile(rf"(?i){_FIELD}[^\n]{{0,40}}?\bvalue\s?[:=]\s?['\"]?(?P<s>[^\n'\"]{{1,200}})"),
)
_TYPED = re.compile(r"(?is)^\s*(?:type|fill|input|enter)\b\s*\(?\s*(?P<where>\[[^\]]{1,80}\]|['\"][^'\"]{1,80}['\"])"
                    r"\s*,?\s*(?P<what>\[.*?\]|['\"].*?['\"]|\S.*?)\s*(?P<rest>\)?\s*(?:\[[01]\])?\s*)$")  # fmt: skip


class Redactor:
    """Removes secrets from texts, states, episodes and kept records.

    Args:
        secrets: Exact values to remove, as `engine.redaction` does.
        forms: Whether the texts may come from forms; then values of password-like fields are removed too.

    Attributes:
        count: Number of secrets removed so far.
    """

    def __init__(self, secrets: Iterable[str] = (), *, forms: bool = False) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._written: tuple[str, ...] = ()
        """All forms in which the secrets are written."""
        self.learn(secrets)
        self._forms = forms
        self._hints = (*_HINTS, *_FORM_HINTS) if forms else _HINTS
        self.count = 0

    def learn(self, secrets: Iterable[str]) -> None:
        """Remove these values, too, from now on."""
        new = frozenset(secrets) - self._secrets
        if new:
            self._secrets |= new
            self._written = tuple(form for secret in self._secrets for form in forms_of(secret))

    def suspects(self, text: str) -> bool:
        """Whether `text` may hold a secret. A fast check; False is always right."""
        for form in self._written:
            if form in text:
                return True
        lower = text.lower()
        for hint in self._hints:  # noqa: SIM110 -- any() takes three times as long, and this is asked often
            if hint in lower:
                return True
        return False

    def text(self, text: str, found: set[str] | None = None) -> str:
        """Return `text` without secrets; those that were removed are added to `found`."""
        if not self.suspects(text):
            return text
        taken: set[str] = set()
        text = hide(text, self._secrets, PLACEHOLDER, taken)
        lower = text.lower()
        for hints, pattern in _PATTERNS:
            if any(hint in lower for hint in hints):
                text = pattern.sub(lambda match: _blank(match, taken), text)
        if self._forms and any(hint in lower for hint in _FORM_HINTS):
            for pattern in _FORM_VALUES:
                text = pattern.sub(lambda match: _blank(match, taken), text)
        self.count += len(taken)
        if found is not None:
            found |= taken
        return text

    def state(self, state: State, found: set[str] | None = None) -> State:
        """Return the state without secrets in its texts and tokens."""
        taken: set[str] = set() if found is None else found
        text, history = self.text(state.text, taken), self.text(state.history, taken)
        if not taken:
            return state
        pieces = {piece for secret in taken for piece in re.findall(r"\w+", secret.lower())}
        whole = {secret.lower() for secret in taken}

        def clean(tokens: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(
                t for t in tokens if t.lower() not in pieces and hide(t.lower(), whole) == t.lower()
            )

        return replace(
            state, text=text, tokens=clean(state.tokens), history=history,
            history_tokens=clean(state.history_tokens), place=self.text(state.place),
        )  # fmt: skip

    def step(self, step: Step, seen: dict[State, State], found: set[str]) -> Step:
        """Return the step without secrets. `seen` maps states to cleaned ones, so that each is cleaned once."""
        if step.state not in seen:
            seen[step.state] = self.state(step.state, found)
        action = self.typed(step.state.text, self.text(step.action, found), found)
        valid = tuple(self.text(one, found) for one in step.valid_actions)
        return replace(step, state=seen[step.state], action=action, valid_actions=valid)

    def typed(self, page: str, action: str, found: set[str]) -> str:
        """Return a web action without the text that it types into a password-like field of `page`."""
        match = _TYPED.match(action) if self._forms else None
        if match is None:
            return action
        where, what = match["where"], match["what"]
        bare = where.strip("[]'\"")
        lines = [line for line in page.splitlines() if where in line or f"[{bare}]" in line]
        if not any(re.search(f"(?i){_FIELD}", text) for text in (*lines, bare)):
            return action
        value = what.strip("[]'\"")
        if value and value != PLACEHOLDER.strip("[]"):
            found.add(value)
            self.count += 1
        return action[: match.start("what")] + PLACEHOLDER + action[match.end("what") :]

    def episode(self, episode: Episode) -> Episode:
        """Return the episode without secrets.

        Text of `ANYWHERE` characters or more that was typed into a field with a password-like label is removed from
        all pages. Labels are a guess: a shorter text may be an ordinary word.
        """
        if not self._forms and not self.suspects("\n".join(_texts_of(episode))):
            return episode
        found: set[str] = set()
        seen: dict[State, State] = {}
        steps = tuple(self.step(step, seen, found) for step in episode.steps)
        final = self.state(episode.final, found)
        cleaned = replace(
            episode, steps=steps, final=final, agent=self.text(episode.agent),
            model=self.text(episode.model), session=self.text(episode.session),
        )  # fmt: skip
        typed = {secret for secret in found if len(secret) >= ANYWHERE} - self._secrets
        if not typed or not self._forms:
            return cleaned
        again = Redactor([*self._secrets, *typed])
        found, seen = set(), {}
        return replace(
            cleaned,
            steps=tuple(again.step(step, seen, found) for step in cleaned.steps),
            final=again.state(cleaned.final),
        )

    def kept(self, record: Kept) -> Kept:
        """Return the record without secrets, in its texts and in its data."""
        return replace(
            record, kind=self.text(record.kind), text=self.text(record.text), data=self._values(record.data),
            agent=self.text(record.agent), model=self.text(record.model), session=self.text(record.session),
        )  # fmt: skip

    def _values(self, value: Any) -> Any:
        """Return JSON values without secrets in any of their texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._values(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._values(item) for item in value]
        return value


def _blank(match: re.Match[str], taken: set[str]) -> str:
    secret = match["s"]
    if secret.startswith(PLACEHOLDER[:-1]) or PLACEHOLDER in secret:
        return match[0]
    taken.add(secret)
    start, end = match.start("s") - match.start(), match.end("s") - match.start()
    return match[0][:start] + PLACEHOLDER + match[0][end:]


def _texts_of(episode: Episode) -> set[str]:
    texts = {episode.agent, episode.model, episode.session}
    for state in [episode.final, *[step.state for step in episode.steps]]:
        texts |= {state.text, state.history, state.place}
    for step in episode.steps:
        texts.add(step.action)
    for actions in {step.valid_actions for step in episode.steps}:
        texts.update(actions)
    return texts
