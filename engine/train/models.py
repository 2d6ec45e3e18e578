"""Model folders of transformers: any that the user names, and one made once from a model file (GGUF)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.errors import BadFile, FailingAs, StorageError
from engine.llm.local.engine import default_threads
from engine.paths import ensure_folder
from engine.settings.train import TrainingSettings
from engine.texts import clipped
from engine.train.sources import ModelSource

WEIGHTS = "model.safetensors"


def folder_of(source: ModelSource, cache: Path, say: Callable[[str], None]) -> Path:
    """Return the folder of a model; that of a model file is made in `cache` if it is missing.

    Raises:
        BadFile: The model file cannot be read.
        StorageError: The folder cannot be written.
    """
    if source.folder is not None:
        return source.folder
    target = cache / "train" / source.key
    if not (target / WEIGHTS).is_file():
        say(f"making a model folder of {source.name} ({source.bytes_of_folder / 2**20:,.0f} MB)")
        unfinished = ensure_folder(target.with_name(f"{target.name}.{os.getpid()}.part"))
        try:
            with FailingAs(StorageError, f"cannot write {target}", "free some space"):
                _unpack(source.path, unfinished)
                shutil.rmtree(target, ignore_errors=True)
                unfinished.replace(target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return target


def _unpack(path: Path, target: Path) -> None:
    """Write the model of a GGUF file as a plain folder with 32-bit weights.

    transformers takes a model read from GGUF for a quantized one and does not save it. So its weights are put into a
    new one of the same configuration.

    Raises:
        BadFile: It cannot be read.
    """
    folder, name = str(path.parent), path.name
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
        read = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    except Exception as error:
        raise BadFile(f"transformers cannot read {path}: {clipped(str(error), 300)}") from None
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(read.state_dict())
    plain.tie_weights()
    plain.save_pretrained(target)
    tokenizer.save_pretrained(target)


def open_tokenizer(folder: Path) -> Any:
    """Return the tokenizer of a model folder.

    Raises:
        BadFile: There is none.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        raise BadFile(f"the tokenizer in {folder} cannot be read: {clipped(str(error), 300)}") from None
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    return tokenizer


def open_weights(folder: Path, settings: TrainingSettings) -> Any:
    """Return the model of a folder. Weights that are trained stay at 32 bits: most updates are too small for bf16.

    Raises:
        BadFile: It cannot be read.
    """
    dtype = torch.bfloat16 if settings.precision == "bf16" and settings.lora_rank else torch.float32
    try:
        return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    except Exception as error:
        raise BadFile(f"the model in {folder} cannot be read: {clipped(str(error), 300)}") from None


def use_threads(count: int) -> None:
    """Let torch compute with so many threads; 0 for all cores but one."""
    torch.set_num_threads(count or default_threads())


def adapter(settings: TrainingSettings) -> Any:
    """Return the configuration of the adapter (LoRA), None if all weights are trained."""
    if settings.lora_rank == 0:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        lora_dropout=settings.lora_dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
