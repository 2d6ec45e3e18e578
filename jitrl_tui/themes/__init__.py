"""The two themes of this project. Those with the terminal's colours (ansi-dark, ansi-light) come from Textual."""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
from textual.theme import Theme

DARK = Theme(
    name="jitrl-dark",
    primary="#7aa2f7",
    secondary="#5a6ea8",
    accent="#e0af68",
    warning="#ff9e64",
    error="#f7768e",
    success="#9ece6a",
    foreground="#d5d9e8",
    background="#16181f",
    surface="#1c1f28",
    panel="#2a2f3d",
    dark=True,
)

LIGHT = Theme(
    name="jitrl-light",
    primary="#2458b3",
    secondary="#5873a8",
    accent="#8a5a00",
    warning="#a8480b",
    error="#b3213d",
    success="#2f6f12",
    foreground="#1d2230",
    background="#f4f3ef",
    surface="#fbfaf7",
    panel="#dedbd2",
    dark=False,
)

CYCLE = ("jitrl-dark", "jitrl-light", "ansi-dark", "ansi-light")
"""Themes in the order in which the theme key changes them."""


def quiet_colours(variables: Mapping[str, str]) -> dict[str, str]:
    """Return `quiet` (secondary text) and `faint` (lines, empty bars) for a theme's variables."""
    foreground, background = variables["foreground"], variables["background"]
    if foreground.startswith("ansi") or background.startswith("ansi"):
        # The terminal's palette is unknown. Only its default colour is sure to be readable.
        return {"quiet": "ansi_default", "faint": "ansi_bright_black"}
    front, back = Color.parse(foreground), Color.parse(background)
    return {"quiet": front.blend(back, 0.34).hex, "faint": front.blend(back, 0.72).hex}
