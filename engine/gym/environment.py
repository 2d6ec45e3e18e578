"""A Gymnasium-style text environment: owns the process that holds it, guards it with deadlines, brings it back.

A step that crashes, hangs or raises costs nothing else: a new process takes the episode's actions again up to there,
and what broke it is answered with a sentence.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.confine import clean
from engine.environment import Abstractor
from engine.errors import BadFile, GameError, MissingError, UsageError
from engine.gym.marks import plain
from engine.gym.naming import PREFIX, Wanted, parse
from engine.records import EnvironmentInfo, Observation
from engine.workers import LineWorker, WorkerFailed, WorkerLost

PYTHON = "JITRL_GYM"
"""Names an interpreter that has the packages of environments, where that is not this one."""
PASSED = "JITRL_GYM_PASS"
"""Names further environment variables, with commas between them, that the process of an environment gets."""
_FURTHER = (
    "USER", "LOGNAME", "TERM", "JAVA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE",
)  # fmt: skip
"""Environment variables that packages commonly need besides those of Python (`engine.confine.clean`). None is a key."""
OPEN_S = 180.0
"""Seconds that importing a package and making an environment may take; TextWorld compiles games."""
RESET_S = 60.0
STEP_S = 30.0
_WORKER = Path(__file__).with_name("worker.py")
_GRACE_S = 1.0


class GymEnvironment:
    """An environment in a process of its own. Implements `Environment` and `OpenActions` of `engine.environment`.

    Args:
        name: `gym:PACKAGE/ENV_ID?KEY=VALUE&...`, see `engine.gym.naming`.
        cache: Folder for what is worth keeping, such as compiled games.
        variables: Environment variables; JITRL_GYM names an interpreter that has the package, JITRL_GYM_PASS
            further variables for its process, which gets no others than those that programs commonly need.

    Raises:
        MissingError: The package, or one that it needs, is not installed.
        UsageError: It has no such environment, or the environment cannot be played as text.
        GameError: It cannot be made, or not in time.
    """

    def __init__(self, name: str, cache: Path, variables: Mapping[str, str]) -> None:
        self._name = name
        self._wanted = wanted = parse(name)
        self._python = _interpreter(variables)
        self._variables = _variables(variables)
        self._seed = 1
        self._folder = ""
        self._request = {
            "op": "open", "package": wanted.package, "env_id": _absolute(wanted.env_id), "given": dict(wanted.given),
            "names": wanted.actions, "templates": wanted.templates, "slots": dict(wanted.slots), "text": wanted.text,
            "ended": wanted.ended, "cache": str(cache.absolute()), "seed": self._seed,
        }  # fmt: skip
        self._worker: LineWorker | None = None
        self._taken: list[str] = []
        self._last: Observation | None = None
        self._valid: dict[str, str] = {}
        """The actions possible now, as they are shown, to what the environment calls them."""
        self._broke: set[tuple[str, str]] = set()
        """World and action of what the environment did not survive; not offered again."""
        try:
            self._opened = self._start()
        except BaseException:
            self.close()
            raise

    @property
    def info(self) -> EnvironmentInfo:
        """What stays the same while the environment is open."""
        wanted, opened = self._wanted, self._opened
        return EnvironmentInfo(
            name=self._name,
            title=", ".join([Path(wanted.env_id).name, *(f"{key} {value}" for key, value in wanted.given.items())]),
            scope=_scope(self._name, wanted, opened["digest"]),
            max_score=opened["max_score"],
            source=opened["source"],
            digest=opened["digest"],
            repeatable=opened["repeatable"],
        )

    def reset(self, seed: int) -> Observation:
        """Begin an episode.

        Raises:
            GameError: The environment fails or hangs when an episode begins.
        """
        self._seed, self._taken = seed, []
        try:
            return self._see(self._ask(RESET_S, op="reset", seed=seed), None)
        except (WorkerLost, WorkerFailed):  # it may have died of something earlier
            try:
                self._start()
                return self._see(self._ask(RESET_S, op="reset", seed=seed), None)
            except (WorkerLost, WorkerFailed) as error:
                raise GameError(f"{self._name} cannot begin an episode: {error}") from None

    def step(self, action: str) -> Observation:
        """Take one action; one that the environment does not have is answered, not taken.

        Raises:
            GameError: What it broke could not be brought back.
        """
        before = self._last
        if before is None:
            raise GameError("no episode has begun; reset the environment first")
        raw = self._valid.get(action, " ".join(action.split()))
        try:
            reply = self._ask(STEP_S, op="step", action=raw)
        except (WorkerLost, WorkerFailed) as error:
            self._broke.add((before.world_hash, action))
            self._revive(before)
            self._last = dataclasses.replace(
                before, text=f"[{error}; it was brought back to before that]", changed=False
            )
            return self._last
        if "refused" in reply:
            self._last = dataclasses.replace(before, text=f"[{plain(reply['refused'])}]", changed=False)
            return self._last
        self._taken.append(raw)
        return self._see(reply, before)

    def valid_actions(self) -> tuple[str, ...]:
        """Return what the environment, or its name, says can be done now; () when done."""
        if self._last is None:
            return ()
        world = self._last.world_hash
        return tuple(action for action in self._valid if (world, action) not in self._broke)

    def resolve(self, action: str) -> str | None:
        """Return an action as it is listed, or on one line where any text may be typed; None if it cannot be taken."""
        if action in self._valid:
            return action
        line = " ".join(plain(action).split())
        listed = {shown.casefold(): shown for shown in self._valid}
        return listed.get(line.casefold()) or (line if line and self._opened["open"] else None)

    def save(self) -> bytes:
        """Return the seed and the actions that led here, for `restore`."""
        return json.dumps({"seed": self._seed, "taken": self._taken}).encode()

    def restore(self, saved: bytes) -> Observation:
        """Take the actions of a saved situation again.

        Raises:
            BadFile: It is damaged.
            GameError: The environment fails on the way.
        """
        try:
            data = json.loads(saved)
            seed, taken = int(data["seed"]), [str(action) for action in data["taken"]]
        except (ValueError, KeyError, TypeError):
            raise BadFile("this saved situation is damaged") from None
        seen = self.reset(seed)
        for action in taken:
            seen = self.step(action)
        return seen

    def abstractor(self) -> Abstractor:
        """Return a new abstractor for text."""
        from engine.games.states.state import GameAbstractor
        from engine.gym.states import abstract

        return GameAbstractor(abstract)

    def close(self) -> None:
        """End the process; safe to call twice."""
        self._end()
        self._last = None

    # -------------------------------------------------------------------------------------- the process

    def _start(self) -> dict[str, Any]:
        """Start a new process and make the environment in it; return what is known of it."""
        self._end()
        self._folder = tempfile.mkdtemp(prefix="jitrl-gym-")
        self._worker = LineWorker(
            self._name, [self._python, str(_WORKER), self._folder], self._variables, grace=_GRACE_S
        )
        reply = self._ask(OPEN_S, **self._request)
        if "missing" in reply:
            raise MissingError(_missing(self._name, reply["missing"], self._wanted.package, self._python))
        if "unknown" in reply:
            raise UsageError(_unknown(self._wanted, reply["unknown"]))
        if "unfit" in reply:
            raise UsageError(f"{self._name} cannot be played as text: {plain(reply['unfit'])}")
        return reply

    def _end(self) -> None:
        """End the process and remove its folder."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        if self._worker is None:
            raise GameError(f"{self._name} is closed")
        return self._worker.ask(seconds, seconds=seconds, **request)

    def _revive(self, before: Observation) -> None:
        """Start a new process and take the episode's actions again.

        Raises:
            GameError: That fails, or leads elsewhere.
        """
        try:
            self._start()
            seen = self._see(self._ask(RESET_S, op="reset", seed=self._seed), None)
            for action in self._taken:
                seen = self._see(self._ask(STEP_S, op="step", action=action), seen)
        except (WorkerLost, WorkerFailed, KeyError) as error:
            raise GameError(f"{self._name} broke and could not be brought back: {error}") from None
        if seen.world_hash != before.world_hash:
            raise GameError(
                f"{self._name} broke and could not be brought back: the same seed and actions led elsewhere"
            )

    # ---------------------------------------------------------------------------------------- observations

    def _see(self, reply: Mapping[str, Any], before: Observation | None) -> Observation:
        """Keep what a reply shows as the present. Texts of the environment come in here and nowhere else."""
        named = ((" ".join(plain(raw).split()), raw) for raw in reply["valid"])
        self._valid = {name: raw for name, raw in named if name}
        shown = {key: plain(reply[key]) for key in ("text", "description", "inventory", "place")}
        shown["text"] = shown["text"].strip("\n")
        kept = shown["description"] or shown["text"]
        scene = re.sub(self._wanted.ignore, "", kept) if self._wanted.ignore else kept
        world = [scene, shown["inventory"], shown["place"], reply["score"], list(self._valid), reply["terminated"]]
        key = hashlib.blake2b(json.dumps(world).encode(), digest_size=12).hexdigest()
        self._last = _observation(
            reply, shown, "" if scene == kept else scene, key, changed=before is None or before.world_hash != key
        )
        return self._last


def _observation(
    reply: Mapping[str, Any], shown: Mapping[str, str], scene: str, world: str, *, changed: bool
) -> Observation:
    """Return the observation of a reply: the one place that says how an episode's end is told."""
    return Observation(
        text=shown["text"],
        description=shown["description"],
        inventory=shown["inventory"],
        place=" ".join(shown["place"].split()),
        score=reply["score"],
        max_score=reply["max_score"],
        moves=reply["moves"],
        terminated=reply["terminated"],
        truncated=reply["truncated"],
        outcome=reply["outcome"],
        world_hash=world,
        changed=changed,
        scene=scene,
    )


def _interpreter(variables: Mapping[str, str]) -> str:
    """Return the interpreter that has the environments' packages.

    Raises:
        MissingError: The one that is named does not run.
    """
    given = variables.get(PYTHON, "")
    if given and not (os.path.isfile(given) and os.access(given, os.X_OK)):
        raise MissingError(f"{PYTHON} names {given}, which is no program; set it to a Python interpreter")
    return given or sys.executable


def _variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the process's environment variables: no keys, no folder of ours on its path, no needless threads."""
    named = (name.strip() for name in variables.get(PASSED, "").split(","))
    given = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    return {
        **clean(variables, (*_FURTHER, *named)), "PYTHONPATH": os.pathsep.join(map(os.path.abspath, given)),
        "PYTHONSAFEPATH": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip


def _absolute(env_id: str) -> str:
    """Return an id, a path made absolute: the process works in a folder of its own."""
    path = Path(env_id).expanduser()
    return str(path.absolute()) if path.is_file() else env_id


def _scope(name: str, wanted: Wanted, digest: str) -> str:
    """Return the key of the memory that belongs to an environment: what is made or read otherwise is another one."""
    if digest:
        return f"{PREFIX.removesuffix(':')}/{wanted.package}/{Path(wanted.env_id).stem}-{digest[:8]}"
    path, _, query = name.removeprefix(PREFIX).partition("?")
    options = "&".join(sorted(filter(None, query.split("&"))))
    return f"{PREFIX.removesuffix(':')}/{path}{'?' if options else ''}{options}"


def _missing(name: str, module: str, package: str, python: str) -> str:
    what = module.partition(".")[0]
    needed = "is not here" if what == package.partition(".")[0] else f"needs {what}, which is not here"
    return (
        f"{name}: the package {package} {needed}; get it with: {python} -m pip install {what}   (it may be called "
        f"otherwise there; {PYTHON}=/path/to/python takes another Python's packages)"
    )


def _unknown(wanted: Wanted, near: list[str]) -> str:
    if not near:
        return f"{wanted.package} registers no environment {wanted.env_id!r}, and no other with Gymnasium"
    return f"{wanted.package} has no environment {wanted.env_id!r}; it has {', '.join(near)}"
