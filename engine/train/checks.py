"""Checks a job before anything is stored or loaded: memory, the model, the games."""

from __future__ import annotations

from pathlib import Path

from engine import trust
from engine.environments import kind_of
from engine.errors import BadFile, UsageError
from engine.kinds import Places
from engine.llm.prompts import TRANSCRIPT
from engine.llm.questions import Asking
from engine.settings.train import GrpoSettings, SftSettings
from engine.train import needs
from engine.train.jobs import TrainingJob
from engine.train.runs import places
from engine.train.sources import find

NO_TEMPLATE = (
    "{} has no chat template, so it cannot be asked in a chat; choose an instruction-tuned model, or "
    "--prompt actions_transcript"
)
UNLIKE = (
    "{} cannot be reset alike: its episodes begin differently, so those of a group cannot be compared; choose another "
    "game or task"
)


def check(job: TrainingJob) -> None:
    """Refuse a job that cannot be done.

    Raises:
        NotConfirmed: It names a place that the user has not confirmed.
        JitrlError: The reason.
    """
    trust.require(*places(job))
    settings = GrpoSettings(**job.settings) if job.kind == "grpo" else SftSettings(**job.settings)
    source = find(job.model, Path(job.cache))
    if not source.template and is_chat(kind_of(job.session.game).asking(), settings.prompt):
        raise BadFile(NO_TEMPLATE.format(job.model))
    if not needs.has_gpu():
        needs.check(source, settings)
    if isinstance(settings, GrpoSettings):
        if (
            settings.step_reward == "evaluator"
            and job.session.settings.rewards != "score"
            and not settings.judge
        ):
            raise UsageError(
                f"rewards={job.session.settings.rewards} needs a model that judges steps: name it with --judge MODEL"
            )
        for task in job.tasks:
            _repeatable(task, Places(Path(job.saves), job.session.games))


def is_chat(asking: Asking, name: str) -> bool:
    """Whether a prompt for scoring actions is a chat, and not a plain text that goes on."""
    prompt = asking.prompts.render(
        asking.scored_after(name), **dict.fromkeys(("memory_text", "current_state", "valid_actions"), "")
    )
    return [role for role, _ in prompt.messages] != [TRANSCRIPT]


def _repeatable(task: str, places: Places) -> None:
    """Refuse an environment whose episodes do not begin alike.

    Raises:
        UsageError: It is such a one.
        JitrlError: It cannot be opened.
    """
    environment = kind_of(task).open(task, places)
    try:
        if not environment.info.repeatable:
            raise UsageError(UNLIKE.format(task))
    finally:
        environment.close()
