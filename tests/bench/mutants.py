"""Breaks the most important modules on purpose, one place at a time, and says which test sees it.

    python -m tests.bench.mutants [--seed 1] [--count 30] [--at FILE:LINE ...]

A mutant is a copy of the checkout with one change: a comparison, a number, `and` for `or`, a `not` less, a statement
less, None returned. For each, the tests of its module run until one fails. Printed is a row of a Markdown table.
"Nobody" may mean that a test is missing, that the code is needless, or that the change changes nothing: read it.
The same seed and the same code give the same mutants. `--at` takes all changes of a line in place of chosen ones.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "engine/jitrl.py": "jitrl llm/logits agents/reference",
    "engine/memory/exact/index.py": "memory/index memory/contract agents/reference",
    "engine/memory/exact/retrieval.py": "memory/index memory/contract memory/corrections agents/reference",
    "engine/memory/disk/journal.py": "memory/database memory/contract memory/faults memory/processes memory/upkeep "
    "memory/power memory/recover memory/hostile memory/scope",
    "engine/session/replay.py": "draws levers whatif branches resuming steering failing_estimator",
    "engine/values/graph.py": "values/* resuming",
    "engine/games/actions/search.py": "games/actions games/proving_ground games/inform games/generated",
    "engine/llm/calls/client.py": "llm/client llm/keeping llm/failures llm/bounded llm/patience llm/local_model",
    "engine/session/loop.py": "session ends recording steering levers resuming changing control llm/session_failures",
    "engine/web/choices.py": "web/candidates_web web/prior_web web/secrets_web web/worth_of_rules web/scripted_writer",
}
"""What a decision passes through, and what keeps and replays it, each with its tests: tests/llm/test_logits.py."""
LIMIT_S = 600
FLIPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
NOT_RUN = {"annotation", "returns"}
NOT_READ = ast.JoinedStr | ast.Raise | ast.Assert
"""What only says something to a person. So does `strict`, which checks what always holds."""


@dataclass(frozen=True)
class Mutant:
    """One change of a file: `new` takes the place of what is at a node."""

    file: str
    node: ast.expr | ast.stmt
    new: str
    within: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with the change."""
        start = len(b"".join(source.splitlines(keepends=True)[: self.node.lineno - 1])) + self.node.col_offset
        end = start + len((ast.get_source_segment(source.decode(), self.node) or "").encode())
        return source[:start] + self.new.encode() + source[end:]

    def __str__(self) -> str:
        """Return two cells of a table: where it is, and what is changed. Of long texts the part that differs."""
        old, new = re.sub(r"\s+", " ", ast.unparse(self.node)), self.new
        pairs = zip(old, new.removeprefix("("), strict=False)
        same = next((at for at, (before, after) in enumerate(pairs) if before != after), 0)
        start = max(0, same - 30) if len(old) > 70 else 0
        cut = ["…" * (start > 0) + text[start : start + 60].replace("|", "\\|") for text in (old, new)]
        return f"`{self.file}` {self.node.lineno} | `{self.within}`: `{cut[0]}` → `{cut[1]}`"


def changed(node: ast.AST) -> str:
    """Return what to write in place of a node, "" for nothing."""
    new = node
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in FLIPPED:
            new = ast.Compare(left, [FLIPPED[type(op)]()], [right])  # type: ignore[list-item]
        case ast.BoolOp(op, values):
            new = ast.BoolOp(FLIPPED[type(op)](), values)  # type: ignore[arg-type]
        case ast.BinOp(left, op, right) if type(op) in FLIPPED:
            new = ast.BinOp(left, FLIPPED[type(op)](), right)  # type: ignore[arg-type]
        case ast.UnaryOp(ast.Not(), operand):
            new = operand
        case ast.Constant(bool() as value):
            new = ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            new = ast.Constant(value + 1)
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            return "return None"
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Assign([ast.Attribute() | ast.Subscript()]):
            return "pass"
        case _:
            return ""
    return f"({ast.unparse(new)})"


def mutants(file: str) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    within = ["module"]

    def walk(node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef):
            within.append(node.name)
        if isinstance(node, ast.expr | ast.stmt) and (new := changed(node)):
            yield Mutant(file, node, new, within[-1])
        if not isinstance(node, NOT_READ) and getattr(node, "arg", "") != "strict":
            for name, value in ast.iter_fields(node):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST) and name not in NOT_RUN:
                        yield from walk(child)
        if isinstance(node, ast.FunctionDef):
            within.pop()

    yield from walk(ast.parse((ROOT / file).read_bytes()))


def chosen(seed: int, count: int) -> list[Mutant]:
    """Return mutants spread over the modules, those of each module in different functions."""
    found = []
    for at, file in enumerate(MODULES):
        every = list(mutants(file))
        random.Random(f"{seed} {file}").shuffle(every)
        by_function = {one.within: one for one in reversed(every)}
        wanted = count // len(MODULES) + (at < count % len(MODULES))
        found += sorted(by_function.values(), key=every.index)[:wanted]
    return found


class Copy:
    """A copy of the checkout, in which mutants are tried."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(".*", "saves", "site", "dist"))
        (folder / "shared").symlink_to(ROOT.parent / "shared")

    def seen_by(self, one: Mutant) -> str:
        """Return the first test that fails with a mutant, "" for none."""
        source = (self.root / one.file).read_bytes()
        self._write(one.file, one.applied(source))
        seen = self.failing(self.tests(one.file))
        self._write(one.file, source)
        return f"unsure: {seen} fails without it, too" if "::" in seen and self.failing([seen]) else seen

    def _write(self, file: str, source: bytes) -> None:
        path = self.root / file
        path.write_bytes(source)
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)  # it may look as new as the file

    def tests(self, file: str) -> list[str]:
        """Return the files of tests of a module, or of one beside it."""
        beside = (name for name in MODULES if Path(name).parent == Path(file).parent)
        patterns = (Path("tests", each) for each in MODULES[file if file in MODULES else next(beside)].split())
        found = [sorted(self.root.glob(f"{each.parent}/test_{each.name}.py")) for each in patterns]
        return [str(path.relative_to(self.root)) for paths in found for path in paths]

    def failing(self, tests: list[str]) -> str:
        """Return the first of these tests that fails now, "" for none."""
        command = [sys.executable, "-m", "pytest", "-x", "-rfE", "--tb=no", "-m", "not soak", "-p", "no:cacheprovider"]
        run = subprocess.Popen(
            [*command, *tests], cwd=self.root, env={**os.environ, "PYTHONPATH": str(self.root)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            out, _ = run.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            return "the tests hang"
        named = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", out, re.M)
        return "" if run.returncode == 0 else named[1] if named else f"pytest ends with {run.returncode}"


def main() -> None:
    """Try the mutants, and print a row for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--at", nargs="*", default=[], metavar="FILE:LINE", help="all mutants of these lines")
    given = parser.parse_args()
    places = [(file, int(line)) for file, _, line in (each.rpartition(":") for each in given.at)]
    there = [one for file, line in places for one in mutants(file) if one.node.lineno == line]
    print("| place | change | seen by |\n|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="jitrl-mutants-") as folder:
        copy = Copy(Path(folder))
        for one in there if places else chosen(given.seed, given.count):
            print(f"| {one} | {copy.seen_by(one) or '**nobody**'} |", flush=True)


if __name__ == "__main__":
    main()
