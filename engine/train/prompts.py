"""Prompts of training: those that agents give a local model, as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.llm.prompts import TRANSCRIPT, Prompt, plain, tail
from engine.llm.questions import Asking
from engine.records import ActionRequest


@dataclass(frozen=True, slots=True)
class Prompts:
    """Makes the prompt of a decision, and the texts that a model may answer it with.

    Attributes:
        tokenizer: A tokenizer of transformers.
        asking: How a model is asked in this kind of environment.
        name: Name of the prompt, unless `asking` has another one.
        most: Largest number of tokens of a prompt.
    """

    tokenizer: Any
    asking: Asking
    name: str
    most: int

    def of(self, request: ActionRequest) -> Prompt:
        """Return the prompt for a decision. The oldest text of the agent's is left out if it is too long."""
        asking = self.asking
        return asking.prompts.fit(
            asking.scored_after(self.name),
            lambda prompt: len(self.tokens(prompt)),
            self.most,
            ("memory_text",) if request.memory_text else (),
            memory_text=request.memory_text,
            current_state=asking.transcript(request),
            valid_actions=", ".join(request.valid_actions),
        )

    def text(self, prompt: Prompt) -> str:
        """Return a prompt as the text that the model reads, up to where its answer goes on."""
        if [role for role, _ in prompt.messages] == [TRANSCRIPT]:
            return f"{prompt.messages[0][1]}\n\n{prompt.answer}"
        chat = [{"role": role, "content": plain(content)} for role, content in prompt.messages]
        return (
            str(self.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))
            + prompt.answer
        )

    def tokens(self, prompt: Prompt) -> list[int]:
        """Return a prompt as tokens."""
        return list(self.tokenizer(self.text(prompt), add_special_tokens=False)["input_ids"])

    def tails(self, prompt: Prompt, actions: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each action after the prompt."""
        texts = [tail(prompt.answer, action) for action in actions]
        return [list(ids) for ids in self.tokenizer(texts, add_special_tokens=False)["input_ids"]]
