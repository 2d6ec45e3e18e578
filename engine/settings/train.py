"""How weights are trained (`jitrl train`). These settings are not part of those of a session."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting

PROMPTS = ("actions_brief", "actions_listed", "actions_transcript")
"""The prompts after which a local model's actions are scored."""


@dataclass(frozen=True)
class TrainingSettings(SettingsGroup):
    """What SFT and GRPO have in common: the weights that are trained, and how far each update goes."""

    learning_rate: float = setting(
        1e-4,
        "step size of the optimizer (AdamW); with LoRA about a hundred times that of all weights",
        1e-9,
        1.0,
    )
    lora_rank: int = setting(16, "rank of the LoRA matrices; 0 trains all weights", 0, 1024)
    lora_alpha: float = setting(32.0, "LoRA's scale: its product counts alpha / rank times", 0.001, 1e5)
    lora_dropout: float = setting(
        0.0, "share of LoRA's inputs that are left out; above 0, GRPO trains another policy than it samples",
        0.0, 0.9,
    )  # fmt: skip
    micro_batch: int = setting(
        4, "rows that are computed at a time on each device; less needs less memory", 1, 4096
    )
    activations: str = setting(
        "keep", "what gradients need of the layers: kept, or computed again (less memory, a third slower)",
        choices=("keep", "recompute"),
    )  # fmt: skip
    gradient_norm: float = setting(
        1.0, "largest norm of a gradient; longer ones are scaled down to it", 1e-6, 1e6
    )
    precision: str = setting(
        "fp32", "numbers to compute with: 32 bits, or bf16 (GPUs; what is trained stays at 32 bits)",
        choices=("fp32", "bf16"),
    )  # fmt: skip
    prompt: str = setting(
        "actions_brief",
        "prompt after which actions are scored, in games: with the valid actions (brief, or listed with more "
        "instructions), or a transcript",
        choices=PROMPTS,
    )
    train_prompt_tokens: int = setting(
        512, "largest number of tokens of a prompt; the oldest text is left out first", 64, 10**6
    )
    file_type: str = setting(
        "f16", "numbers of the model file that is written at the end: 16 bits, or 8 bits in blocks of 32",
        choices=("f16", "q8_0"),
    )  # fmt: skip
    save_every: int = setting(1, "updates between two checkpoints", 1, 10**6)
    kept_checkpoints: int = setting(2, "number of checkpoints that are kept", 1, 10**4)
    train_threads: int = setting(0, "threads of torch; 0 for all cores but one", 0, 256)


@dataclass(frozen=True)
class GrpoSettings(TrainingSettings):
    """GRPO: groups of episodes from one start, compared with each other."""

    group: int = setting(
        8, "episodes of a group, G: the advantage of each is relative to this group", 2, 4096
    )
    batch: int = setting(
        1, "groups of an update, B (the paper's batch size); each has its own mean and deviation", 1, 4096
    )
    updates: int = setting(
        50, "batches of episodes; each is played with the latest weights", 1, 10**6
    )
    epochs_of_batch: int = setting(
        1, "optimizer steps for each batch (the paper's PPO epochs)", 1, 100
    )
    evaluations: int = setting(
        1, "episodes of each task played after each update, and not trained with", 0, 1000
    )
    minutes: float = setting(0.0, "minutes after which no further update begins; 0 for no limit", 0.0, 1e6)
    kl: float = setting(
        0.001, "weight of the divergence from the weights at the start (low-variance estimate)", 0.0, 100.0
    )
    clip: float = setting(
        0.2, "largest change of a probability's ratio that an update follows", 0.001, 10.0
    )
    step_reward: str = setting(
        "score",
        "what the return of an episode sums: changes of the score, or the evaluator's step rewards (setting `rewards`)",
        choices=("score", "evaluator"),
    )
    judge: str = setting(
        "", "model that judges steps, where the evaluator asks one"
    )


@dataclass(frozen=True)
class SftSettings(TrainingSettings):
    """SFT: the actions of recorded episodes are made more likely."""

    epochs: float = setting(3.0, "passes over the data", 0.01, 1e4)
    sft_batch: int = setting(8, "rows of an update", 1, 4096)
    best: float = setting(
        0.2, "share of the recorded episodes that is learnt from, the highest scores first", 0.001, 1.0
    )
    least_score: float = setting(-1e9, "episodes with a lower score are not learnt from", -1e9, 1e9)
    at_most: int = setting(10_000, "largest number of rows", 1, 10**8)
