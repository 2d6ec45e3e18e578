"""Suites: which tasks are played by which agents, with which models and seeds. A suite is a small TOML file."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from engine import trust
from engine.agents import AGENTS
from engine.bench.checks import TomlTable
from engine.disk import printable, read_text
from engine.errors import BadFile, UsageError, did_you_mean

PROTOCOLS = ("consecutive", "cross-task", "split")
"""How the episodes of a cell follow one another.

"consecutive": so many episodes on each task, one task after the other (the paper's protocol, Sec. 5).
"cross-task": one episode on each task, so that memory only has steps of other tasks (the paper's cold start).
"split": episodes on the training tasks, then nothing is learnt any more and the test tasks are played (App. J).
"""

SHARING = ("task", "group", "suite")
"""Which tasks of a seed share one memory: none, those of one column in tables (for instance a web site), or all."""

MOST_WORKERS = 64
"""Most workers of an arm. Each holds its environment open."""

LARGEST = 1 << 20
"""Most bytes of a suite's file."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One row of a table.

    Attributes:
        name: Name of the row.
        agent: Name of a method in `engine.agents`.
        models: Models that play it; () for those of the suite.
        profile: Profile of settings, "" for that of the suite.
        settings: Settings that differ from the suite's.
        reference: Whether other rows are compared with this one.
        workers: Number of sessions that share each memory and take their steps in turn. They play the episodes of a
            task between them. 1 is the paper's protocol: an episode sees all before it.
        against: Name of the arm that it is compared with, "" for the reference.
        trained: Folder that `jitrl train` wrote, for a trained model that a server has; "" if there is none, or if the
            model is named by its path.
        recorded: Folder with recorded episodes that are taken in place of playing, such as that of a training run,
            whose row then has the episodes that it was trained with. They are taken for the first seed. "" to play.
    """

    name: str
    agent: str
    models: tuple[str, ...] = ()
    profile: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    reference: bool = False
    workers: int = 1
    against: str = ""
    trained: str = ""
    recorded: str = ""


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """What the report of a suite shows.

    Attributes:
        measures: Columns for each group of tasks, by the names in `engine.bench.measures`.
        published: Tables of published numbers to show beside it, by their names in `engine/bench/published`.
        figure: "curves" (score by episode), "values" (score by the swept setting), "memory" or "none".
        average: "tasks" for a column over all tasks, or "none".
        cases: Number of case studies for each task and arm; 0 for none.
        bins: Number of remembered steps in a bin of the table by memory size; 0 for no such table.
        normalised: Whether scores are shown as shares of the highest score.
        per: What learning curves are drawn against: "episode", "step", "token" or "hour".
        rows: Rows of the main table: "arms", or "tasks" for a table with a row for each task and arm.
    """

    measures: tuple[str, ...] = ("avg", "final")
    published: tuple[str, ...] = ()
    figure: str = "curves"
    average: str = "none"
    cases: int = 0
    bins: int = 0
    normalised: bool = False
    per: str = "episode"
    rows: str = "arms"


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite, read and checked.

    Attributes:
        name: Short name: that of the shipped suite, or of the file.
        title: Title of the report.
        about: What the suite is for, a few sentences.
        tasks: Names of environments. The name of a suite of web tasks stands for its tasks.
        arms: Rows of the tables.
        episodes: L, consecutive episodes on a task.
        seeds: Each seed is a separate life of an agent.
        models: Models for arms that name none.
        steps: Step limit of an episode, None for that of the profile.
        profile: Profile of settings.
        settings: Settings that differ from the profile's in all arms.
        protocol: One of PROTOCOLS.
        memory: One of SHARING.
        train: Training tasks of the protocol "split".
        train_episodes: Episodes on each training task.
        swept: Name of the setting that differs from arm to arm, "" if there is none.
        report: What the report shows.
    """

    name: str
    title: str
    about: str
    tasks: tuple[str, ...]
    arms: tuple[Arm, ...]
    episodes: int = 1
    seeds: tuple[int, ...] = (1,)
    models: tuple[str, ...] = ("local/smollm2",)
    steps: int | None = None
    profile: str = "default"
    settings: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = "consecutive"
    memory: str = "task"
    train: tuple[str, ...] = ()
    train_episodes: int = 0
    swept: str = ""
    report: ReportPlan = field(default_factory=ReportPlan)


def shipped_suites() -> tuple[str, ...]:
    """Return the names of the suites that belong to this project, sorted."""
    folder = resources.files("engine.bench") / "suites"
    return tuple(sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml")))


def load(name: str) -> Suite:
    """Return the suite of this name, or in this file.

    Args:
        name: Name of a shipped suite, or path of a TOML file.

    Raises:
        UsageError: There is no such suite, or a key or value in it is wrong. The message names file and key.
        BadFile: The file cannot be read.
    """
    if name in shipped_suites():
        text = (resources.files("engine.bench") / "suites" / f"{name}.toml").read_text(encoding="utf-8")
        return parse(text, name, name)
    path = Path(name)
    if "/" not in name and not name.endswith(".toml"):
        raise UsageError(
            f"there is no suite {name!r}{did_you_mean(name, shipped_suites())}; `jitrl bench ls` lists them"
        )
    try:
        text = read_text(path, LARGEST)
    except FileNotFoundError:
        raise UsageError(f"there is no file {printable(path)}") from None
    except UnicodeDecodeError:
        raise BadFile(f"{printable(path)} is no text in UTF-8") from None
    except OSError as error:
        raise BadFile(f"cannot read {printable(path)}: {error.strerror}") from None
    return parse(text, path.stem, printable(path))


def parse(text: str, name: str, where: str) -> Suite:
    """Return the suite that a TOML text describes.

    Args:
        text: The TOML text.
        name: Name of the suite.
        where: How to call the text in messages.

    Raises:
        UsageError: It is not TOML, or a key or value is wrong.
    """
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{where} is not valid TOML: {error}") from None
    return read(data, name, where)


def read(data: Mapping[str, Any], name: str, where: str) -> Suite:
    """Return the suite that a table describes: one from a TOML file, or from the manifest of a run.

    Raises:
        UsageError: A key or value is wrong.
    """
    whole = TomlTable(data, where)
    arms = [_arm(table) for table in whole.tables("arms")]
    swept, more = _sweep(whole.table("sweep")) if "sweep" in data else ("", [])
    arms += more
    if not arms:
        raise UsageError(f"{where}: there are no arms; a suite needs [[arms]] or a [sweep]")
    if doubled := _doubled(arm.name for arm in arms):
        raise UsageError(f"{where}: arms: two of them are named {doubled!r}")
    names = [arm.name for arm in arms]
    for arm in arms:
        if arm.against and (arm.against not in names or arm.against == arm.name):
            raise UsageError(f"{where}: arms: {arm.name}: against: there is no other arm {arm.against!r}")
    if sum(arm.reference for arm in arms) > 1:
        raise UsageError(f"{where}: arms: only one of them can be the reference")
    suite = Suite(
        name=name,
        title=whole.text("title", name),
        about=whole.text("about", ""),
        tasks=whole.names("tasks"),
        arms=tuple(arms),
        episodes=whole.count("episodes", 1),
        seeds=whole.seeds("seeds"),
        models=whole.names("models", ("local/smollm2",)),
        steps=whole.count("steps", 0) or None,
        profile=whole.profile("profile", "default"),
        settings=whole.settings("settings"),
        protocol=whole.choice("protocol", PROTOCOLS),
        memory=whole.choice("memory", SHARING),
        train=whole.names("train", ()),
        train_episodes=whole.count("train_episodes", 0),
        swept=swept or whole.text("swept", ""),
        report=_report(whole.table("report")),
    )
    whole.done()
    _check_protocol(suite, where)
    _check_workers(suite, where)
    models = [*suite.models, *(model for arm in suite.arms for model in arm.models)]
    trust.named_by(f"the suite {where}", *trust.sites_in(*suite.tasks, *suite.train), *trust.places_in((), models))
    return suite


def plain(suite: Suite) -> dict[str, Any]:
    """Return a suite as JSON values that `read` takes."""
    data = dataclasses.asdict(suite)
    del data["name"]
    if data["steps"] is None:
        del data["steps"]
    return data


def change_suite(suite: Suite, where: str = "the command line", **changes: Any) -> Suite:
    """Return a suite with other tasks, arms, models, seeds or settings, checked like one from a file.

    Args:
        suite: The suite.
        where: How to call the changes in messages.
        changes: Values by the name of a field; None for no change. `arms` are names of arms; `settings` are added.

    Raises:
        UsageError: A name or value is wrong.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    if "arms" in given:
        known = {arm.name: arm for arm in suite.arms}
        for name in given["arms"]:
            if name not in known:
                raise UsageError(f"{where}: the suite {suite.name} has no arm {name!r}{did_you_mean(name, known)}")
        chosen = [known[name] for name in given["arms"]]
        given["arms"] = [
            dataclasses.asdict(arm) | {"against": arm.against if known.get(arm.against) in chosen else ""}
            for arm in chosen
        ]
    if "models" in given:
        arms = given.get("arms") or [dataclasses.asdict(arm) for arm in suite.arms]
        given["arms"] = [{**arm, "models": ()} for arm in arms]
    if "settings" in given:
        given["settings"] = {**suite.settings, **given["settings"]}
    return read({**plain(suite), **given}, suite.name, where)


def _arm(table: TomlTable) -> Arm:
    models = table.names("models", ())
    model = table.text("model", "")
    arm = Arm(
        name=table.text("name"),
        agent=table.agent("agent"),
        models=(model,) if model else models,
        profile=table.profile("profile", ""),
        settings=table.settings("settings"),
        reference=table.flag("reference"),
        workers=table.count("workers", 1),
        against=table.text("against", ""),
        trained=table.text("trained", ""),
        recorded=table.text("recorded", ""),
    )
    table.done()
    return arm


def _sweep(table: TomlTable) -> tuple[str, list[Arm]]:
    """Return the swept setting, and an arm for each of its values."""
    agent, label, usual = table.agent("agent", "jitrl"), table.text("name", ""), table.text("reference", "")
    setting = table.setting("setting")
    arms = [
        Arm(f"{label or setting} = {value}", agent, settings=table.value(setting, value), reference=str(value) == usual)
        for value in table.items("values")
    ]
    table.done()
    return setting, arms


def _report(table: TomlTable) -> ReportPlan:
    from engine.bench.measures import MEASURES
    from engine.bench.published import names
    from engine.bench.samples import PER

    plan = ReportPlan(
        measures=table.some("measures", tuple(MEASURES), ("avg", "final")),
        published=table.some("published", names(), ()),
        figure=table.choice("figure", ("curves", "values", "memory", "none")),
        average=table.choice("average", ("none", "tasks")),
        cases=table.count("cases", 0),
        bins=table.count("bins", 0),
        normalised=table.flag("normalised"),
        per=table.choice("per", tuple(PER)),
        rows=table.choice("rows", ("arms", "tasks")),
    )
    table.done()
    return plan


def _check_protocol(suite: Suite, where: str) -> None:
    """Raise UsageError if a protocol lacks what it needs, or has what it does not use."""
    if suite.protocol == "split":
        if not suite.train or not suite.train_episodes:
            raise UsageError(f'{where}: protocol = "split" needs train and train_episodes')
    elif suite.train or suite.train_episodes:
        raise UsageError(f'{where}: train and train_episodes belong to protocol = "split"')
    if suite.protocol == "cross-task":
        if suite.memory == "task":
            raise UsageError(f'{where}: protocol = "cross-task" needs memory = "group" or "suite"')
        if suite.episodes != 1:
            raise UsageError(f'{where}: protocol = "cross-task" plays each task once; episodes must be 1')


def _check_workers(suite: Suite, where: str) -> None:
    """Raise UsageError if workers of an arm cannot share its episodes, or its memory would stay empty."""
    for arm in suite.arms:
        if arm.workers == 1:
            continue
        if arm.workers > MOST_WORKERS:
            raise UsageError(f"{where}: arms: {arm.name}: workers: at most {MOST_WORKERS}, not {arm.workers}")
        if not AGENTS.find(arm.agent).learns:
            raise UsageError(f"{where}: arms: {arm.name}: workers share a memory, and {arm.agent} stores no episodes")
        for key, episodes in (("episodes", suite.episodes), ("train_episodes", suite.train_episodes)):
            if episodes % arm.workers:
                raise UsageError(
                    f"{where}: {key}: {episodes} cannot be divided among the {arm.workers} workers of {arm.name}"
                )


def _doubled(names: Iterable[str]) -> str:
    """Return a name that occurs twice, "" if there is none."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""
