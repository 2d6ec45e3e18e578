"""How a model is asked for actions in one kind of environment, and what can be known there without a model.

`TextAsking` is for text adventures and whatever else is played in commands; other kinds bring an `Asking` of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.llm.priors.verbs import logit
from engine.llm.prompts import TEXT, Folder, unmarked
from engine.records import ActionRequest
from engine.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The JSON object that a model answers with: some fields, then for each option a reason, an action, a confidence.

    Attributes:
        first: Fields before the options, each with what the prompt shows in its place.
        reason: Name of the field with an option's reason; `{}` is the option's number.
        reason_shown: What the prompt shows there.
        option_shown: What the prompt shows in place of an action.
        listed: Whether a schema holds options to the valid actions, as the paper does for games (App. E). False where
            more can be done than they count.
    """

    first: Mapping[str, str]
    reason: str
    reason_shown: str
    option_shown: str
    listed: bool

    def shown(self, count: int) -> str:
        """Return the form as the prompt shows it, for `count` options."""
        form: dict[str, Any] = dict(self.first)
        for i in range(1, count + 1):
            form |= {self.reason.format(i): self.reason_shown, f"option{i}": self.option_shown,
                     f"confidence{i}": 100 // count}  # fmt: skip
        return json.dumps(form | {"best_action": 1}, indent=2)

    def schema(self, count: int, valid: Sequence[str], settings: ModelSettings) -> dict[str, Any]:
        """Return the JSON schema of an answer with `count` options."""
        short = len(valid) <= settings.listed_actions and sum(map(len, valid)) <= settings.listed_characters
        option = {"type": "string", "enum": sorted(valid)} if self.listed and short else {"type": "string"}
        properties: dict[str, Any] = {name: {"type": "string"} for name in self.first}
        for i in range(1, count + 1):
            properties |= {self.reason.format(i): {"type": "string"}, f"option{i}": option,
                           f"confidence{i}": {"type": "integer"}}  # fmt: skip
        properties["best_action"] = {"type": "integer"}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }


class Asking(Protocol):
    """How a model is asked for actions in one kind of environment."""

    @property
    def prompts(self) -> Folder:
        """Has `actions` and `actions_index`, and the prompts that `scored_after` names."""
        ...

    @property
    def form(self) -> AnswerForm:
        """What an answer in words looks like."""
        ...

    @property
    def cuttable(self) -> tuple[str, ...]:
        """Blanks of the prompts that may be cut where there is no room, the first to go first."""
        ...

    @property
    def shares(self) -> bool:
        """Whether the logits of `prior/verbs` are shares of its odds, from 0 to 1, or the log-odds themselves."""
        ...

    def blanks(self, request: ActionRequest) -> dict[str, str]:
        """Return `current_state` as prompts have it, and the blanks that only these prompts have."""
        ...

    def scored_after(self, name: str) -> str:
        """Return the prompt after which actions are scored, of a model that is usually asked by `name`."""
        ...

    def transcript(self, request: ActionRequest) -> str:
        """Return the present as it stands in a prompt after which actions are scored; small models read no more."""
        ...

    def allowed(self, valid: Sequence[str]) -> str:
        """Return a sentence on what may be proposed, for a model whose answer could not be used."""
        ...

    def accepted(self, text: str) -> str | None:
        """Return an action that was proposed beside the valid ones as it is to be; None to drop it."""
        ...

    def odds(self, request: ActionRequest) -> Sequence[float]:
        """Return log-odds of trying each valid action, from general knowledge alone: the prior `prior/verbs`."""
        ...


COMMANDS = AnswerForm(
    first={
        "progress_analysis": "What you've achieved and current challenges",
        "next_objective": "Your next goal",
    },
    reason="reasoning{}",
    reason_shown="Why this action makes sense",
    option_shown="action command",
    listed=True,
)


@dataclass(frozen=True, slots=True)
class TextAsking:
    """Commands in words: all that can be done is in the list of valid actions. Implements `Asking`."""

    prompts: Folder = TEXT
    form: AnswerForm = COMMANDS
    cuttable: tuple[str, ...] = ("memory_text", "recent_history", "summary", "current_state")
    shares: bool = False

    def blanks(self, request: ActionRequest) -> dict[str, str]:
        """Return the present, without anything that looks like a mark of the prompt."""
        return {"current_state": unmarked(request.current_state)}

    def scored_after(self, name: str) -> str:
        """Return the usual prompt."""
        return name

    def transcript(self, request: ActionRequest) -> str:
        """Return the whole present."""
        return request.current_state

    def allowed(self, valid: Sequence[str]) -> str:
        """Return the list once more."""
        return f"Copy every option EXACTLY from this list: {', '.join(valid)}"

    def accepted(self, text: str) -> str | None:
        """Return None: nothing beside the list can be done."""
        return None

    def odds(self, request: ActionRequest) -> Sequence[float]:
        """Return what a table of verbs says of each action."""
        return [logit(action) for action in request.valid_actions]


TEXT_ASKING = TextAsking()
"""For text adventures, and where nobody says what is played."""
