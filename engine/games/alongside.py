"""Plays a list of commands in Jericho's own environment, for comparing with ours.

Jericho ends its process when it cannot read a story, so it has one of its own: `python -m engine.games.alongside`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from engine import children, waits
from engine.errors import GameError
from engine.games.story import Story, StoryPath, bare_file
from engine.records import Observation


@dataclass(frozen=True, slots=True)
class JerichoState:
    """Where Jericho's environment stands after a command.

    Attributes:
        score: The score.
        room: Number of the object that the player is in, 0 if it is not known.
        place: Name of that object.
        over: Whether the story has ended.
        won: Whether that was a victory.
    """

    score: float
    room: int
    place: str
    over: bool
    won: bool


def jericho_plays(story: Story, seed: int, commands: Sequence[str]) -> list[JerichoState]:
    """Return where Jericho's environment stands at the beginning and after each command, until the story ends.

    Raises:
        GameError: Jericho cannot play the story.
    """
    request = json.dumps({"seed": seed, "commands": list(commands)})
    # Commands such as `save` write into the folder in which Jericho runs.
    with bare_file(story.path) as path, tempfile.TemporaryDirectory(prefix="jitrl-game-") as folder:
        done = children.run(
            "Jericho",
            children.python("-m", "engine.games.alongside", path),
            children.environment(own=True),
            timeout=waits.STORY_LOAD.seconds + waits.STORY_STEP.seconds * len(commands),
            input=request.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
    if done.returncode:
        raise GameError(f"Jericho's own environment cannot play {story.name} with these commands")
    return [JerichoState(*each) for each in json.loads(done.stdout)]


def difference(ours: Observation, theirs: JerichoState) -> str:
    """Return what differs between our environment and Jericho's after the same commands, "" if nothing does.

    Jericho has no victory where it knows no words for one, so a victory of ours alone is no difference.
    """
    if ours.score != theirs.score:
        return f"the score is {ours.score:g}, and {theirs.score:g} in Jericho"
    if ours.over != theirs.over:
        return "the story has ended, and goes on in Jericho" if ours.over else "the story goes on, and ends in Jericho"
    if theirs.won and ours.outcome != "won":
        return f"the story is {ours.outcome or 'over'}, and won in Jericho"
    if not ours.over and ours.room and theirs.room and ours.room != theirs.room:
        return f"the place is {ours.place!r}, and {theirs.place!r} in Jericho"
    return ""


def main() -> int:
    """Play the commands on stdin, and write a list of stands."""
    import jericho

    request = json.load(sys.stdin)
    env = jericho.FrotzEnv(StoryPath(sys.argv[1]), seed=request["seed"])
    env.reset()
    stands = [_stand(env, over=False)]
    for command in request["commands"]:
        over = env.step(command)[2]
        stands.append(_stand(env, over=over))
        if over:
            break
    sys.stdout.write(json.dumps(stands))
    return 0


def _stand(env: object, *, over: bool) -> tuple[float, int, str, bool, bool]:
    room = env.get_player_location()  # type: ignore[attr-defined]
    # In stories made with TextWorld, Jericho takes another object than the player, and one without a name.
    number, name = (room.num, room.name) if room is not None and room.name else (0, "")
    return env.get_score(), number, name, bool(over), bool(over and env.victory())  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
