"""States and histories of games that a model writes (paper, App. F), and states of raw text.

If the model fails, the text made by rules is used. This is counted, and a notice says so once per episode.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from engine import texts
from engine.environment import Abstractor, Writing
from engine.errors import JitrlError, ModelError, TooLong
from engine.llm import prompts
from engine.llm.model import Question, Reply
from engine.llm.prompts import Prompt
from engine.records import Observation, State

_HEADS = ("SUMMARY", "PROGRESS", "LOCATION")
_SECTION = re.compile(r"\**\[(SUMMARY|PROGRESS|LOCATION)\]\**:?", re.I)
_STATE = re.compile(r"\[State:([^\[\]]*)\]", re.I)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_LONGEST = 1500
_LONGEST_NOUN = 80
_ARTICLES = frozenset(("a", "an", "the"))


class RawStates:
    """States that are the observation's text, compared by n-grams of words.

    The authors' code compares the text of `look` and of the last answer by their 4-grams, with the number of their
    occurrences. Words with punctuation are left out. Implements `engine.environment.Abstractor`.

    Args:
        rules: Makes the history.
        n: Words per token.
    """

    def __init__(self, rules: Abstractor, n: int) -> None:
        self._rules = rules
        self._n = n

    def begin(self, observation: Observation) -> State:
        """Start a new episode and return the state of its first observation."""
        return self._raw(self._rules.begin(observation), observation)

    def advance(self, action: str, observation: Observation) -> State:
        """Return the state after `action` led to `observation`."""
        return self._raw(self._rules.advance(action, observation), observation)

    def recent(self, steps: int) -> str:
        """Return the last `steps` steps as text for a prompt, oldest first."""
        return self._rules.recent(steps)

    def situation(self, observation: Observation) -> str:
        """Return the current situation as text for a prompt."""
        return self._rules.situation(observation)

    def written(self, writing: Writing) -> Abstractor:
        """Return an abstractor around this one that lets a model write texts."""
        return WrittenAbstractor(self, writing)

    def _raw(self, state: State, observation: Observation) -> State:
        parts = [observation.description or observation.text]
        if texts.compact(observation.text) != texts.compact(parts[0]):
            parts.append(observation.text)
        text = "\n".join(texts.compact(part) for part in parts)
        tokens = texts.ngrams(texts.bare_words(text), self._n)
        return dataclasses.replace(state, text=text, tokens=texts.number_repeats(tokens))


class WrittenAbstractor:
    """Lets a model write the states or the history of another abstractor, or both.

    A state is summarized from the place and the inventory alone, so equal situations have equal summaries. The
    history is written every `history_every` steps from the steps so far. Implements
    `engine.environment.Abstractor`.

    Args:
        rules: Makes the states, tokens and texts that are used if the model fails.
        writing: Model, settings, and callbacks for costs, failures and notices.
    """

    def __init__(self, rules: Abstractor, writing: Writing) -> None:
        self._rules = rules
        self._writing = writing
        self._steps = 0
        self._history = ""
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._reported: set[str] = set()

    def begin(self, observation: Observation) -> State:
        """Start a new episode and return the state of its first observation; may call the model."""
        self._steps, self._history = 0, ""
        self._reported.clear()
        return self._state(self._rules.begin(observation), observation)

    def advance(self, action: str, observation: Observation) -> State:
        """Return the state after `action` led to `observation`; may call the model."""
        state = self._rules.advance(action, observation)
        self._steps += 1
        settings = self._writing.settings
        if settings.history != "rules" and self._steps % settings.history_every == 0:
            self._history = self._write(state, observation)
        return self._state(state, observation)

    def recent(self, steps: int) -> str:
        """Return the last `steps` steps as text for a prompt, oldest first."""
        return self._rules.recent(steps)

    def situation(self, observation: Observation) -> str:
        """Return the current situation as text for a prompt."""
        return self._rules.situation(observation)

    def written(self, writing: Writing) -> Abstractor:
        """Return this abstractor, which lets a model write texts already."""
        return self

    def _state(self, state: State, observation: Observation) -> State:
        """Return the state with the model's texts in place of those made by rules."""
        settings = self._writing.settings
        if settings.state == "llm":
            text, tokens = self._summarized(state, observation)
            state = dataclasses.replace(state, text=text, tokens=tokens)
        if self._history:
            state = dataclasses.replace(state, history=self._history)
        if settings.history_tokens == "text":
            carried = texts.compact(observation.inventory)
            history = f"{state.history}\n[INVENTORY] {carried}" if carried else state.history
            tokens = texts.number_repeats(texts.bare_words(texts.without_prose(history)))
            state = dataclasses.replace(state, history=history, history_tokens=tokens)
        return state

    def _summarized(self, state: State, observation: Observation) -> tuple[str, tuple[str, ...]]:
        """Return the model's summary of a situation and its tokens, or those made by rules if the model fails."""
        looked = observation.scene or observation.description or observation.text
        situation = texts.compact(f"{looked}\n{observation.inventory}")
        if situation not in self._known:
            prompt = prompts.render("state", trajectory=prompts.without_marks(f"Step 0: {situation}"))
            try:
                reply = self._asked("state", prompt, lambda text: bool(read_state(text)))
                nouns = read_state(reply.text, self._writing.settings.written_nouns)
                if not nouns:
                    raise ModelError("the model's answer has no [State: ...]")
                tokens = sorted({word for noun in nouns for word in texts.words(noun)})
                self._known[situation] = f"[State: {', '.join(nouns)}]", tuple(tokens)
            except JitrlError as error:
                self._missed("a state", error)
                return state.text, state.tokens
        return self._known[situation]

    def _write(self, state: State, observation: Observation) -> str:
        """Return the model's history, "" if it fails. If the prompt is too long, it is tried with fewer steps."""
        shown = self._writing.settings.summary_steps
        while True:
            lines = [self._rules.recent(shown), f"Step {self._steps}: {texts.compact(observation.text)}"]
            if self._steps > shown and self._history:
                lines.insert(0, f"(Summary of the steps before: {self._history})")
            prompt = prompts.render("history", trajectory=prompts.without_marks("\n\n".join(filter(None, lines))))
            try:
                reply = self._asked("history", prompt, _has_summary)
                return read_history(reply.text, state.history)
            except TooLong as error:
                if shown > 1:
                    shown //= 2
                    continue
                return self._missed("the history", error)
            except JitrlError as error:
                return self._missed("the history", error)

    def _asked(self, purpose: str, prompt: Prompt, usable: Callable[[str], bool]) -> Reply:
        temperature = self._writing.settings.summary_temperature
        return self._writing.write(Question(purpose, prompt.chat(), usable=usable, temperature=temperature))

    def _missed(self, what: str, error: JitrlError) -> str:
        """Count a text that is made by rules because the model failed; give each notice once per episode."""
        self._writing.missed()
        sentence = f"{what} of this episode is written by rules: {error}"
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._writing.notice(sentence)
        return ""


def read_state(text: str, most: int = 100) -> list[str]:
    """Return up to `most` nouns of the last `[State: noun, ...]` in a model's answer, [] if there is none.

    They are in lower case and have no articles, because a model writes the same noun now with and now without them.
    """
    found = _STATE.findall(_CONTROL.sub("", text))
    if not found:
        return []
    nouns = (
        " ".join(word for word in noun.casefold().split() if word not in _ARTICLES)[:_LONGEST_NOUN]
        for noun in found[-1].split(",")
    )
    return list(dict.fromkeys(noun for noun in nouns if any(map(str.isalnum, noun))))[:most]


def read_history(text: str, instead: str) -> str:
    """Return a model's history in the form used in prompts, one section per paragraph.

    Args:
        text: The model's answer.
        instead: A history in that form. Sections missing in `text` are taken from it.

    Raises:
        ModelError: `text` has no summary.
    """
    said, known = _sections(text), _sections(instead)
    if not said.get("SUMMARY"):
        raise ModelError("the model's answer has no [SUMMARY]")
    return "\n".join(f"[{head}] {said.get(head) or known.get(head, '')}" for head in _HEADS)


def _has_summary(text: str) -> bool:
    return bool(_sections(text).get("SUMMARY"))


def _sections(text: str) -> dict[str, str]:
    parts = _SECTION.split(_CONTROL.sub("", text))
    found: dict[str, str] = {}
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(head.upper(), body.strip()[:_LONGEST])
    return found
