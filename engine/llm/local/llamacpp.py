"""llama.cpp's C interface inside xllamacpp's extension; only what `engine.llm.local.runtime` needs.

Structures change between versions. Before one is used, the default values in it are compared with the known ones. So
another version is refused instead of misread.
"""

from __future__ import annotations

import ctypes as c
import functools
import re
import struct
from typing import Any

import numpy as np

from engine.errors import MissingError

INSTALL = "install jitrl anew, which takes xllamacpp==2026.10.11549"


class Params(c.Structure):
    """Parameters passed by value, larger than in any version; bytes after the real end are not read."""

    _fields_ = [("bytes", c.c_uint8 * 1024)]


class Batch(c.Structure):
    """llama_batch: tokens with their positions and sequences."""

    _fields_ = [
        ("n_tokens", c.c_int32),
        ("token", c.POINTER(c.c_int32)),
        ("embd", c.c_void_p),
        ("pos", c.POINTER(c.c_int32)),
        ("n_seq_id", c.POINTER(c.c_int32)),
        ("seq_id", c.POINTER(c.POINTER(c.c_int32))),
        ("logits", c.POINTER(c.c_int8)),
    ]


class Message(c.Structure):
    """llama_chat_message."""

    _fields_ = [("role", c.c_char_p), ("content", c.c_char_p)]


class TokenArray(c.Structure):
    """llama_token_data_array."""

    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t), ("selected", c.c_int64), ("sorted", c.c_bool)]


TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])

_LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)
PROGRESS = c.CFUNCTYPE(c.c_bool, c.c_float, c.c_void_p)

_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_backend_init": (None, ()),
    "llama_log_set": (None, (_LOG, c.c_void_p)),
    "llama_model_default_params": (Params, ()),
    "llama_context_default_params": (Params, ()),
    "llama_model_load_from_file": (c.c_void_p, (c.c_char_p, Params)),
    "llama_model_free": (None, (c.c_void_p,)),
    "llama_model_get_vocab": (c.c_void_p, (c.c_void_p,)),
    "llama_model_n_ctx_train": (c.c_int32, (c.c_void_p,)),
    "llama_model_chat_template": (c.c_char_p, (c.c_void_p, c.c_char_p)),
    "llama_model_meta_val_str": (c.c_int32, (c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t)),
    "llama_init_from_model": (c.c_void_p, (c.c_void_p, Params)),
    "llama_free": (None, (c.c_void_p,)),
    "llama_n_ctx": (c.c_uint32, (c.c_void_p,)),
    "llama_n_ctx_seq": (c.c_uint32, (c.c_void_p,)),
    "llama_n_ubatch": (c.c_uint32, (c.c_void_p,)),
    "llama_n_seq_max": (c.c_uint32, (c.c_void_p,)),
    "llama_n_threads": (c.c_int32, (c.c_void_p,)),
    "llama_vocab_n_tokens": (c.c_int32, (c.c_void_p,)),
    "llama_vocab_is_eog": (c.c_bool, (c.c_void_p, c.c_int32)),
    "llama_vocab_get_add_bos": (c.c_bool, (c.c_void_p,)),
    "llama_tokenize": (
        c.c_int32,
        (c.c_void_p, c.c_char_p, c.c_int32, c.POINTER(c.c_int32), c.c_int32, c.c_bool, c.c_bool),
    ),
    "llama_token_to_piece": (
        c.c_int32, (c.c_void_p, c.c_int32, c.c_char_p, c.c_int32, c.c_int32, c.c_bool),
    ),
    "llama_chat_apply_template": (
        c.c_int32, (c.c_char_p, c.POINTER(Message), c.c_size_t, c.c_bool, c.c_char_p, c.c_int32),
    ),
    "llama_get_memory": (c.c_void_p, (c.c_void_p,)),
    "llama_memory_clear": (None, (c.c_void_p, c.c_bool)),
    "llama_memory_seq_rm": (c.c_bool, (c.c_void_p, c.c_int32, c.c_int32, c.c_int32)),
    "llama_memory_seq_cp": (None, (c.c_void_p, c.c_int32, c.c_int32, c.c_int32, c.c_int32)),
    "llama_state_seq_get_size": (c.c_size_t, (c.c_void_p, c.c_int32)),
    "llama_state_seq_get_data": (c.c_size_t, (c.c_void_p, c.c_void_p, c.c_size_t, c.c_int32)),
    "llama_state_seq_set_data": (c.c_size_t, (c.c_void_p, c.c_void_p, c.c_size_t, c.c_int32)),
    "llama_batch_init": (Batch, (c.c_int32, c.c_int32, c.c_int32)),
    "llama_batch_free": (None, (Batch,)),
    "llama_decode": (c.c_int32, (c.c_void_p, Batch)),
    "_Z22llama_sampler_init_llgPK11llama_vocabPKcS3_": (c.c_void_p, (c.c_void_p, c.c_char_p, c.c_char_p)),
    "llama_sampler_apply": (None, (c.c_void_p, c.POINTER(TokenArray))),
    "llama_sampler_accept": (None, (c.c_void_p, c.c_int32)),
    "llama_sampler_free": (None, (c.c_void_p,)),
    "llama_get_logits_ith": (c.POINTER(c.c_float), (c.c_void_p, c.c_int32)),
}  # fmt: skip

# Offset, format and default value of the parameters that are set. The structures change between versions:
# if a default is not at its offset, this interface must not be used.
MODEL_LAYOUT = {"n_gpu_layers": (16, "<i", -1), "split_mode": (20, "<i", 1), "load_mode": (28, "<i", 1),
                 "progress": (48, "<Q", 0), "progress_data": (56, "<Q", 0)}  # fmt: skip
CONTEXT_LAYOUT = {
    "n_ctx": (0, "<I", 512), "n_batch": (4, "<I", 2048), "n_ubatch": (8, "<I", 512),
    "n_seq_max": (12, "<I", 1), "n_outputs_max_per_seq": (24, "<I", 1), "n_threads": (28, "<i", 4),
    "n_threads_batch": (32, "<i", 4), "flash_attn": (52, "<i", -1),
    "flags": (136, "<6s", b"\x00\x01\x01\x01\x01\x00"), "kv_unified": (141, "<B", 0),
}  # fmt: skip


def _help(error: str) -> str:
    """Say what helps. Debian names the package of a system's library after the library and its version."""
    library = re.match(r"(lib[a-z0-9+-]+)\.so\.(\d+)", error)
    if library is None:
        return INSTALL
    return f"install that library of the system, on Debian or Ubuntu with: apt install {library[1]}{library[2]}"


class Unsupported(Exception):
    """The installed xllamacpp has another C interface than the known one."""


class Library:
    """The C functions of the installed extension.

    Raises:
        MissingError: xllamacpp is not installed.
        Unsupported: Its functions or structures are not the known ones.
    """

    def __init__(self) -> None:
        try:
            from xllamacpp import xllamacpp as extension
        except ImportError as error:
            raise MissingError(f"the runtime for local models does not load ({error}); {_help(str(error))}") from None
        self._dll = c.CDLL(extension.__file__)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self._dll, name, None)
            if function is None:
                raise Unsupported(f"xllamacpp lacks {name}")
            function.restype, function.argtypes = result, list(arguments)
        self._silence = _LOG(lambda level, text, data: None)
        self.llama_log_set(self._silence, None)
        self.llama_backend_init()
        self.model_params = self._defaults("llama_model_default_params", MODEL_LAYOUT)
        self.context_params = self._defaults("llama_context_default_params", CONTEXT_LAYOUT)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dll, name)

    def _defaults(self, function: str, layout: dict[str, tuple[int, str, Any]]) -> bytes:
        raw = bytes(getattr(self._dll, function)().bytes)
        for name, (offset, form, default) in layout.items():
            if struct.unpack_from(form, raw, offset)[0] != default:
                raise Unsupported(f"xllamacpp has {name} at another offset")
        return raw


@functools.cache
def library() -> Library:
    """Return the Library. There is one per process, because llama.cpp calls its log function until the end."""
    return Library()


def params(raw: bytes, layout: dict[str, tuple[int, str, Any]], **values: Any) -> Params:
    """Return the default parameters `raw` with some changed."""
    changed = bytearray(raw)
    for name, value in values.items():
        offset, form, _ = layout[name]
        struct.pack_into(form, changed, offset, value)
    return Params.from_buffer_copy(bytes(changed))
