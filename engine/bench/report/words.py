"""The words and numbers of a report: protocol, notes of rows, the commands that make them, and values as text."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from engine.bench.manifest import FINISHED
from engine.bench.measures import CONFIDENCE, RESAMPLES, Measure, Value, measure
from engine.bench.report.elements import TableCell, Words
from engine.bench.report.results import ArmRow, Results, TaskColumn
from engine.limits import is_number

_PROTOCOLS = {
    "consecutive": "Each task is played in consecutive episodes.",
    "cross-task": "Each task is played once, and decisions use only what was remembered of other tasks.",
    "split": "Experience is collected on training tasks. Memory is then frozen, and the tasks are played with it.",
}
_MEMORIES = {
    "task": "Each task and seed has a memory of its own, which is empty at first.",
    "group": "The tasks of a column share a memory for each seed. It is empty at first.",
    "suite": "All tasks share a memory for each seed. It is empty at first.",
}


def protocol(results: Results, measures: Sequence[Measure]) -> Words:
    """Return how the benchmark was played and measured."""
    plan = results.plan
    pieces = results.manifest.get("joined")
    sentences = [
        *([f"Joined from the runs {with_commas(list(pieces))}."] if pieces else []),
        _PROTOCOLS.get(str(plan.get("protocol") or "consecutive"), f"The protocol is {plan.get('protocol')}."),
        _MEMORIES.get(str(plan.get("memory") or "task"), f"The memory is of the kind {plan.get('memory')}."),
        *_workers(results),
        _length(results),
    ]
    if plan.get("train"):
        episodes = plan.get("train_episodes")
        many = f" for {with_noun(episodes, 'episode')} each" if isinstance(episodes, int) else ""
        sentences.append(
            f"Training: {with_commas(list(map(str, plan['train'])))}{many}. These episodes are not measured."
        )
    sentences += [f"{one.title}: {one.meaning}." for one in measures]
    if results.percent:
        sentences.append("Scores are shown in % of the highest possible score.")
    several = any(len(place.tasks) > 1 for place in results.columns)
    over = "over seeds" + (", or over tasks in columns with several tasks (mean over seeds first)" if several else "")
    sentences += [
        f"Intervals contain {CONFIDENCE * 100:g} % of {RESAMPLES:,} bootstrap means {over}. "
        "One or two units have no interval. With fewer than about ten units they are too narrow.",
        "Only finished tasks and seeds are averaged. A place that lacks some says how many it has.",
    ]
    return Words("Protocol", tuple(sentences))


def _workers(results: Results) -> list[str]:
    """Return what an episode sees of those before it, as sentences."""
    arms: dict[int, list[str]] = {}
    for arm in results.arms:
        arms.setdefault(workers_of(results, arm), []).append(arm.name)
    found = ["Sequential: an episode sees all episodes before it." if list(arms) == [1] else ""]
    if 1 in arms and len(arms) > 1:
        found.append(f"Sequential, so that an episode sees all before it: {with_commas(list(dict.fromkeys(arms[1])))}.")
    for workers, names in sorted(arms.items()):
        if workers > 1:
            found.append(
                f"Asynchronous: {workers} workers share each memory, take their steps in turn, and see the episodes "
                f"that were committed when they decide: {with_commas(list(dict.fromkeys(names)))}."
            )
    return [sentence for sentence in found if sentence]


def workers_of(results: Results, arm: ArmRow) -> int:
    """Return how many workers share each memory of an arm."""
    return max((int(results.cells[name].get("workers") or 1) for name in arm.cells), default=1)


def _length(results: Results) -> str:
    """Return how many episodes, steps and seeds there are, a sentence."""
    plan = results.plan
    seeds = sorted({cell["seed"] for cell in results.cells.values()})
    length = f" of at most {with_noun(plan['steps'], 'step')}" if isinstance(plan.get("steps"), int) else ""
    episodes = plan.get("episodes")
    many = with_noun(episodes, "episode") if isinstance(episodes, int) else "episodes"
    return f"{many[0].upper()}{many[1:]}{length} on each task; {_seeds(seeds)}."


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {with_commas([str(seed) for seed in seeds])}"


def surroundings(results: Results) -> tuple[tuple[str, str], ...]:
    """Return seeds, models, versions and the machine, as names with texts."""
    found = [("Seeds", with_commas([str(seed) for seed in sorted({cell["seed"] for cell in results.cells.values()})]))]
    found.append(("Models", with_commas(list(results.models)) or "none"))
    for title, name in (("Versions", "versions"), ("Code", "code"), ("Machine", "machine")):
        texts: dict[str, list[str]] = {}
        for run, one in (results.manifest.get("joined") or {"": results.manifest}).items():
            values = one.get(name)
            if isinstance(values, Mapping) and values:
                text = ", ".join(f"{key} {_plain(value)}" for key, value in values.items())
                texts.setdefault(text, []).append(run)
        several = len(texts) > 1
        found += [(f"{title} of {with_commas(of)}" if several else title, text) for text, of in texts.items()]
    return tuple(found)


def notes_of(results: Results, arm: ArmRow) -> tuple[str, ...]:
    """Return what a reader must know of an arm: that it is not finished, not the agent's alone, or not valid."""
    name = f"{arm.name} with {arm.model}" if len(results.models) > 1 and arm.model else arm.name
    found = _unfinished(results, arm), _overruled(results, arm), invalid(results, arm)
    return tuple(f"{name}: {text}" for text in found if text)


def _overruled(results: Results, arm: ArmRow) -> str:
    """Return which cells of an arm are left out because a person overruled them."""
    names = [
        f"{name} (at {with_noun(results.overruled[name], 'step')})" for name in arm.cells if name in results.overruled
    ]
    return f"left out, because a person overruled the agent: {with_commas(names)}." if names else ""


def _unfinished(results: Results, arm: ArmRow) -> str:
    """Return which cells of an arm are not finished."""
    states: dict[str, list[str]] = {}
    for name in results.unfinished(arm):
        cell = results.cells[name]
        error = f" ({cell['error']})" if cell.get("error") else ""
        states.setdefault(str(cell.get("state") or "waiting"), []).append(f"{name}{error}")
    if not states:
        return ""
    done = len(arm.cells) - sum(map(len, states.values()))
    which = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
    return f"{done} of {with_noun(len(arm.cells), 'cell')} {FINISHED}; {which}."


def invalid(results: Results, arm: ArmRow) -> str:
    """Return that the model or the environment failed too often, "" if they did not."""
    rows = [row for played in results.finished(arm, results.everything).values() for row in played.rows]
    asked, missing = (sum(row.answers.get(name, 0) for row in rows) for name in ("asked", "missing"))
    failed, tried = sum(row.failed for row in rows), sum(row.steps + (row.ended_by == "failure") for row in rows)
    checks = (
        (missing, asked, "max_missing", f"{arm.model or 'The model'} gave no usable answer in", "decisions", "model's"),
        (failed, tried, "max_failed", "The environment failed at", "actions", "agent's"),
    )
    found = []
    for bad, whole, name, what, of, whose in checks:
        most = min((_limit(results.cells[cell].get("settings") or {}, name) for cell in arm.cells), default=1.0)
        if bad > most * whole:
            found.append(
                f"{what} {bad:,} of {whole:,} {of} ({bad / whole * 100:.0f} %, more than {name}={most:g}), so the "
                f"scores are not the {whose}."
            )
    return f"not valid. {' '.join(found)}" if found else ""


def _limit(settings: Mapping[str, Any], name: str) -> float:
    most = settings.get(name)
    return float(most) if most is not None and is_number(most) else 1.0


def missing_units(results: Results, arm: ArmRow, place: TaskColumn, reference: ArmRow | None = None) -> str:
    """Return how many of the planned units of a place are finished, as "2 of 3 seeds"; "" if all are.

    Args:
        reference: Only units that this arm has finished, too, are counted.
    """
    planned, finished = results.planned(arm, place), results.finished(arm, place).keys()
    have = len(finished & results.finished(reference, place).keys() if reference is not None else finished)
    if have == len(planned):
        return ""
    seeds, tasks = {seed for _, seed in planned}, {task for task, _ in planned}
    what = "seeds" if len(tasks) == 1 else "tasks" if len(seeds) == 1 else "pairs of task and seed"
    return f"{have} of {len(planned)} {what}"


def command(results: Results, arm: ArmRow) -> str:
    """Return the command that plays an arm again: that of its run, for this arm alone. Joined runs have one each."""
    given = dict.fromkeys(results.cells[name].get("command") or results.manifest.get("command") for name in arm.cells)
    return "; ".join(dict.fromkeys(_command(results, arm, one) for one in given))


def _command(results: Results, arm: ArmRow, given: Any) -> str:
    words = _split(given) if isinstance(given, str) else []
    if words[:1] != ["jitrl"]:
        words = ["jitrl", "bench", "run", str(results.manifest.get("suite") or "SUITE")]
    several = len(results.models) > 1
    words = _without(words, ("--arms", "--models") if several else ("--arms",))
    words += ["--arms", arm.name, *(["--models", arm.model] if several and arm.model else [])]
    return shlex.join(words)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _without(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the words of a command without these options and their values."""
    found, dropping = [], False
    for word in words:
        if word.startswith("-"):
            dropping = word.partition("=")[0] in options
        if not dropping:
            found.append(word)
    return found


def changes(results: Results, arm: ArmRow) -> str:
    """Return the profile and the settings that the suite gives an arm, as on a command line."""
    given: Mapping[str, Any] = next(
        (one for one in results.plan.get("arms") or [] if one.get("name") == arm.name), {}
    )
    profile = given.get("profile") or results.plan.get("profile")
    settings = {**_table(results.plan.get("settings")), **_table(given.get("settings"))}
    parts = [f"profile {profile}"] if profile else []
    if workers_of(results, arm) > 1:
        parts.append(f"{workers_of(results, arm)} workers")
    return ", ".join([*parts, *(f"{name}={_plain(value)}" for name, value in settings.items())])


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_commas(words: Sequence[str]) -> str:
    """Return words joined by commas."""
    return ", ".join(words)


def with_noun(number: int, what: str) -> str:
    """Return a number with its noun, as "1 step" or "60 steps"."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def wished_measures(results: Results) -> tuple[Measure, ...]:
    """Return the measures of the main table.

    Raises:
        UsageError: The suite names one that there is not.
    """
    names = results.wishes.get("measures")
    return tuple(measure(str(name)) for name in (names if isinstance(names, list) and names else ("avg", "final")))


MISSING = "–"
"""Text of a place without a value."""
MINUS = "−"

_DIGITS = {"share": 1, "steps": 1, "tokens": 0, "calls": 1, "usd": 4, "s": 1, "ms": 1, "max": 3}
_HINTS = {"share": "%", "usd": "$", "s": "s", "ms": "ms"}


def hint(measure: Measure, percent: bool = False) -> str:
    """Return the sign of a measure's unit for headings, "" for none."""
    return "%" if percent and measure.unit == "score" else _HINTS.get(measure.unit, "")


def heading(measure: Measure, percent: bool = False) -> str:
    """Return the heading of a measure's column, with its unit."""
    unit = hint(measure, percent)
    return f"{measure.title} ({unit})" if unit else measure.title


def digits(measure: Measure, values: Sequence[Value], percent: bool = False) -> int:
    """Return the number of digits behind the point that a column needs."""
    if measure.unit != "score":
        return _DIGITS[measure.unit]
    largest = max((abs(value.mean) for value in values if value.mean is not None), default=0.0)
    return 1 if percent or largest >= 10 else 2


def number(value: float, measure: Measure, behind: int, percent: bool = False, sign: bool = False) -> str:
    """Return a value of a measure as text, without its unit.

    Args:
        behind: Number of digits behind the point.
        percent: Whether scores are shares of the highest score.
        sign: Whether positive numbers get a plus, as differences do.
    """
    scale = 100 if hint(measure, percent) == "%" else 1
    text = f"{value * scale:{'+' if sign else ''},.{behind}f}"
    if not text.strip("+-0.,"):
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def cell(
    value: Value, measure: Measure, behind: int, percent: bool = False, *, sign: bool = False, range: bool = True,
    bold: bool = False, remark: str = "", of: int = 0,
) -> TableCell:  # fmt: skip
    """Return the place of a table that shows a value.

    Args:
        sign: Whether a positive value gets a plus.
        range: Whether the interval is shown.
        bold: Whether the value is set in bold.
        remark: What a reader must know of it.
        of: Number of units that were planned.
    """
    if value.mean is None:
        return TableCell(MISSING, remark=remark, value=value, of=of)
    ends = ""
    if range and value.low is not None and value.high is not None:
        low, high = (number(end, measure, behind, percent) for end in (value.low, value.high))
        ends = f"[{low}, {high}]"
    return TableCell(number(value.mean, measure, behind, percent, sign), ends, remark, bold, value=value, of=of)
