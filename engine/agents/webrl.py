"""WebRL: plays its published checkpoints with the prompt and the actions that they were trained with.

The agent asks a server that continues text, once a step, and carries out what the answer says. It learns nothing here:
the training curriculum is not part of jitrl.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.agents.base import AgentContext, Turn
from engine.agents.static import StaticAgent
from engine.errors import ModelError, TooLong, UsageError
from engine.llm.dialect import Scene
from engine.llm.model import Question, continues_text
from engine.llm.prompts import TRANSCRIPT
from engine.records import Basis, BasisItem, Candidate, Decision, Episode, Observation, State, Step, Tally

DIALECT = "webrl"
SHORTENINGS = 4
"""How often a prompt that is too long for the model is halved."""
THEN = "then"
"""Origin of the actions that an answer stands for besides its first one."""


class WebrlAgent(StaticAgent):
    """Asks one of WebRL's checkpoints, or a model trained alike.

    Raises:
        UsageError: The environment is not one of web pages, or the model does not continue text.
    """

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context.model, context.settings, name="webrl")
        if DIALECT not in context.dialects:
            raise UsageError("the agent webrl plays web tasks only: name one with web:TASK")
        if not continues_text(context.model):
            raise UsageError(
                "the agent webrl needs a server that continues text (/v1/completions): name the model "
                "text-completion-openai/NAME, and its address with JITRL_API_BASE"
            )
        self.replayed = True  # a session that is resumed tells it the answers again
        self._context = context
        self._scene = context.dialects[DIALECT]
        self._said: list[str] = []
        """The answers of this episode."""
        self._decided: Decision | None = None
        self._then: list[str] = []
        """What is still to be done of the last answer."""

    def begin_episode(self, state: State) -> None:
        """Forget the answers."""
        self._said, self._then, self._decided = [], [], None

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return what the model answers, or the second half of a search."""
        if self._then and (action := _here(turn, self._then[0])) is not None:
            decision = self._made(turn, action, (), "The second half of the model's last answer.")
        else:
            decision = self._asked(turn)
        self._note(decision)
        return decision

    def decided(self, turn: Turn, decision: Decision, rng: np.random.Generator) -> None:
        """Note an answer of a session that is resumed."""
        self._note(decision)

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Add the answer to the rounds, or a note of what a person chose instead."""
        decided, self._decided = self._decided, None
        items = _items(decided) if decided is not None else ()
        if decided is not None and decided.action == step.action:
            self._said += [item.text for item in items if item.origin != THEN]
            self._then = [item.text for item in items if item.origin == THEN]
        else:
            self._said.append(f"# Note: {step.action}")
            self._then = []

    def keep(self) -> None:
        """Do nothing."""

    def take_back(self) -> None:
        """Do nothing: `begin_episode` forgets the answers."""

    def stored_elsewhere(self, episode: Episode, first: int) -> None:
        """Do nothing."""

    # ------------------------------------------------------------------------- the steps of a decision

    def _note(self, decision: Decision) -> None:
        self._decided = decision

    def _asked(self, turn: Turn) -> Decision:
        if turn.page is None:
            raise UsageError("the agent webrl has no page to look at")
        scene = self._scene(turn.present, turn.page())
        answer = ""
        try:
            answer = self._answer(scene)
            first, *rest = scene.actions(answer)
            action = _here(turn, first)
            if action is None:
                raise UsageError(f"{first} cannot be done here")
        except (UsageError, ModelError) as error:
            if isinstance(error, ModelError) and error.fatal:
                raise
            made = self._made(turn, scene.nothing, (BasisItem(answer),) if answer else (), "Nothing was done.")
            return replace(made, note=f"{error}; nothing was done", tally=Tally(asked=1, missing=1))
        items = (BasisItem(answer), *(BasisItem(each, THEN) for each in rest))
        made = self._made(turn, action, items, f"The model answered '{_last(answer)}'.")
        return replace(made, tally=Tally(asked=1))

    def _answer(self, scene: Scene) -> str:
        """Return the model's answer.

        Raises:
            ModelError: No usable answer.
        """
        most = self._settings.webrl_characters
        for tries in range(SHORTENINGS):
            prompt = scene.prompt(self._said, most)
            question = Question("actions", ({"role": TRANSCRIPT, "content": prompt},), stops=scene.stops)
            try:
                return self._context.write(question).text
            except TooLong:
                if tries == SHORTENINGS - 1:
                    raise
                most //= 2
        raise AssertionError("unreachable")

    def _made(self, turn: Turn, action: str, items: tuple[BasisItem, ...], why: str) -> Decision:
        """Return the decision for one action."""
        return Decision(
            step=turn.step,
            state=turn.state,
            valid_actions=turn.valid_actions,
            candidates=(Candidate(action, 0.0, "llm"),),
            prior=(1.0,),
            posterior=(1.0,),
            chosen=0,
            action=action,
            why=why,
            parts=(Basis(DIALECT, "The model's answer", items),),
        )


def _here(turn: Turn, action: str) -> str | None:
    return turn.resolve(action) if turn.resolve is not None else action


def _items(decision: Decision) -> tuple[BasisItem, ...]:
    return tuple(item for basis in decision.bases if basis.kind == DIALECT for item in basis.items)


def _last(answer: str) -> str:
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
