"""Finds the model to train: a folder of transformers, or a model file (GGUF), and tells how large it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from engine.disk import open_binary, printable, read_bytes
from engine.errors import BadFile, MissingError, UsageError
from engine.llm.local import metadata, weights
from engine.paths import slug


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model that can be trained.

    Attributes:
        name: Its name as the user gave it.
        key: A name for its folder in the cache.
        path: The model file, or the folder.
        folder: The folder, None if it has to be made from a file.
        parameters: Number of weights.
        hidden: Width of a layer.
        layers: Number of layers.
        vocabulary: Number of tokens.
        template: Whether it has a chat template.
    """

    name: str
    key: str
    path: Path
    folder: Path | None
    parameters: int
    hidden: int
    layers: int
    vocabulary: int
    template: bool

    @property
    def bytes_of_folder(self) -> int:
        """Size of the folder with 32-bit weights."""
        return 4 * self.parameters


def find(name: str, cache: Path) -> ModelSource:
    """Return the model with this name.

    Args:
        name: `local/smollm2` or another `local/NAME`, `local:/path/to/file.gguf`, or the path of a folder.
        cache: Folder of joined weights.

    Raises:
        MissingError: It is not there.
        UsageError: No such local model, or a model behind an API.
        BadFile: It is no model that can be trained.
    """
    path = Path(name.removeprefix("local:")).expanduser()
    if name.startswith("local/"):
        path = weights.find(name, cache)
    elif not path.exists():
        if name.startswith(("local:", ".", "/", "~")):
            raise MissingError(f"there is no model at {printable(path)}")
        raise UsageError(
            f"{name} cannot be trained here; choose local/smollm2, local:/path/to/file.gguf, or a folder of "
            "transformers"
        )
    return _of_folder(name, path.absolute()) if path.is_dir() else _of_file(name, path.absolute())


def _of_folder(name: str, folder: Path) -> ModelSource:
    try:
        config = json.loads(read_bytes(folder / "config.json"))
        hidden, layers = int(config["hidden_size"]), int(config["num_hidden_layers"])
        vocabulary = int(config["vocab_size"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BadFile(
            f"{printable(folder)} is no folder of a language model: it has no usable config.json"
        ) from None
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise BadFile(f"{printable(folder)} has no weights (*.safetensors)")
    count = sum(_weights_of(file) for file in files)
    return ModelSource(
        name, slug(folder.name), folder, folder, count, hidden, layers, vocabulary, _template(folder)
    )


def _template(folder: Path) -> bool:
    """Whether a folder has a chat template: in a file of its own, or with the tokenizer."""
    if (folder / "chat_template.jinja").is_file():
        return True
    try:
        return bool(json.loads(read_bytes(folder / "tokenizer_config.json")).get("chat_template"))
    except (OSError, ValueError, AttributeError):
        return False


def _weights_of(file: Path) -> int:
    """Return the number of weights in a file, from its header."""
    try:
        with open_binary(file) as data:
            size = int.from_bytes(data.read(8), "little")
            header = json.loads(data.read(size)) if size < 1 << 27 else {}
    except (OSError, ValueError):
        raise BadFile(f"{printable(file)} is damaged: its header cannot be read") from None
    total = 0
    for key, tensor in header.items():
        if key != "__metadata__":
            count = 1
            for length in tensor["shape"]:
                count *= length
            total += count
    return total


def _of_file(name: str, path: Path) -> ModelSource:
    weights.check_file(path)
    about = metadata.read(path)
    key = f"{slug(path.stem)}-{weights.fingerprint(path)[:8]}"
    hidden, layers = about.number("embedding_length"), about.number("block_count")
    if not hidden or not layers:
        raise BadFile(f"{printable(path)} does not say how large its layers are")
    vocabulary = about.lengths.get("tokenizer.ggml.tokens", 0)
    template = bool(about.values.get("tokenizer.chat_template"))
    return ModelSource(name, key, path, None, about.parameters, hidden, layers, vocabulary, template)
