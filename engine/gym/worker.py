"""The worker process of one environment, `worker.py FOLDER`. It reads and writes one JSON object per line.

FOLDER is its working folder, which it removes at the end. The file is run by an interpreter that has the
environment's package, which need not have jitrl's packages. So it imports only modules of this project that
need nothing but the standard library. It ends when its input ends. Requests, by `op`:

open    `package`, `env_id`, `given`, `cache`, `seed`, and how to read it: `names`, `templates`, `slots`, `text`,
        `ended`
reset   `seed`
step    `action`

Each request has `seconds`. Some time after these, the kernel ends the process, even if it hangs.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
from pathlib import Path
from typing import IO, Any

MEMORY_LIMIT = 4 * 2**30
"""Limit of the process's data in bytes."""
FILE_LIMIT = 2**29
_WON = ("won", "is_success", "success")
LATE_S = 5.0
"""Seconds after a deadline until the kernel ends the process. Usually the parent has ended it by then."""


class GymServer:
    """Answers requests about one environment."""

    def __init__(self) -> None:
        self._env: Any = None
        self._read: Any = None
        self._actions: Any = None
        self._ended = ""
        self._score = 0.0
        self._moves = 0
        self._over = False

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request."""
        op = request["op"]
        if op == "open":
            return self._opened(request)
        if op == "reset":
            observation, info = self._env.reset(seed=request["seed"])
            self._score, self._moves, self._over = 0.0, 0, False
            return self._seen(observation, info)
        if op == "step":
            return self._stepped(request["action"])
        raise ValueError(f"unknown request {op!r}")

    def close(self) -> None:
        """Close the environment."""
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def _opened(self, request: dict[str, Any]) -> dict[str, Any]:
        from engine.gym import maker_base, makers, reader, unfit

        self._ended = request["ended"]
        try:
            made = makers.make(request["package"], request["env_id"], request["given"], Path(request["cache"]))
            self._env = made.env
            observation, info = self._env.reset(seed=request["seed"])
            first = reader.fingerprint(observation, info)
            observation, info = self._env.reset(seed=request["seed"])
            repeatable = first == reader.fingerprint(observation, info)
            self._read = reader.text_reader(self._env, observation, request["text"])
            self._actions = reader.actions_of(
                self._env, info, request["names"], request["templates"], request["slots"]
            )
        except maker_base.ModuleMissing as missing:
            return {"missing": missing.module}
        except maker_base.NoSuchEnvironment as unknown:
            return {"unknown": unknown.near}
        except unfit.Unfit as error:
            return {"unfit": str(error)}
        most = reader.number(info.get("max_score"))
        return {
            "max_score": most, "open": self._actions.open, "repeatable": repeatable, "source": made.source,
            "digest": made.digest,
        }  # fmt: skip

    def _stepped(self, action: str) -> dict[str, Any]:
        from engine.gym import reader

        if self._over:
            return {"refused": "the episode is over"}
        try:
            taken = self._actions.take(action)
        except reader.ActionRefused as refused:
            return {"refused": str(refused)}
        observation, reward, terminated, truncated, info = self._env.step(taken)
        gained = reader.number(0.0 if reward is None and "score" in info else reward)
        if gained is None:
            raise ValueError(f"the reward is {reward!r}, which is no finite number from -1e100 to 1e100")
        self._score = round(self._score + gained, 9)
        self._moves += 1
        ends = {"terminated": bool(terminated), "truncated": bool(truncated)}
        outcome = _outcome(info, gained, self._ended) if terminated else ""
        return self._seen(observation, info, **ends, outcome=outcome)

    def _seen(
        self, observation: Any, info: Any, *, terminated: bool = False, truncated: bool = False, outcome: str = ""
    ) -> dict[str, Any]:
        """Return the reply after a reset or a step."""
        from engine.gym import reader

        self._over = terminated or truncated
        score = reader.number(info.get("score"))
        moves = reader.number(info.get("moves"), 2**53)

        def given(*keys: str) -> str:
            found = next((info[key] for key in keys if isinstance(info.get(key), str)), "")
            return found[: reader.LONGEST_TEXT]

        return {
            "text": self._read(observation)[: reader.LONGEST_TEXT],
            "description": given(*reader.DESCRIPTIONS),
            "inventory": given(*reader.INVENTORIES),
            "place": reader.place(observation, info),
            "score": self._score if score is None else score,
            "max_score": reader.number(info.get("max_score")),
            "moves": self._moves if moves is None else int(moves),
            "terminated": terminated,
            "truncated": truncated,
            "outcome": outcome,
            "valid": [] if self._over else self._actions.valid(info),
        }


def _outcome(info: Any, reward: float, unsaid: str) -> str:
    """Return "won", "lost", or "" if unknown.

    Args:
        reward: The last reward.
        unsaid: The outcome if `info` gives none, as in `engine.gym.names.Wanted.ended`.
    """
    if any(info.get(key) for key in _WON):
        return "won"
    if info.get("lost") or any(info.get(key) is False for key in _WON[1:]):
        return "lost"
    if unsaid == "reward":
        return "won" if reward > 0 else "lost"
    return unsaid


def main(folder: str) -> int:
    """Answer requests until the input ends; then remove `folder` with any files that packages left there."""
    os.chdir(folder)
    requests, replies = _private_channels()
    root = str(Path(__file__).resolve().parents[2])
    sys.path.insert(0, root)
    # Import this now, while this project's folder is on the path. The environment's packages are imported
    # without it.
    import engine.gym.nethack
    import engine.gym.older
    import engine.gym.reader
    import engine.gym.textworld_games  # noqa: F401
    from engine.confine import lower, no_new_privileges

    lower(resource.RLIMIT_DATA, MEMORY_LIMIT)
    lower(resource.RLIMIT_FSIZE, FILE_LIMIT)
    lower(resource.RLIMIT_CORE, 0)
    no_new_privileges()
    sys.path.remove(root)
    server = GymServer()
    for line in requests:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] + LATE_S)
        try:
            reply = server.answer(request)
        except (Exception, SystemExit) as error:
            reply = {"failed": f"{type(error).__name__}: {error}"[:2000]}
        signal.setitimer(signal.ITIMER_REAL, 0)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    signal.setitimer(signal.ITIMER_REAL, LATE_S)
    with contextlib.suppress(Exception):
        server.close()
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _private_channels() -> tuple[IO[str], IO[str]]:
    """Return files for requests and replies. Standard input and output of packages go to the null device."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
    return requests, replies


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
