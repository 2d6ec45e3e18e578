"""The lines in which training is told."""

from __future__ import annotations

from engine.train.jobs import Update

HEAD = "update  episodes    return   best    loss      kl  gradient  entropy  cpu min    eval"


def line(update: Update) -> str:
    """Return an update as a line under `HEAD`."""
    returns = update.returns
    mean = f"{sum(returns) / len(returns):9.2f} {max(returns):6.2f}" if returns else f"{'':9} {'':6}"
    evaluated = f"{sum(update.evaluation) / len(update.evaluation):7.2f}" if update.evaluation else ""
    return (
        f"{update.update:6d} {update.episodes:9d} {mean} {_number(update.loss, 7, 3)} {_number(update.kl, 7, 4)} "
        f"{_number(update.gradient_norm, 9, 3)} {_number(update.entropy, 8, 3)} {update.processor_s / 60:8.1f} "
        f"{evaluated}"
    ).rstrip()


def taken(update: Update) -> str:
    """Return what a run took up to an update, in a sentence."""
    tokens = update.prompt_tokens + update.completion_tokens
    return (
        f"{update.episodes} episodes with {update.environment_steps} steps and {tokens:,} tokens; gradients of "
        f"{update.trained_tokens:,} tokens; {update.processor_s / 3600:.2f} processor hours"
    )


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{value:{width}.{digits}f}" if value is not None else " " * width
