"""Runs llama.cpp through the C interface in xllamacpp's extension.

xllamacpp's own interface is llama.cpp's server, which predicts one token per call. Here a whole tree of actions is
computed in one pass, after a prompt that stays cached between calls.

Scores are the same to the bit whether the prompt was cached or not, and whether actions are scored together or one by
one. Two choices make them independent of what else is computed: flash attention, which skips masked cells instead of
summing zeros, and at most UBATCH tokens per pass, below the size at which llama.cpp uses another kernel.
"""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import MissingError, ModelError, TooLong
from engine.llm.local.llamacpp import (
    CONTEXT_LAYOUT,
    MODEL_LAYOUT,
    PROGRESS,
    TOKEN_DATA,
    Library,
    Message,
    TokenArray,
    Unsupported,
    library,
    params,
)  # fmt: skip
from engine.llm.local.trie import Trie, build

UBATCH = 32
SEQUENCES = 128
"""Sequences in the attention state. The prompt is sequence 0, the others are tails."""

TAILS = SEQUENCES - 1
"""Most tails scored in one pass."""

TOO_LONG = "the prompt has {} tokens, but {} takes only {}"


Check = Callable[[], None]
"""Called between passes; it raises an exception to end a call."""


def _free() -> None:
    """Never end a call; the default check."""


class AnswerGrammar:
    """Decides which token may come next under a JSON schema. It holds native memory until `close`."""

    def __init__(self, lib: Library, sampler: int) -> None:
        self._lib = lib
        self._sampler: int | None = sampler

    def best(self, weights: NDArray[np.float64]) -> int:
        """Return the allowed token with the largest weight.

        Raises:
            ModelError: No token is allowed.
        """
        first = int(weights.argmax())
        if np.isfinite(self._masked(np.asarray([first]))).all():
            return first
        allowed = self._masked(np.arange(len(weights)))
        if not np.isfinite(allowed).any():
            raise ModelError("no token can continue the model's answer under its JSON schema")
        return int(np.where(np.isfinite(allowed), weights, -np.inf).argmax())

    def _masked(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        data = np.zeros(len(tokens), dtype=TOKEN_DATA)
        data["id"] = tokens
        array = TokenArray(data.ctypes.data, len(data), -1, False)
        self._lib.llama_sampler_apply(self._sampler, c.byref(array))
        return np.asarray(data["logit"])

    def accept(self, token: int) -> None:
        """Advance the grammar by one token."""
        self._lib.llama_sampler_accept(self._sampler, token)

    def close(self) -> None:
        """Free the memory; calling this twice is safe."""
        if self._sampler:
            self._lib.llama_sampler_free(self._sampler)
        self._sampler = None


class Runtime:
    """One GGUF model in memory, with the attention state of the last prompt. Not thread-safe.

    Args:
        path: The GGUF file.
        threads: Threads to compute with.
        context: Most tokens of prompt and actions together.
        on_progress: Called with the loaded share, 0 to 1. Loading stops if it returns False.

    Raises:
        MissingError: The file is missing, is no model, or does not load.
        Unsupported: See Library.
    """

    def __init__(
        self, path: Path, *, threads: int, context: int, on_progress: Callable[[float], bool] | None = None
    ) -> None:
        self._model: int | None = None
        self._context: int | None = None
        if not path.is_file():
            raise MissingError(f"the model file {path} is not there")
        self._lib = lib = library()
        watch = on_progress or (lambda share: True)
        progress = PROGRESS(lambda share, data: bool(watch(share)))
        self._model = lib.llama_model_load_from_file(
            os.fsencode(path),
            params(
                lib.model_params, MODEL_LAYOUT, n_gpu_layers=0, progress=c.cast(progress, c.c_void_p).value
            ),
        )
        if not self._model:
            raise MissingError(
                f"{path} does not load: it is damaged, cut short, or no GGUF model; or there is too little memory"
            )
        self.context = min(context, max(512, int(lib.llama_model_n_ctx_train(self._model))))
        self._open_context(threads)
        self._vocabulary = lib.llama_model_get_vocab(self._model)
        self._size = int(lib.llama_vocab_n_tokens(self._vocabulary))
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(UBATCH, 0, SEQUENCES)
        self._cached: list[int] = []
        self._next: NDArray[np.float32] | None = None
        """The logits after `_cached`, None if not computed."""
        self.name = path.stem

    def _open_context(self, threads: int) -> None:
        lib = self._lib
        self._context = lib.llama_init_from_model(
            self._model,
            params(
                lib.context_params, CONTEXT_LAYOUT, n_ctx=self.context, n_batch=SEQUENCES, n_ubatch=UBATCH,
                n_seq_max=SEQUENCES, n_outputs_max_per_seq=UBATCH, n_threads=threads,
                n_threads_batch=threads, flash_attn=1, kv_unified=1,
            ),
        )  # fmt: skip
        if not self._context:
            raise MissingError("the model loads, but there is not enough memory to run it")
        found = (lib.llama_n_ubatch(self._context), lib.llama_n_seq_max(self._context),
                 lib.llama_n_threads(self._context), lib.llama_n_ctx_seq(self._context))  # fmt: skip
        if found[:3] != (UBATCH, SEQUENCES, threads) or found[3] < self.context:
            raise Unsupported("xllamacpp did not use the parameters that it was given")

    # ------------------------------------------------------------------------------------------ text

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of `text`. With `special`, control words such as <|im_end|> become one token."""
        raw = text.encode()
        room = (c.c_int32 * (len(raw) + 8))()
        count = self._lib.llama_tokenize(self._vocabulary, raw, len(raw), room, len(room), False, special)
        return list(room[: max(count, 0)])

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token, which are none for control tokens."""
        room = c.create_string_buffer(256)
        length = self._lib.llama_token_to_piece(self._vocabulary, token, room, 256, 0, False)
        return room.raw[: max(length, 0)]

    def ends(self, token: int) -> bool:
        """Whether a token ends the model's answer."""
        return bool(self._lib.llama_vocab_is_eog(self._vocabulary, token))

    def render(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return (role, content) messages in the model's chat format, up to the beginning of its answer."""
        template = self._lib.llama_model_chat_template(self._model, None)
        chat = (Message * len(messages))(*[Message(r.encode(), t.encode()) for r, t in messages])
        size = 2 * sum(len(t.encode()) + 64 for _, t in messages) + 1024
        room = c.create_string_buffer(size)
        length = -1
        if template:
            length = self._lib.llama_chat_apply_template(template, chat, len(messages), True, room, size)
        if 0 <= length <= size:
            return room.raw[:length].decode(errors="replace")
        return "\n\n".join(text for _, text in messages) + "\n\n"

    def grammar(self, schema: Mapping[str, Any]) -> AnswerGrammar:
        """Return a grammar that limits an answer to JSON of `schema`.

        Raises:
            ModelError: The runtime does not support the schema.
        """
        import xllamacpp

        try:
            # Free white space is excluded: small models produce it without end.
            text = xllamacpp.json_schema_to_grammar({**schema, "x-guidance": {"whitespace_flexible": False}})
        except Exception as error:
            raise ModelError(f"the runtime cannot keep to this JSON schema ({error})") from None
        init = self._lib._Z22llama_sampler_init_llgPK11llama_vocabPKcS3_
        sampler = init(self._vocabulary, b"lark", text.encode())
        if not sampler:
            raise ModelError("the runtime cannot keep to this JSON schema")
        return AnswerGrammar(self._lib, sampler)

    # --------------------------------------------------------------------------------------- scoring

    def score(
        self, prompt: Sequence[int], tails: Sequence[Sequence[int]], check: Check = _free
    ) -> list[list[float]]:
        """Return the log-probability (nats) of every token of every tail after `prompt`.

        Args:
            prompt: Tokens.
            tails: Tokens of each tail, at least one.
            check: Called between passes.

        Raises:
            ModelError: The text is too long for the model. Exceptions of `check` are passed on.
        """
        result: list[list[float]] = []
        for start in range(0, len(tails), TAILS):
            some = tails[start : start + TAILS]
            result += self._score(list(prompt), build(some), some, check)
        return result

    def _score(
        self, prompt: list[int], trie: Trie, tails: Sequence[Sequence[int]], check: Check
    ) -> list[list[float]]:
        self._check_length(len(prompt) + len(trie.nodes), check)
        wanted: dict[int, list[tuple[int, int]]] = {}
        for tail, path in enumerate(trie.paths):
            for depth, node in enumerate(path):
                wanted.setdefault(node, []).append((tail, depth))
        result = [[0.0] * len(tail) for tail in tails]

        def collect(node: int, logits: NDArray[np.float32]) -> None:
            top = float(logits.max())
            total = top + float(np.log(np.exp(logits - top).sum(dtype=np.float64)))
            for tail, depth in wanted[node]:
                result[tail][depth] = float(logits[tails[tail][depth]]) - total

        collect(-1, self.feed(prompt, check))
        for sequence in range(1, len(tails) + 1):
            self._lib.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
        try:
            for start in range(0, len(trie.nodes), UBATCH):
                chunk = trie.nodes[start : start + UBATCH]
                rows = [(n.token, len(prompt) + n.depth, [t + 1 for t in n.tails], True) for n in chunk]
                self._decode(rows, check)
                for row in range(len(chunk)):
                    collect(start + row, self._logits(row))
        finally:
            for sequence in range(1, len(tails) + 1):
                self._lib.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        return result

    def feed(self, tokens: Sequence[int], check: Check = _free) -> NDArray[np.float32]:
        """Process `tokens` and return the logits of the next token, shape (vocabulary,).

        Only the part that differs from the previous tokens is computed.
        """
        self._check_length(len(tokens), check)
        if self._next is not None and self._cached == list(tokens):
            return self._next
        common = 0
        limit = min(len(self._cached), len(tokens) - 1)
        while common < limit and self._cached[common] == tokens[common]:
            common += 1
        self._lib.llama_memory_seq_rm(self._memory, 0, common, -1)
        del self._cached[common:]
        self._next = None
        size = 0
        for start in range(common, len(tokens), UBATCH):
            chunk = tokens[start : start + UBATCH]
            last = len(tokens) - 1
            self._decode([(t, start + i, [0], start + i == last) for i, t in enumerate(chunk)], check)
            self._cached += chunk
            size = len(chunk)
        # Copied, because the runtime reuses the memory in the next pass.
        self._next = self._logits(size - 1).copy()
        return self._next

    def _check_length(self, length: int, check: Check) -> None:
        if length > self.context:
            raise TooLong(TOO_LONG.format(length, self.name, self.context))
        if self._context is None:
            raise ModelError("the model is closed", fatal=True)
        check()

    def _decode(self, rows: Sequence[tuple[int, int, list[int], bool]], check: Check) -> None:
        """Process up to UBATCH tokens: (token, position, sequences, whether its logits are needed)."""
        check()
        batch = self._batch
        batch.n_tokens = len(rows)
        for i, (token, position, sequences, wanted) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.logits[i] = token, position, wanted
            batch.n_seq_id[i] = len(sequences)
            for j, sequence in enumerate(sequences):
                batch.seq_id[i][j] = sequence
        code = self._lib.llama_decode(self._context, batch)
        if code != 0:
            self.forget()
            raise ModelError(f"the model's runtime failed (code {code})")

    def _logits(self, row: int) -> NDArray[np.float32]:
        pointer = self._lib.llama_get_logits_ith(self._context, row)
        return np.ctypeslib.as_array(pointer, (self._size,))

    def state(self) -> bytes:
        """Return the attention state after the last tokens of `feed`, for `restore`."""
        size = self._lib.llama_state_seq_get_size(self._context, 0)
        room = c.create_string_buffer(size)
        written = self._lib.llama_state_seq_get_data(self._context, room, size, 0)
        return room.raw[:written]

    def restore(self, tokens: Sequence[int], state: bytes) -> bool:
        """Restore the state after `tokens` that `state` returned; return False if it does not fit."""
        self.forget()
        if self._lib.llama_state_seq_set_data(self._context, state, len(state), 0) != len(state):
            self.forget()
            return False
        self._cached = list(tokens)
        return True

    def forget(self) -> None:
        """Drop the cached prompt."""
        self._lib.llama_memory_clear(self._memory, True)
        self._cached = []
        self._next = None

    def close(self) -> None:
        """Free the memory; calling this twice is safe."""
        if self._context:
            self._lib.llama_batch_free(self._batch)
            self._lib.llama_free(self._context)
        if self._model:
            self._lib.llama_model_free(self._model)
        self._context = self._model = None

    def __del__(self) -> None:
        self.close()
