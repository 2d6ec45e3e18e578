"""Checks a job before anything is stored or loaded: the model, the games, and how much memory training needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine import trust
from engine.environments import kind_of
from engine.errors import BadFile, MissingError, UsageError
from engine.kinds import EnvironmentContext
from engine.llm.prompts import TRANSCRIPT
from engine.llm.questions import Asking
from engine.settings.train import GrpoSettings, SftSettings, TrainingSettings
from engine.train.run_files import TrainingJob
from engine.train.runs import named_places
from engine.train.sources import ModelSource, find

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
    trust.require(*named_places(job))
    settings = GrpoSettings(**job.settings) if job.kind == "grpo" else SftSettings(**job.settings)
    source = find(job.model, Path(job.cache))
    if not source.template and is_chat(kind_of(job.session.game).asking(), settings.prompt):
        raise BadFile(NO_TEMPLATE.format(job.model))
    if not has_gpu():
        check_memory(source, settings)
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
            _repeatable(task, EnvironmentContext(Path(job.saves), job.session.games))


def is_chat(asking: Asking, name: str) -> bool:
    """Whether a prompt for scoring actions is a chat, and not a plain text that goes on."""
    prompt = asking.prompts.render(
        asking.scored_after(name), **dict.fromkeys(("memory_text", "current_state", "valid_actions"), "")
    )
    return [role for role, _ in prompt.messages] != [TRANSCRIPT]


def _repeatable(task: str, places: EnvironmentContext) -> None:
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


RUNTIME = 450 * 2**20
"""Bytes of Python with torch and the trainer, without a model."""
ACTIVATIONS = 170
"""Bytes for each token, layer and number of a layer, in 32 bits (measured: 3 MB a token for SmolLM2-135M)."""
OPTIMIZER = 12
"""Bytes for each trained weight besides the weight itself: its gradient and two moments."""


def bytes_needed(source: ModelSource, settings: TrainingSettings) -> int:
    """Return the bytes that training needs at most, with prompts as long as the settings allow."""
    wide = 2 if settings.precision == "bf16" else 4
    # What is trained stays at 32 bits, and is copied to compute in 16.
    weight = wide if settings.lora_rank else 4 + 2 * (wide == 2)
    # Seven matrices a layer; the three of the feed-forward part are about three times as wide on one side.
    adapter = settings.lora_rank * source.layers * source.hidden * 20
    trained = adapter * (4 + OPTIMIZER) if settings.lora_rank else source.parameters * OPTIMIZER
    tokens = settings.micro_batch * settings.train_prompt_tokens
    scored = tokens if isinstance(settings, SftSettings) else settings.micro_batch * 16
    reference = source.parameters * 4 if isinstance(settings, GrpoSettings) and _copies(settings) else 0
    kept = 1 if settings.activations == "recompute" else source.layers
    activations = tokens * kept * source.hidden * ACTIVATIONS * wide // 4
    return (
        RUNTIME
        + source.parameters * weight
        + reference
        + trained
        + activations
        + scored * source.vocabulary * 12
    )


def _copies(settings: GrpoSettings) -> bool:
    """Whether the weights at the start are kept beside those that are trained. An adapter can be left out instead."""
    return settings.kl > 0 and settings.lora_rank == 0


def check_memory(source: ModelSource, settings: TrainingSettings, available: Callable[[], int] | None = None) -> None:
    """Refuse a model that does not fit into memory.

    Args:
        source: The model.
        settings: The training settings.
        available: Returns the free bytes; those of this machine if None.

    Raises:
        MissingError: It does not fit.
    """
    needed, free = bytes_needed(source, settings), (available or free_memory)()
    if needed > free:
        raise MissingError(
            f"training {source.name} needs about {needed / 2**30:.1f} GB of memory, and {free / 2**30:.1f} GB are "
            "free; a smaller --micro-batch or --train-prompt-tokens needs less"
        )


def free_memory() -> int:
    """Return the bytes that this process may still use: those of the machine, or of its control group."""
    free = 1 << 62
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    limit = next(iter(_lines(Path("/sys/fs/cgroup/memory.max"))), "max").strip()
    used = next(iter(_lines(Path("/sys/fs/cgroup/memory.current"))), "0").strip()
    if limit.isdigit() and used.isdigit():
        free = min(free, int(limit) - int(used))
    return free


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def has_gpu() -> bool:
    """Whether this machine has a GPU of NVIDIA or AMD. Then weights do not have to fit into the main memory."""
    return Path("/proc/driver/nvidia/version").exists() or Path("/dev/kfd").exists()
