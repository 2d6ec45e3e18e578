"""How a model is asked for actions in one kind of environment, and the prior of that kind without a model.

`TextAsking` is for text adventures and other environments that take commands. Other kinds have their own
`Asking`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.llm.priors.verbs import logit
from engine.llm.prompts import TEXT, Folder, without_marks
from engine.records import ActionRequest
from engine.settings import ModelSettings

DIFFERING = "Confidences MUST differ clearly: the more likely an action is to help, the higher its confidence."


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The JSON object of an answer: some fields, then a reason, an action and a confidence for each option.

    Attributes:
        first: The fields before the options, each with its placeholder in the prompt.
        reason: Name of the field with an option's reason; `{}` is the option's number.
        reason_shown: Placeholder of the reason in the prompt.
        option_shown: Placeholder of the action in the prompt.
        listed: Whether the schema restricts options to the valid actions, as in the paper for games (App. E).
            False if more actions are possible than are listed.
    """

    first: Mapping[str, str]
    reason: str
    reason_shown: str
    option_shown: str
    listed: bool

    def shown(self, count: int, confidences: str) -> str:
        """Return the form with `count` options as text for the prompt; `confidences` is a value of that setting."""
        form: dict[str, Any] = dict(self.first)
        confidence = {"fifty": 50, "differing": 80}.get(confidences, 100 // count)
        for i in range(1, count + 1):
            form |= {self.reason.format(i): self.reason_shown, f"option{i}": self.option_shown,
                     f"confidence{i}": confidence}  # fmt: skip
        shown = json.dumps(form | {"best_action": 1}, indent=2)
        return f"{shown}\n\n{DIFFERING}" if confidences == "differing" else shown

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


@dataclass(frozen=True)
class TextAsking:
    """How a model is asked for actions in one kind of environment; here for commands in words, which are all listed.

    Attributes:
        prompts: The prompts: `actions`, `actions_index`, and those that `scored_after` returns.
        form: The form of an answer in words.
        cuttable: Fields of the prompts that may be cut if a prompt is too long, in the order of cutting.
        shares: Whether the logits of `prior/verbs` are probabilities from 0 to 1 instead of log-odds.
    """

    prompts: Folder = TEXT
    form: AnswerForm = COMMANDS
    cuttable: tuple[str, ...] = ("memory_text", "recent_history", "summary", "current_state")
    shares: bool = False

    def blanks(self, request: ActionRequest) -> dict[str, str]:
        """Return the field `current_state` of the prompts, and the fields that only this kind has."""
        return {"current_state": without_marks(request.current_state)}

    def scored_after(self, name: str) -> str:
        """Return the name of the prompt after which actions are scored; `name` is the one for text adventures."""
        return name

    def transcript(self, request: ActionRequest) -> str:
        """Return the present situation as a short text for the prompts after which actions are scored."""
        return request.current_state

    def allowed(self, valid: Sequence[str]) -> str:
        """Return a sentence about the allowed actions, for a model whose answer was unusable."""
        return f"Copy every option EXACTLY from this list: {', '.join(valid)}"

    def accepted(self, text: str) -> str | None:
        """Return the exact form of a proposed action that is not among the valid ones, None to drop it."""
        return None

    def odds(self, request: ActionRequest) -> Sequence[float]:
        """Return the log-odds of each valid action in the prior `prior/verbs`, which is general knowledge."""
        return [logit(action) for action in request.valid_actions]


Asking = TextAsking
TEXT_ASKING = TextAsking()
"""For text adventures. It is the default."""
