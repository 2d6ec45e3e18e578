"""A text environment with Gymnasium's interface, in a worker process with deadlines.

If a step crashes, hangs or raises, the episode ends, and the observation of the step is a sentence about the error.
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

from engine import children, texts, waits
from engine.environment import Abstractor, Environment
from engine.errors import BadFile, GameError, MissingError, UsageError
from engine.games.states.phrases import sentences, short
from engine.games.states.state import abstract as of_prose
from engine.gym.marks import plain
from engine.gym.names import PREFIX, NameParts, parse
from engine.records import EnvironmentInfo, Observation
from engine.workers import LineWorker, WorkerFailed, WorkerLost

_WORD = re.compile(r"[a-z]{2,}")


def abstract(
    scene: str, inventory: str, place: str, said: str = "", room: int = 0, marks: tuple[str, ...] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the text `[State: noun, ...]` and the sorted tokens of one situation.

    Arguments and tokens are those of `engine.games.states.state.abstract`, with two further kinds of tokens:
    `see:ROW:LINE` for a drawn line (one without a word in lower case), and `see:SENTENCE` for a sentence with
    a number.
    """
    rows = scene.splitlines()
    drawn = [(number, row.strip()) for number, row in enumerate(rows) if row.strip() and not _WORD.search(row)]
    prose = "\n".join(row for row in rows if _WORD.search(row))
    text, tokens = of_prose(prose, inventory, place, said, room, marks)
    more = {f"see:{number}:{short(row)}" for number, row in drawn}
    more |= {
        f"see:{short(' '.join(texts.words(line)))}" for line in sentences(prose) if any(map(str.isdigit, line))
    }
    if drawn:
        inside = text.removeprefix("[State: ").removesuffix("]")
        text = f"[State: {', '.join(filter(None, [inside, *(row for _, row in drawn)]))}]"
    return text, tuple(sorted({*tokens, *more}))


PYTHON = "JITRL_GYM"
"""The variable that names an interpreter with the packages of environments. By default it is the present one."""
PASSED = "JITRL_GYM_PASS"
"""Names further environment variables, with commas between them, that the process of an environment gets."""
_FURTHER = (
    "USER", "LOGNAME", "TERM", "JAVA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE",
)  # fmt: skip
"""Environment variables that packages commonly need besides those of Python (`engine.confine.clean`). None is a key."""
OPEN_S = waits.GYM_OPEN.seconds
"""Time limit in seconds for importing a package and making an environment. TextWorld compiles games."""
RESET_S = waits.GYM_RESET.seconds
STEP_S = waits.GYM_STEP.seconds
_WORKER = Path(__file__).with_name("worker.py")
_GRACE_S = 1.0


class GymEnvironment(Environment):
    """An environment in a process of its own.

    Args:
        name: `gym:PACKAGE/ENV_ID?KEY=VALUE&...`, see `engine.gym.names`.
        cache: Folder for cached files, such as compiled games.
        variables: Environment variables. JITRL_GYM names an interpreter that has the package. The process gets only
            variables that programs commonly need, and those that JITRL_GYM_PASS names.

    Attributes:
        worker: The process of the environment; None while there is none.

    Raises:
        MissingError: The package, or one that it needs, is not installed.
        UsageError: It has no such environment, or the environment cannot be played as text.
        GameError: Making it failed or took too long.
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
        self.worker: LineWorker | None = None
        self._taken: list[str] = []
        self._last: Observation | None = None
        self._valid: dict[str, str] = {}
        """The present actions: the environment's name of each, by the displayed name."""
        self._broke: set[tuple[str, str]] = set()
        """(World, action) of steps that broke the environment. They are not offered again while there are others."""
        try:
            self._opened = opened = self._start()
        except BaseException:
            self.close()
            raise
        self.info = EnvironmentInfo(
            name=name,
            title=", ".join([Path(wanted.env_id).name, *(f"{key} {value}" for key, value in wanted.given.items())]),
            scope=_scope(name, wanted, opened["digest"]),
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
        except (WorkerLost, WorkerFailed):  # it may have died because of an earlier step
            try:
                self._start()
                return self._see(self._ask(RESET_S, op="reset", seed=seed), None)
            except (WorkerLost, WorkerFailed) as error:
                raise GameError(f"{self._name} cannot begin an episode: {error}") from None

    def step(self, action: str) -> Observation:
        """Take one action. An unknown action is not taken, and the observation says so.

        If the environment fails, the episode ends.

        Raises:
            GameError: No episode has begun.
        """
        before = self._last
        if before is None:
            raise GameError("no episode has begun; reset the environment first")
        if before.broken:
            return before
        raw = self._valid.get(action, " ".join(action.split()))
        try:
            reply = self._ask(STEP_S, op="step", action=raw)
        except (WorkerLost, WorkerFailed) as error:
            self._broke.add((before.world_hash, action))
            text = f"[{error}; the episode ends here]"
            self._last = dataclasses.replace(before, text=text, changed=False, failed=True, truncated=True)
            return self._last
        if "refused" in reply:
            self._last = dataclasses.replace(before, text=f"[{plain(reply['refused'])}]", changed=False)
            return self._last
        self._taken.append(raw)
        return self._see(reply, before)

    def valid_actions(self) -> tuple[str, ...]:
        """Return the possible actions, from the environment or from its name; () if the episode is over."""
        if self._last is None or self._last.over:
            return ()
        world = self._last.world_hash
        return tuple(action for action in self._valid if (world, action) not in self._broke) or tuple(self._valid)

    def resolve(self, action: str) -> str | None:
        """Return an action as listed, or as one line if any text may be typed; None if it cannot be taken."""
        if action in self._valid:
            return action
        line = " ".join(plain(action).split())
        listed = {shown.casefold(): shown for shown in self._valid}
        return listed.get(line.casefold()) or (line if line and self._opened["open"] else None)

    def save(self) -> bytes:
        """Return the seed and the actions that led here, for `restore`."""
        return json.dumps({"seed": self._seed, "taken": self._taken}).encode()

    def restore(self, saved: bytes) -> Observation:
        """Repeat the actions of a saved situation.

        Raises:
            BadFile: It is damaged.
            GameError: The environment failed meanwhile.
        """
        try:
            data = json.loads(saved)
            seed, taken = int(data["seed"]), [str(action) for action in data["taken"]]
        except (ValueError, KeyError, TypeError):
            raise BadFile("this saved situation is damaged") from None
        seen = self.reset(seed)
        for action in taken:
            seen = self.step(action)
        if seen.failed:
            raise GameError(f"this saved situation cannot be reached again: {seen.text}")
        return seen

    def abstractor(self) -> Abstractor:
        """Return a new abstractor for text."""
        from engine.games.states.state import GameAbstractor
        from engine.gym.environment import abstract

        return GameAbstractor(abstract)

    def close(self) -> None:
        """End the process; calling this twice is safe."""
        self._end()
        self._last = None

    # -------------------------------------------------------------------------------------- the process

    def _start(self) -> dict[str, Any]:
        """Start a new process, make the environment in it, and return the worker's reply."""
        self._end()
        self._folder = tempfile.mkdtemp(prefix="jitrl-gym-")
        self.worker = LineWorker(
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
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.end()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        if self.worker is None:
            raise GameError(f"{self._name} is closed")
        return self.worker.ask(seconds, seconds=seconds, **request)

    # ---------------------------------------------------------------------------------------- observations

    def _see(self, reply: Mapping[str, Any], before: Observation | None) -> Observation:
        """Make a reply the present observation and return it. All texts of the environment are cleaned here."""
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
    """Return the observation for a reply, including how the episode ended."""
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
    """Return the interpreter with the environments' packages.

    Raises:
        MissingError: The interpreter that JITRL_GYM names does not run.
    """
    given = variables.get(PYTHON, "")
    if given and not (os.path.isfile(given) and os.access(given, os.X_OK)):
        raise MissingError(f"{PYTHON} names {given}, which is no program; set it to a Python interpreter")
    return given or sys.executable


def _variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of the process. They have no keys and no folder of ours, and limit threads."""
    named = (name.strip() for name in variables.get(PASSED, "").split(","))
    return children.environment(
        {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}, (*_FURTHER, *named), variables=variables
    )


def _absolute(env_id: str) -> str:
    """Return an id with a path made absolute, because the process has its own working folder."""
    path = Path(env_id).expanduser()
    return str(path.absolute()) if path.is_file() else env_id


def _scope(name: str, wanted: NameParts, digest: str) -> str:
    """Return the key of an environment's memory: its name with sorted options, or its game file with the digest."""
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


def _unknown(wanted: NameParts, near: list[str]) -> str:
    if not near:
        return f"{wanted.package} registers no environment {wanted.env_id!r}, and no other with Gymnasium"
    return f"{wanted.package} has no environment {wanted.env_id!r}; it has {', '.join(near)}"
