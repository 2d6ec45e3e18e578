"""Runs of benchmarks that nobody played: files with made-up scores, for tests of measures and reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.bench.records import EpisodeRow, TimingRow
from engine.bench.report.results import Results

GAMES = {"library": (30.0, 24.0), "zork1": (350.0, 50.0), "zork3": (7.0, 2.8)}
"""Highest score of a game, and the score that the best arm reaches."""
GAME_ARMS = {"static": 0.2, "memory": 0.45, "reflexion": 0.55, "awm": 0.7, "evotest": 0.85, "jitrl": 1.0}
SITES = ("admin", "gitlab", "map", "reddit", "shopping")


@dataclass
class Made:
    """The files of a run, as lists and a dictionary that tests can change before they are written."""

    manifest: dict[str, Any]
    rows: list[EpisodeRow] = field(default_factory=list)
    timings: list[TimingRow] = field(default_factory=list)

    @property
    def results(self) -> Results:
        return Results(self.manifest, tuple(self.rows), tuple(self.timings))

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "manifest.json").write_text(json.dumps(self.manifest))
        for name, records in (("episodes", self.rows), ("timings", self.timings)):
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(asdict(one)) + "\n" for one in records))
        return folder


def row(arm: str, task: str, seed: int, episode: int, score: float, **more: Any) -> EpisodeRow:
    """Return an episode with a score. What is not given has values that tests need not care about."""
    fields: dict[str, Any] = {
        "cell": f"{arm}-{task}-{seed}", "agent": arm, "model": "", "group": task, "phase": "test", "leg": 0,
        "max_score": 100.0, "steps": 10, "terminated": False, "truncated": True, "outcome": "",
    }  # fmt: skip
    return EpisodeRow(**{**fields, **more}, arm=arm, task=task, seed=seed, episode=episode, score=score)


def made(rows: Iterable[EpisodeRow], timings: Iterable[TimingRow] = (), **plan: Any) -> Made:
    """Return a finished run with these episodes."""
    rows = list(rows)
    cells: dict[str, dict[str, Any]] = {}
    for one in rows:
        cell = cells.setdefault(one.cell, {
            "arm": one.arm, "agent": one.agent, "model": one.model, "seed": one.seed, "workers": 1,
            "experience": "sequential", "tasks": [], "state": "finished", "error": "", "node": "",
            "settings": {"max_missing": 0.1}, "reading": "", "replaced": [], "prompts": {}, "stories": {},
            "overruled": 0,
        })  # fmt: skip
        if one.task not in cell["tasks"]:
            cell["tasks"].append(one.task)
    arms = [{"name": name, "agent": name} for name in dict.fromkeys(one.arm for one in rows)]
    whole = {"title": "A benchmark", "about": "", "tasks": list(dict.fromkeys(one.task for one in rows)), "arms": arms,
             "episodes": max((one.episode for one in rows), default=1), "report": {}, **plan}  # fmt: skip
    manifest = {
        "format": 1, "name": "made", "suite": "made", "title": whole["title"], "created": 1764000000.0,
        "command": "jitrl bench run made", "games": None, "memory": "",
        "versions": {"python": "3.11.2", "jitrl": "0.1.0"},
        "code": {"bench": "0a1b2c"},
        "machine": {"system": "Linux", "cpu": "a processor", "cores": 8, "memory_gb": 32, "python": "3.11.2"},
        "plan": whole, "tasks": {}, "train": {}, "cells": cells,
        "on": "local", "nodes": {}, "spent": {"usd": 0.0, "tokens": 0, "minutes": 0.0}, "stopped": "",
    }  # fmt: skip
    return Made(manifest, rows, list(timings))


def games(seeds: int = 3, episodes: int = 12, seed: int = 1, tasks: Iterable[str] = GAMES) -> Made:
    """Return six arms that learn these of three games."""
    rng = np.random.default_rng(seed)
    rows, timings = [], []
    for task in tasks:
        most, top = GAMES[task]
        for arm, skill in GAME_ARMS.items():
            for one in range(1, seeds + 1):
                talent, entries = rng.normal(1, 0.08), 0
                for episode in range(1, episodes + 1):
                    learned = 1 - np.exp(-episode / 12) if arm != "static" else 0.8
                    score = top * skill * talent * learned + rng.normal(0, top * 0.08)
                    model = "" if arm == "static" else "openai/gpt-tiny"
                    added = 0 if arm == "static" else int(rng.integers(25, 60))
                    entries += added
                    rows.append(row(
                        arm, task, one, episode, float(np.clip(round(score), 0, most)), max_score=most, model=model,
                        steps=int(rng.integers(30, 61)), entries=entries, added=added, hits=added * 5,
                        calls={"action": 55, "evaluation": 1}, prompt_tokens=int(rng.integers(60_000, 90_000)),
                        completion_tokens=4000, cost_usd=float(rng.uniform(0.01, 0.02)),
                        changed=int(rng.integers(0, 20)), answers={"asked": 55, "missing": int(rng.integers(0, 3))},
                    ))  # fmt: skip
                    timings.append(TimingRow(rows[-1].cell, 0, episode, float(rng.uniform(30, 60)), 25.0,
                                             0.002 * entries / 100 * 50 + 0.05, 50, 0.01, 70_000))  # fmt: skip
    run = made(
        rows, timings, title="Jericho games", about="Six methods learn three games, each with a memory of its own.",
        models=["openai/gpt-tiny"], seeds=list(range(1, seeds + 1)), steps=60, profile="paper",
        report={"measures": ["avg", "final"], "published": ["jericho_results"], "bins": 500},
    )  # fmt: skip
    run.manifest["plan"]["arms"][0]["reference"] = True
    run.manifest["command"] = "jitrl bench run jericho --games stories"
    return run


def web(tasks: int = 3, seeds: int = 2, seed: int = 1, models: tuple[str, ...] = ("openai/gpt-tiny",)) -> Made:
    """Return arms on tasks of five web sites, five times each, with one memory per site."""
    rng = np.random.default_rng(seed)
    rows, timings = [], []
    for model in models:
        for arm, skill in GAME_ARMS.items():
            for site in SITES:
                for one in range(1, seeds + 1):
                    for leg in range(tasks):
                        hard = rng.uniform(0, 0.6)
                        for episode in range(1, 6):
                            chance = np.clip(0.25 + skill * 0.12 * episode - hard * 0.4, 0, 1)
                            rows.append(row(
                                arm, f"web:{site}/{leg}", one, episode, float(rng.random() < chance), leg=leg,
                                group=site, cell=f"{arm}-{site}-{one}" + (f"-{model[-4:]}" if len(models) > 1 else ""),
                                model=model, max_score=1.0, steps=int(rng.integers(3, 11)), entries=leg * 40, added=8,
                                hits=40, hits_other=20, prompt_tokens=20_000, answers={"asked": 8, "missing": 0},
                            ))  # fmt: skip
                            timings.append(TimingRow(rows[-1].cell, leg, episode, 20.0, 15.0, 0.02, 8))
    run = made(
        rows, timings, title="Web tasks", models=list(models), memory="group", steps=10,
        report={"measures": ["avg", "final"], "published": ["main_results"], "average": "tasks"},
    )  # fmt: skip
    run.manifest["plan"]["arms"][0]["reference"] = True
    return run


def sweep(values: Mapping[str, float] | None = None) -> Made:
    """Return a run that varies the setting `beta`."""
    rng = np.random.default_rng(3)
    given = values or {"beta=0": 0.0, "beta=0.5": 0.5, "beta=1": 1.0, "beta=2": 2.0}
    rows = [
        row(arm, task, one, episode, float(round(20 + 10 * value - 4 * value**2 + rng.normal(0, 2))), agent="jitrl")
        for arm, value in given.items() for task in ("pantry", "manor") for one in (1, 2, 3) for episode in range(1, 11)
    ]  # fmt: skip
    run = made(rows, title="A sweep of β", swept="beta")
    for arm in run.manifest["plan"]["arms"]:
        arm["settings"] = {"beta": given[arm["name"]]}
    run.manifest["plan"]["report"]["figure"] = "values"
    return run
