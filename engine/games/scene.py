"""A look around without those who wander about on their own.

For the stories it supports, Jericho knows which objects move about by themselves (its "clean" object
tree leaves them out). Where one of them is at the player's place, it is moved elsewhere for the time of
one `look`, and the state is brought back: what is printed then is the place itself.
"""

from __future__ import annotations

from typing import Any

_FIELDS = [
    ("num", "<i4"),
    ("name", "S64"),
    ("parent", "<i4"),
    ("sibling", "<i4"),
    ("child", "<i4"),
    ("attr", "V4"),
    ("properties", "V16"),
]


def still_look(env: Any, saved: Any) -> str | None:
    """Return what `look` prints without wanderers, None if none is here.

    Args:
        env: A `jericho.FrotzEnv` in the state to look at.
        saved: That state, from `env.get_state()`; it is set again before returning.
    """
    import numpy as np

    objects = np.frombuffer(env.get_world_objects(clean=False), dtype=_FIELDS)
    clean = np.frombuffer(env.get_world_objects(clean=True), dtype=_FIELDS)
    moved = np.flatnonzero(objects["parent"] != clean["parent"])
    if not len(moved):
        return None
    player = env.get_player_object()
    if player is None:
        return None
    place = player.parent
    here = [int(number) for number in moved if objects["parent"][number] == place]
    rooms = np.flatnonzero((objects["parent"] == objects["parent"][place]) & (objects["num"] != place))
    elsewhere = [int(number) for number in rooms if number not in here and number > 0]
    if not here or not elsewhere:
        return None
    try:
        for number in here:
            env.frotz_lib.teleport_obj(number, elsewhere[0])
        text: str = env.step("look")[0]
    finally:
        env.set_state(saved)
    return text
