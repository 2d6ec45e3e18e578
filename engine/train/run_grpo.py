"""A run of GRPO from its job to its files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback, set_seed

from engine.codec import to_plain
from engine.disk import read_text
from engine.environments import kind_of
from engine.kinds import Kind
from engine.llm import open_model
from engine.llm.model import Model
from engine.paths import slug
from engine.settings.train import GrpoSettings
from engine.train import grpo, models
from engine.train.monitor import Following, finish, write
from engine.train.policy import TriePolicy
from engine.train.prompts import Prompts
from engine.train.rollouts import PlayedEpisode, RolloutPlayer
from engine.train.run_files import (
    CHECKPOINTS,
    TrainingJob,
    WeightUpdate,
    latest_checkpoint,
    read_curve,
    write_curve,
)
from engine.train.sources import find
from engine.train.trained import TrainedModel
from engine.train.usage import ProcessUsage, UsageCounter, together
from engine.train.work import Tell

EPISODES, EVALUATIONS = "episodes-{}.json", "evaluations-{}.json"
"""Files in a checkpoint: the number of episodes of each task that a process has trained with, and evaluated with."""
ROLLOUTS, EVALUATION = "rollouts", "evaluation"
"""Folders of a run with the recordings of episodes: those that are trained with, and those that are not."""


def run(job: TrainingJob, tell: Tell, stopped: Callable[[], bool]) -> None:
    """Train until all updates are done, time is up, or the user stops; then write the adapter and the model.

    Raises:
        JitrlError: It cannot begin or go on.
    """
    settings = GrpoSettings(**job.settings)
    folder = Path(job.folder)
    models.use_threads(settings.train_threads)
    source = find(job.model, Path(job.cache))
    base = models.folder_of(source, Path(job.cache), lambda text: tell("say", text))
    tokenizer = models.open_tokenizer(base)
    set_seed(job.session.seed)
    tell("say", f"loading {job.model}")
    model = models.open_weights(base, settings)
    group = EpisodeGroup(job, settings, TriePolicy(model), tokenizer)
    device = torch.cuda.is_available()
    trainer = grpo.EpisodeTrainer(
        model=model,
        args=grpo.config(
            settings, folder, job.session.settings.step_limit, job.session.seed, group.world, cpu=not device
        ),
        train_dataset=grpo.tasks(job.tasks, settings.batch),
        processing_class=tokenizer,
        peft_config=models.adapter(settings),
        play=group.play,
        steps=job.session.settings.step_limit,
        value=lambda played: sum(played.gains if settings.step_reward == "score" else played.rewards),
    )
    group.policy.use(trainer.accelerator.unwrap_model(trainer.model))
    if job.dry:
        try:
            trainer.current_gradient_accumulation_steps = trainer.args.gradient_accumulation_steps
            batch = next(iter(trainer.get_train_dataloader()))
            loss = trainer.compute_loss(trainer.model, trainer._prepare_inputs(batch))
        finally:
            group.close()
        tell("say", f"built the trainer and one batch; its loss is {float(loss):g}")
        return
    checkpoint = latest_checkpoint(folder / CHECKPOINTS, EPISODES.format(group.rank))
    group.resume(checkpoint, settings.epochs_of_batch)
    if job.write:
        write(trainer, checkpoint, tokenizer, source, job, settings, tell)
        return
    trainer.add_callback(Following(group.follow(tell), stopped, settings.minutes))
    trainer.add_callback(group)
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    finally:
        group.close()
    finish(trainer, tokenizer, source, job, settings, tell, stopped())


class EpisodeGroup(TrainerCallback):  # type: ignore[misc]
    """The episodes of this process, and what they took.

    Args:
        job: The job.
        settings: The training settings.
        policy: Scores actions with the weights that are trained.
        tokenizer: That of the model.
    """

    def __init__(self, job: TrainingJob, settings: GrpoSettings, policy: TriePolicy, tokenizer: Any) -> None:
        from accelerate import PartialState

        state = PartialState(cpu=not torch.cuda.is_available())
        self.rank, self.world = int(state.process_index), int(state.num_processes)
        self.policy = policy
        self._job, self._settings, self._tokenizer = job, settings, tokenizer
        self._players: dict[tuple[str, str], RolloutPlayer] = {}
        self._trained: dict[str, int] = {}
        self._evaluated: dict[str, int] = {}
        self._judging: Model | None = None
        self._counts = UsageCounter()
        self._latest: list[PlayedEpisode] = []
        self._updates: list[WeightUpdate] = []

    def play(self, names: Sequence[str]) -> list[PlayedEpisode]:
        """Return an episode for each name of a task."""
        played: list[PlayedEpisode] = []
        at = 0
        while at < len(names):
            count = next((i for i in range(at, len(names)) if names[i] != names[at]), len(names)) - at
            played += self._player(names[at]).play(count)
            at += count
        for episode in played:
            self._trained[episode.task] = self._trained.get(episode.task, 0) + 1
            self._counts.add(episode, self._settings.epochs_of_batch)
        self._latest = played
        return played

    def evaluate(self) -> tuple[float, ...]:
        """Return the scores of episodes that are not trained with, played with the weights as they are now.

        The first process plays them all, so that they do not depend on the number of processes.
        """
        count, scores = self._settings.evaluations, []
        for task in self._job.tasks if self.rank == 0 and count else ():
            scores += [episode.score for episode in self._player(task, EVALUATION).play(count)]
            self._evaluated[task] = self._evaluated.get(task, 0) + count
        return tuple(gather_object(scores))

    def _player(self, task: str, which: str = ROLLOUTS) -> RolloutPlayer:
        if (task, which) not in self._players:
            job, settings = self._job, self._settings
            trained = which == ROLLOUTS
            kind = kind_of(task)
            prompts = Prompts(self._tokenizer, kind.asking(), settings.prompt, settings.train_prompt_tokens)
            rollouts = settings.updates * settings.batch * settings.group
            # Random draws go by the number of an episode among all workers. The numbers of evaluations come after those
            # of all rollouts: with the same ones, they would play the first rollouts again.
            last = rollouts + 1
            config = dataclasses.replace(
                job.session,
                game=task,
                model=job.model,
                episodes=rollouts if trained else settings.updates * settings.evaluations,
                workers=self.world if trained else last,
                worker=self.rank + 1 if trained else last,
            )
            folder = Path(job.folder) / which / f"{slug(task)}-{self.rank}"
            model = TrainedModel(job.name, self.policy, prompts)
            evaluator = None
            if trained and settings.step_reward == "evaluator":
                evaluator = kind.evaluator(job.session.settings, self._judge(kind))
            known = (self._trained if trained else self._evaluated).get(task, 0)
            self._players[task, which] = RolloutPlayer(config, folder, Path(job.saves), model, known, evaluator)
        return self._players[task, which]

    def _judge(self, kind: Kind) -> Model:
        """Return the model that judges steps, opened; one that is never asked if the score judges."""
        if self._judging is None:
            name = self._settings.judge or "prior/uniform"
            cache = Path(self._job.cache)
            self._judging = open_model(name, settings=self._job.session.settings, cache=cache, asking=kind.asking())
        return self._judging

    def resume(self, checkpoint: Path | None, epochs: int) -> None:
        """Go on from a checkpoint: what came after it is taken out of the curve and the recordings."""
        updates = read_curve(Path(self._job.folder))
        if checkpoint is None:
            self._updates, self._trained = [], {}
            return
        done = int(checkpoint.name.rpartition("-")[2]) // epochs
        self._updates = [update for update in updates if update.update <= done]
        if self._updates and self.rank == 0:  # the curve has the sums of all processes
            self._counts = UsageCounter.of(self._updates[-1])
        self._trained = json.loads(read_text(checkpoint / EPISODES.format(self.rank)))
        evaluated = checkpoint / EVALUATIONS.format(self.rank)  # earlier versions wrote none
        self._evaluated = json.loads(read_text(evaluated)) if evaluated.is_file() else {}

    def follow(self, tell: Tell) -> Callable[[int, Mapping[str, float]], None]:
        """Return what writes a line of the curve for the numbers of an update, and tells it."""

        def write_update(step: int, logs: Mapping[str, float]) -> None:
            if step % self._settings.epochs_of_batch:
                return
            taken = [ProcessUsage(**one) for one in gather_object([to_plain(self._counts.now())])]
            latest = gather_object([(self._value(one), one.score) for one in self._latest])
            update = WeightUpdate(
                step // self._settings.epochs_of_batch,
                **to_plain(together(taken)),
                returns=tuple(value for value, _ in latest),
                scores=tuple(score for _, score in latest),
                loss=logs.get("loss"),
                kl=logs.get("kl"),
                gradient_norm=logs.get("grad_norm"),
                entropy=logs.get("entropy"),
                idle=logs.get("frac_reward_zero_std"),
                evaluation=self.evaluate(),
            )
            self._updates.append(update)
            if self.rank == 0:
                write_curve(Path(self._job.folder), self._updates)
            tell("update", to_plain(update))

        return write_update

    def _value(self, played: PlayedEpisode) -> float:
        return sum(played.gains if self._settings.step_reward == "score" else played.rewards)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write beside a checkpoint how many episodes it was trained and evaluated with."""
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        (folder / EVALUATIONS.format(self.rank)).write_text(json.dumps(self._evaluated))
        (folder / EPISODES.format(self.rank)).write_text(json.dumps(self._trained))

    def close(self) -> None:
        """End the sessions."""
        for player in self._players.values():
            player.close()
        if self._judging is not None:
            self._judging.close()
