"""Writes what was trained: the adapter, the merged model as a folder, and a model file (GGUF) that jitrl plays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import FailingAs, StorageError
from engine.llm.local import metadata
from engine.llm.local.weights import TRAINED
from engine.train.sources import ModelSource

ADAPTER, MERGED = "adapter", "model"
"""Folders that are written into the folder of a run, beside the model file (`engine.llm.local.weights.TRAINED`)."""
PERMUTED = ("llama",)
"""Architectures whose model files have the rows of queries and keys in another order than transformers."""
PLAIN = ("qwen2", "qwen3")
"""Architectures whose model files have all weights as transformers has them."""
LARGE = 30_000.0
"""Weights of bf16 below this are merged at f16, whose largest number is 65504."""
F16, Q8_0 = 1, 7
"""Values of `general.file_type`."""


def write(
    model: Any, tokenizer: Any, source: ModelSource, folder: Path, *, prompt: str, run: str, kind: str
) -> str:
    """Write the results of a run into its folder.

    Args:
        model: The trained model, with its adapter if it has one.
        tokenizer: Its tokenizer.
        source: The model before training.
        folder: Folder of the run.
        prompt: Name of the prompt that it was trained with.
        run: Name of the run.
        kind: "f16" or "q8_0", the numbers of the model file.

    Returns:
        Why there is no model file, "" if there is one.

    Raises:
        StorageError: They cannot be written.
    """
    with FailingAs(StorageError, f"cannot write in {folder}", "free some space"):
        if hasattr(model, "merge_and_unload"):
            model.save_pretrained(folder / ADAPTER)
            _finer(model)
            model = model.merge_and_unload()
        model.save_pretrained(folder / MERGED)
        tokenizer.save_pretrained(folder / MERGED)
        if source.folder is not None:
            return "it was made from a folder, whose model file is unknown; llama.cpp's converter makes one"
        architecture = str(metadata.read(source.path).values.get("general.architecture"))
        if architecture not in (*PERMUTED, *PLAIN):
            return f"jitrl does not know how files of the architecture {architecture} are written"
        weights = {name: tensor.float().cpu().numpy() for name, tensor in model.state_dict().items()}
        _file(weights, model.config, source.path, folder / TRAINED, prompt, run, kind)
    return ""


def _finer(model: Any) -> None:
    """Store weights of bf16 as f16, of the same size but with 8 times finer steps: an adapter's part is small."""
    import torch

    with torch.no_grad():
        for weight in model.parameters():
            if weight.dtype == torch.bfloat16 and float(weight.abs().max()) < LARGE:
                weight.data = weight.data.half()


def _file(
    weights: Mapping[str, Any], config: Any, original: Path, target: Path, prompt: str, run: str, kind: str
) -> None:
    """Write a model file with the metadata of the original one and other weights.

    The keys of jitrl come first, with a digest of the weights: files are told apart by their beginning and their end.
    """
    import gguf

    reader = gguf.GGUFReader(str(original))
    architecture = _value(reader.fields["general.architecture"])
    unfinished = target.with_suffix(".part")
    writer = gguf.GGUFWriter(str(unfinished), architecture)
    writer.add_string(metadata.PROMPT, prompt)
    writer.add_string(metadata.SAMPLING, metadata.CONSTRAINED)
    writer.add_string(metadata.RUN, f"{run} {_digest(weights)}")
    own = {metadata.PROMPT, metadata.SAMPLING, metadata.RUN, "general.architecture"}
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in own:
            continue
        value = _value(field)
        if field.name == "general.file_type":
            value = Q8_0 if kind == "q8_0" else F16
        array = field.types[0] == gguf.GGUFValueType.ARRAY
        writer.add_key_value(field.name, value, field.types[0], field.types[-1] if array else None)
    wide = gguf.GGMLQuantizationType.Q8_0 if kind == "q8_0" else gguf.GGMLQuantizationType.F16
    for name, tensor in _tensors(weights, config, architecture, {one.name for one in reader.tensors}):
        which = gguf.GGMLQuantizationType.F32 if tensor.ndim == 1 else wide
        writer.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(tensor), which), raw_dtype=which)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    unfinished.replace(target)


def _value(field: Any) -> Any:
    return field.contents()


def _digest(weights: Mapping[str, Any]) -> str:
    whole = hashlib.sha256()
    for name in sorted(weights):
        whole.update(name.encode() + np.ascontiguousarray(weights[name]).tobytes())
    return whole.hexdigest()[:16]


def _tensors(
    weights: Mapping[str, Any], config: Any, architecture: str, wanted: set[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a model file, with their names there."""
    import gguf

    number = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(number, config.num_hidden_layers)
    heads = {
        "q_proj": config.num_attention_heads,
        "k_proj": getattr(config, "num_key_value_heads", None) or config.num_attention_heads,
    }
    for name, tensor in weights.items():
        there = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if there is None or there not in wanted:
            continue  # such as an output layer that is tied to the embeddings
        layer = name.split(".")[-2]
        if architecture in PERMUTED and layer in heads:
            yield there, permute(tensor, heads[layer])
        else:
            yield there, tensor


def permute(tensor: Any, heads: int) -> Any:
    """Return the rows of queries or keys in the order of model files: halves of a head's rotation are interleaved."""
    rows = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:])
    return rows.swapaxes(1, 2).reshape(tensor.shape)
