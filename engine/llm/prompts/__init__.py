"""Prompts: one file each, beside the code that uses them, and the one renderer for all of them.

The files in this folder are the paper's for text adventures (App. F). An environment, an agent or an installed package
has a `Folder` of its own.

A file has sections that begin with a line `=== ROLE`. The role "answer" is how the answer begins, for
models that are made to score continuations of it; "transcript" is text outside any chat format. Blanks are
written {name}; other braces are text.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

TRANSCRIPT = "transcript"
"""Role of text that a model is to go on with as it stands, outside its chat format."""

CUT = "(earlier steps left out)"

_MARK = re.compile(r"-{3,}\s*(BEGIN|END) (PAGE|GAME TEXT|EPISODES)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with its blanks filled in.

    Attributes:
        messages: (role, content) pairs.
        answer: How the answer begins, "" to leave that to the model.
        pictures: JPEGs that go with the last message, after its text.
    """

    messages: tuple[tuple[str, str], ...]
    answer: str = ""
    pictures: tuple[bytes, ...] = ()

    @property
    def digests(self) -> tuple[str, ...]:
        """SHA-256 of each picture: what stands for it wherever the picture itself would be too much."""
        return tuple(hashlib.sha256(picture).hexdigest() for picture in self.pictures)

    def chat(self) -> list[dict[str, Any]]:
        """Return the messages as the OpenAI protocol has them: a content with pictures is a list of its parts."""
        made: list[dict[str, Any]] = [{"role": role, "content": content} for role, content in self.messages]
        if self.pictures:
            shown = [
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}"},
                }
                for picture in self.pictures
            ]
            made[-1]["content"] = [{"type": "text", "text": made[-1]["content"]}, *shown]
        return made

    def text(self) -> str:
        """Return all of it as one text, for people and records; of pictures their size and digest."""
        parts = [f"[{role}]\n{content}" for role, content in self.messages]
        parts += [
            f"[picture] JPEG, {len(picture):,} bytes, SHA-256 {digest}"
            for picture, digest in zip(self.pictures, self.digests, strict=True)
        ]
        return "\n\n".join([*parts, f"[answer]\n{self.answer}"] if self.answer else parts)


@dataclass(frozen=True, slots=True)
class Folder:
    """The prompts of one package: the files NAME.txt in it.

    Attributes:
        package: Its dotted name.
        base: Where a prompt is taken from that this package does not have; None for nowhere.
    """

    package: str
    base: Folder | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all prompts, those of `base` included, sorted."""
        own = {path.name.removesuffix(".txt") for path in files(self.package).iterdir() if path.name.endswith(".txt")}
        return tuple(sorted(own.union(self.base.names if self.base is not None else ())))

    def render(self, name: str, /, **blanks: str) -> Prompt:
        """Return the prompt `name` with its blanks filled in; a blank that is left empty leaves no gap.

        Raises:
            KeyError: There is no such prompt, or a blank has no value.
        """
        filled = [(role, _fill(text, blanks)) for role, text in _sections(self, name)]
        return Prompt(
            tuple(section for section in filled if section[0] != "answer"),
            next((text for role, text in filled if role == "answer"), ""),
        )

    def fit(
        self,
        name: str,
        measure: Callable[[Prompt], int],
        budget: int,
        cuttable: tuple[str, ...],
        /,
        **blanks: str,
    ) -> Prompt:
        """Return the prompt cut to `budget` tokens: of the `cuttable` blanks the oldest paragraphs go first.

        Paragraphs are set apart by empty lines; a blank of one paragraph loses lines from its top. As few are left out
        as is needed. What cannot be cut stays, even above the budget; the model's own limit decides then.

        Args:
            measure: Returns the tokens of a prompt.
            cuttable: Names of blanks, in the order in which they are cut; the first loses all before the next.

        Raises:
            KeyError: There is no such prompt, or a blank has no value.
        """
        blanks = dict(blanks)
        prompt = self.render(name, **blanks)
        for blank in cuttable:
            if measure(prompt) <= budget:
                break
            gap = "\n\n" if "\n\n" in blanks[blank].strip() else "\n"
            parts = [part for part in blanks[blank].strip().split(gap) if part.strip()]

            def without(first: int, blank: str = blank, gap: str = gap, parts: list[str] = parts) -> Prompt:
                kept = parts[first:]
                blanks[blank] = gap.join([CUT, *kept]) if kept else ""
                return self.render(name, **blanks)

            fewest, most = 1, max(1, len(parts))  # the fewest that must go lie between these
            while fewest < most:
                middle = (fewest + most) // 2
                if measure(without(middle)) <= budget:
                    most = middle
                else:
                    fewest = middle + 1
            prompt = without(most)
        return prompt

    def digest(self, name: str) -> str:
        """Return the first 12 digits of the SHA-256 of a prompt's file: two runs with the same one asked the same.

        Raises:
            KeyError: There is no such prompt.
        """
        return hashlib.sha256(self.read(name)).hexdigest()[:12]

    def read(self, name: str) -> bytes:
        """Return the file of a prompt.

        Raises:
            KeyError: There is none.
        """
        file = files(self.package) / f"{name}.txt"
        if file.is_file():
            return file.read_bytes()
        if self.base is None:
            raise KeyError(f"there is no prompt {name!r} in {self.package}; there are: {', '.join(self.names)}")
        return self.base.read(name)


TEXT = Folder("engine.llm.prompts")
"""The prompts for text adventures, and what other environments fall back on."""

render, fit = TEXT.render, TEXT.fit


def unmarked(text: str) -> str:
    """Return text without anything that looks like the marks between which prompts hold pages and game texts."""
    return _MARK.sub("(mark)", text)


def _fill(text: str, blanks: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return blanks[match.group(1)].strip()

    return re.sub(r"\n{3,}", "\n\n", re.sub(r"\{([a-z_]+)\}", value, text)).strip()


@functools.cache
def _sections(folder: Folder, name: str) -> tuple[tuple[str, str], ...]:
    raw = folder.read(name).decode("utf-8")
    found = re.split(r"^=== (\w+)\n", raw, flags=re.MULTILINE)
    return tuple(zip(found[1::2], (text.strip() for text in found[2::2]), strict=True))
