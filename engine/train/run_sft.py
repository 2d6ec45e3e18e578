"""A run of SFT from its job to its files. TRL's trainer makes the recorded actions more likely."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import set_seed
from trl import SFTConfig, SFTTrainer

from engine.codec import to_plain
from engine.environments import kind_of
from engine.errors import UsageError
from engine.kinds import EnvironmentContext
from engine.llm.prompts import tail
from engine.settings.train import SftSettings
from engine.train import models
from engine.train.data import Demonstration, best_demonstrations, demonstrations, recordings, walkthrough
from engine.train.monitor import Following, finish, write
from engine.train.prompts import Prompts
from engine.train.run_files import (
    CHECKPOINTS,
    TrainingJob,
    WeightUpdate,
    add_to_manifest,
    latest_checkpoint,
    read_curve,
    trainer_arguments,
    write_curve,
)
from engine.train.sources import find
from engine.train.usage import ProcessUsage, UsageCounter
from engine.train.work import Tell


def run(job: TrainingJob, tell: Tell, stopped: Callable[[], bool]) -> None:
    """Train on the recorded episodes; then write the adapter and the model.

    Raises:
        JitrlError: It cannot begin or go on.
    """
    settings = SftSettings(**job.settings)
    folder, cache = Path(job.folder), Path(job.cache)
    models.use_threads(settings.train_threads)
    tell("say", "reading the recordings")
    found = _found(job)
    used = best_demonstrations(found, settings) if not job.walkthroughs else list(found)
    source = find(job.model, cache)
    base = models.folder_of(source, cache, lambda text: tell("say", text))
    asking = kind_of(job.session.game).asking()
    tokenizer = models.open_tokenizer(base)
    prompts = Prompts(tokenizer, asking, settings.prompt, settings.train_prompt_tokens)
    rows, long = examples(used, prompts, settings)
    tell("say", f"learning {len(rows)} decisions of {len(used)} episodes")
    add_to_manifest(folder, data=_about(found, used, len(rows), long))
    set_seed(job.session.seed)
    tell("say", f"loading {job.model}")
    trainer = SFTTrainer(
        model=models.open_weights(base, settings),
        args=config(settings, folder, job.session.seed, cpu=not torch.cuda.is_available()),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=models.adapter(settings),
    )
    if job.dry:
        loss = trainer.compute_loss(
            trainer.model, trainer._prepare_inputs(next(iter(trainer.get_train_dataloader())))
        )
        tell("say", f"built the trainer and one batch; its loss is {float(loss):g}")
        return
    checkpoint = latest_checkpoint(folder / CHECKPOINTS)
    if job.write:
        write(trainer, checkpoint, tokenizer, source, job, settings, tell)
        return
    curve = CurveWriter(folder, found, checkpoint, tell)
    trainer.add_callback(Following(curve, stopped, 0.0))
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    finish(trainer, tokenizer, source, job, settings, tell, stopped())


def config(settings: SftSettings, folder: Path, seed: int, *, cpu: bool) -> SFTConfig:
    """Return the configuration of TRL's trainer."""
    per_device = min(settings.micro_batch, settings.sft_batch)
    return SFTConfig(
        per_device_train_batch_size=per_device,
        gradient_accumulation_steps=max(1, settings.sft_batch // per_device),
        num_train_epochs=settings.epochs,
        max_length=None,
        completion_only_loss=True,
        save_steps=settings.save_every,
        **trainer_arguments(settings, folder, seed, cpu=cpu),
    )


def examples(
    used: Sequence[Demonstration], prompts: Prompts, settings: SftSettings
) -> tuple[list[dict[str, str]], int]:
    """Return prompts and answers as texts, and how many decisions were too long and left out.

    Raises:
        UsageError: Nothing is left.
    """
    rows: list[dict[str, str]] = []
    long = 0
    for example in (one for episode in used for one in episode.examples):
        prompt = prompts.of(example.request)
        if len(prompts.tokens(prompt)) > settings.train_prompt_tokens:
            long += 1  # what cannot be left out is too long already, and TRL would cut off the action
        elif len(rows) < settings.at_most:
            rows.append({"prompt": prompts.text(prompt), "completion": tail(prompt.answer, example.action)})
    if not rows:
        raise UsageError(
            f"all {long} prompts are longer than {settings.train_prompt_tokens} tokens; allow longer ones"
        )
    return rows, long


def _found(job: TrainingJob) -> list[Demonstration]:
    """Return the episodes of all recordings, or the known solutions.

    Raises:
        UsageError: There is none.
    """
    places = EnvironmentContext(Path(job.saves), job.session.games)
    recent = job.session.settings.recent_steps
    if job.walkthroughs:
        return [walkthrough(task, places, recent) for task in job.tasks]
    found = [
        one
        for folder in job.recordings
        for path in recordings(Path(folder))
        for one in demonstrations(path, job.session.game, places, recent)
    ]
    if not found:
        raise UsageError("the recordings have no finished episode")
    return found


def _about(
    found: Sequence[Demonstration], used: Sequence[Demonstration], rows: int, long: int
) -> dict[str, Any]:
    """Return what the manifest says of the data."""
    provenance = [example.provenance for one in used for example in one.examples]
    return {
        "recorded_episodes": len(found),
        "learnt_episodes": [
            {
                "source": one.source,
                "episode": one.number,
                "agent": one.agent,
                "model": one.model,
                "score": one.score,
            }
            for one in used
        ],
        "decisions": rows,
        "too_long": long,
        "provenance": {name: provenance.count(name) for name in sorted(set(provenance))},
        "walkthroughs": any(one.source == "walkthrough" for one in used),
    }


class CurveWriter:
    """Writes a line of the curve for each update.

    All recorded episodes are counted, not only the best: they all had to be played.

    Args:
        folder: Folder of the run.
        found: The recorded episodes.
        checkpoint: The checkpoint that training goes on from, None if it begins.
        tell: Tells each update.
    """

    def __init__(
        self, folder: Path, found: Sequence[Demonstration], checkpoint: Path | None, tell: Tell
    ) -> None:
        done = int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0
        self._folder, self._tell = folder, tell
        self._updates = [update for update in read_curve(folder) if update.update <= done]
        played = ProcessUsage(
            episodes=len(found),
            environment_steps=sum(one.steps for one in found),
            prompt_tokens=sum(one.prompt_tokens for one in found),
            completion_tokens=sum(one.completion_tokens for one in found),
        )
        self._counts = UsageCounter.of(self._updates[-1]) if self._updates else UsageCounter(played)

    def __call__(self, step: int, logs: Mapping[str, float]) -> None:
        """Write the line of an update."""
        self._counts.set_trained(int(logs.get("num_tokens", 0.0)))
        taken = self._counts.now()
        update = WeightUpdate(step, **to_plain(taken), loss=logs.get("loss"), gradient_norm=logs.get("grad_norm"))
        self._updates.append(update)
        write_curve(self._folder, self._updates)
        self._tell("update", to_plain(update))
