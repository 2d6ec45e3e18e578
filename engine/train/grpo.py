"""GRPO: TRL's trainer updates the weights, and the episodes are ours.

One decision is one row: its prompt, and the tokens of the action. The rows of an episode have its return as reward.
There are as many rows as an episode may have steps; missing ones are empty. So TRL's mean and deviation over the rows
of a group are those over its episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from engine.errors import UsageError
from engine.settings.train import GrpoSettings
from engine.train.rollouts import PlayedEpisode
from engine.train.run_files import trainer_arguments
from engine.train.trained import TrainingRow


def config(
    settings: GrpoSettings, folder: Path, steps: int, seed: int, world: int, *, cpu: bool
) -> GRPOConfig:
    """Return the configuration of TRL's trainer.

    Args:
        settings: The training settings.
        folder: Folder of the run.
        steps: Largest number of steps of an episode.
        seed: Seed of torch's random numbers.
        world: Number of processes.
        cpu: Whether to compute on the CPU.

    Raises:
        UsageError: The rows cannot be divided among processes and micro-batches.
    """
    rows = settings.group * settings.batch * steps
    per_device = fitting_batch(settings.micro_batch, rows, world)
    return GRPOConfig(
        per_device_train_batch_size=per_device,
        gradient_accumulation_steps=rows // (per_device * world),
        num_generations=settings.group * steps,
        num_iterations=settings.epochs_of_batch,
        max_steps=settings.updates * settings.epochs_of_batch,
        beta=settings.kl,
        use_bias_correction_kl=False,
        epsilon=settings.clip,
        loss_type="grpo",
        scale_rewards="group",
        max_completion_length=256,
        save_steps=settings.save_every * settings.epochs_of_batch,
        **trainer_arguments(settings, folder, seed, cpu=cpu),
    )


def fitting_batch(wanted: int, rows: int, world: int) -> int:
    """Return the largest micro-batch up to `wanted` that divides the rows of each process.

    Raises:
        UsageError: The rows cannot be divided among the processes.
    """
    if rows % world:
        raise UsageError(
            f"{rows} rows (group x batch x steps) cannot be divided among {world} processes; change group or batch"
        )
    own = rows // world
    return next(size for size in range(min(wanted, own), 0, -1) if own % size == 0)


def tasks(names: Sequence[str], groups: int) -> Dataset:
    """Return the data of the trainer: a row for each group, which names its task."""
    count = max(groups, len(names))
    return Dataset.from_list([{"prompt": names[i % len(names)]} for i in range(count)])


def reward(
    prompts: Sequence[str], completions: Sequence[str], episode_return: Sequence[float], **_: Any
) -> list[float]:
    """Return the return of each row's episode."""
    return list(episode_return)


class EpisodeTrainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's GRPO trainer with our episodes, and with the probabilities of the policy that plays them.

    Args:
        play: Returns the episodes of a batch, for the name of the task of each.
        steps: Rows of an episode: the largest number of its steps.
        value: Returns the return of an episode.
    """

    def __init__(
        self,
        *args: Any,
        play: Callable[[Sequence[str]], Sequence[PlayedEpisode]],
        steps: int,
        value: Callable[[PlayedEpisode], float],
        **more: Any,
    ) -> None:
        self._play, self._steps, self._value = play, steps, value
        self._allowed: dict[tuple[int, ...], TrainingRow] = {}
        super().__init__(*args, reward_funcs=reward, rollout_func=EpisodeTrainer._rollout, **more)

    @staticmethod
    def _rollout(prompts: Sequence[str], trainer: EpisodeTrainer) -> dict[str, Any]:
        """Play the episodes of a batch; return their rows. TRL gives a prompt for each row."""
        steps = trainer._steps
        played = trainer._play(list(prompts)[::steps])
        rows, values = [], []
        for episode in played:
            own = list(episode.rows[:steps])
            rows += [*own, *[trainer._empty()] * (steps - len(own))]
            values += [trainer._value(episode)] * steps
        trainer._allowed = {row.prompt + row.action: row for row in rows}
        return {
            "prompt_ids": [list(row.prompt) for row in rows],
            "completion_ids": [list(row.action) for row in rows],
            "logprobs": None,
            "env_mask": [[int(len(tokens) > 1) for tokens in row.allowed] for row in rows],
            "episode_return": values,
        }

    def _empty(self) -> TrainingRow:
        """Return a row with nothing to learn from."""
        token = int(self._tokenizer.pad_token_id)
        return TrainingRow((token,), (token,), ((token,),), (0.0,))

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Any,
        attention_mask: Any,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        **_: Any,
    ) -> tuple[Any, Any, Any]:
        """Return log-probabilities (and entropies) over the tokens that each token was drawn from.

        Shapes are (rows, `logits_to_keep`). Forced tokens have 0.
        """
        size = batch_size or input_ids.size(0)
        parts = [
            self._part(model, input_ids[i : i + size], attention_mask[i : i + size], logits_to_keep)
            for i in range(0, input_ids.size(0), size)
        ]
        logps = torch.cat([part[0] for part in parts])
        entropies = torch.cat([part[1] for part in parts]) if compute_entropy else None
        return logps, entropies, None

    def _part(self, model: Any, ids: Any, mask: Any, keep: int) -> tuple[Any, Any]:
        """Compute some rows. Rows without a choice are left out, and so are columns that are padding in all rows."""
        rows = [
            self._allowed.get(tuple(one[seen.bool()].tolist())) for one, seen in zip(ids, mask, strict=True)
        ]
        chosen = [i for i, row in enumerate(rows) if row is not None and any(len(t) > 1 for t in row.allowed)]
        wanted = chosen or [0]  # one is computed in any case, so that all processes do the same
        ids, mask = ids[wanted], mask[wanted]
        first = int(mask.any(dim=0).int().argmax())
        ids, mask = ids[:, first:], mask[:, first:]
        positions = (mask.cumsum(dim=-1) - 1).clamp(min=0)
        with self.accelerator.autocast():
            logits = model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                logits_to_keep=keep + 1,
                use_cache=False,
            ).logits[:, :-1]
        allowed, drawn = self._tables([rows[i] for i in wanted], keep, ids.device)
        values = logits.float().gather(-1, allowed.clamp(min=0))
        logps = torch.log_softmax(values.masked_fill(allowed < 0, float("-inf")), dim=-1)
        entropies = -(logps.exp() * logps.masked_fill(allowed < 0, 0.0)).sum(dim=-1)
        own = logps.gather(-1, drawn.unsqueeze(-1)).squeeze(-1)
        own = own * (0.0 if not chosen else 1.0)
        full = own.new_zeros((len(rows), keep))
        index = torch.tensor(wanted, device=own.device)
        return full.index_copy(0, index, own), full.detach().index_copy(0, index, entropies.detach())

    @staticmethod
    def _tables(rows: Sequence[TrainingRow | None], keep: int, device: Any) -> tuple[Any, Any]:
        """Return the allowed tokens, (rows, `keep`, most) with -1 for none, and the index of the drawn one in them."""
        most = max((len(tokens) for row in rows if row for tokens in row.allowed), default=1)
        allowed = torch.full((len(rows), keep, most), -1, dtype=torch.long)
        allowed[:, :, 0] = 0  # a position without a choice has one token, and so probability 1
        drawn = torch.zeros((len(rows), keep), dtype=torch.long)
        for i, row in enumerate(rows):
            for t, tokens in enumerate(row.allowed if row else ()):
                allowed[i, t, : len(tokens)] = torch.tensor(tokens)
                drawn[i, t] = tokens.index(row.action[t]) if row else 0
        return allowed.to(device), drawn.to(device)
