"""Web pages as a kind of environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.kinds import EnvironmentContext, Kind
from engine.memory.search import Retriever, ScopeRules

if TYPE_CHECKING:
    from engine.environment import Environment
    from engine.evaluator import Evaluator
    from engine.llm.dialect import Dialect
    from engine.llm.model import Model
    from engine.llm.questions import Asking
    from engine.llm.reading.writer_check import WritingTest
    from engine.settings import Settings

_TABLE: Mapping[str, Any] = {
    "gamma": 0.1, "lam": 0.05, "r": 0.8, "history_weight": 0.7, "task_threshold": 0.27, "step_limit": 10,
}  # fmt: skip
"""The paper's hyperparameters for WebArena."""


def _open(name: str, context: EnvironmentContext) -> Environment:
    from engine.web.environment_factory import open_web

    return open_web(name, context.saves, context.variables)


def _ready(name: str, context: EnvironmentContext) -> tuple[str, ...]:
    from engine.web.environment_factory import ready

    return ready(name, context.saves, context.variables)


def _group(name: str, context: EnvironmentContext) -> str:
    from engine.web.environment_factory import group

    return group(name, context.saves)


def _original(name: str, context: EnvironmentContext) -> str:
    from engine.web.environment_factory import original

    return original(name, context.saves)


def _asking() -> Asking:
    from engine.web.questions import PAGE_ASKING

    return PAGE_ASKING


def _evaluator(settings: Settings, model: Model) -> Evaluator:
    from engine.web.evaluator import WebEvaluator

    return WebEvaluator(settings, model)


def _tests() -> Mapping[str, WritingTest]:
    from engine.web.questions import TESTS

    return TESTS


def _dialects() -> Mapping[str, Dialect]:
    from engine.web.webrl.scene import WebrlScene

    return {"webrl": WebrlScene}


def _lifted(memory: Retriever) -> Retriever:
    from engine.web.states.transfer import LiftedMemory

    return LiftedMemory(memory)


WEB = Kind(
    name="web",
    about="web pages: web:TASK with one of `jitrl web ls`, or browsergym:TASK",
    open=_open,
    fallback=("noop()",),
    ready=_ready,
    group=_group,
    original=_original,
    aliases={"browsergym:": "web:browsergym-"},
    opening="starting the browser",
    profiles={
        "default": {
            **_TABLE, "other_tasks": "lifted", "rewards": "hybrid", "transform": "linear", "selection": "greedy",
        },
        "paper": {**_TABLE, "beta": 1.23, "history": "vision"},
        "reference": {
            **_TABLE, "history": "vision", "rewards": "llm", "k": 1000, "page_query": "dropped",
            "summary_temperature": 0.3, "judging_temperature": 0.3, "step_limit": 25,
        },
        "unified": {**_TABLE, "history_weight": 0.25, "task_threshold": 0.0, "history": "llm"},
    },
    asking=_asking,
    evaluator=_evaluator,
    tests=_tests,
    writes_small=False,
    memory=ScopeRules(forms=True, lifted=_lifted),
    pictures=True,
    browser=True,
    dialects=_dialects,
)  # fmt: skip
