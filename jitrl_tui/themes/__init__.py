"""The themes of this project. Those with the terminal's colours (ansi-dark, ansi-light) come from Textual."""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
from textual.theme import Theme

from jitrl_tui.preferences.schema import THEMES

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

CONTRAST = Theme(
    name="jitrl-contrast",
    primary="#6cb6ff",
    secondary="#a9c7ff",
    accent="#ffe14d",
    warning="#ffb347",
    error="#ff9d9d",
    success="#7dff7d",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
)
"""High contrast: at least 7 between each text and its ground."""

PAPER = Theme(
    name="jitrl-paper",
    primary="#1f5f6b",
    secondary="#54737a",
    accent="#7d4e00",
    warning="#94430a",
    error="#a1262c",
    success="#3b6414",
    foreground="#2b241a",
    background="#f6edda",
    surface="#fbf4e4",
    panel="#e6d9bd",
    dark=False,
)

MIST = Theme(
    name="jitrl-mist",
    primary="#00587a",
    secondary="#4a7183",
    accent="#6f4a9e",
    warning="#8f4a00",
    error="#a3214f",
    success="#1b6640",
    foreground="#1b2a33",
    background="#e9f0f3",
    surface="#f3f7f9",
    panel="#d2dee4",
    dark=False,
)

FOREST = Theme(
    name="jitrl-forest",
    primary="#8fc9a3",
    secondary="#5f8f72",
    accent="#e3c46b",
    warning="#f0a868",
    error="#f28b82",
    success="#b5d96b",
    foreground="#dde6da",
    background="#121a15",
    surface="#18221c",
    panel="#25332a",
    dark=True,
)

DUSK = Theme(
    name="jitrl-dusk",
    primary="#c4a7e7",
    secondary="#7f6fa8",
    accent="#f6c177",
    warning="#f5a97f",
    error="#eb8fa9",
    success="#9ccfa0",
    foreground="#e4dff4",
    background="#1b1726",
    surface="#221d30",
    panel="#312a44",
    dark=True,
)

EMBER = Theme(
    name="jitrl-ember",
    primary="#f2a65a",
    secondary="#a8743f",
    accent="#f5d76e",
    warning="#ff9b71",
    error="#ff8a80",
    success="#b8d67a",
    foreground="#eee3d6",
    background="#1d1714",
    surface="#251e1a",
    panel="#362c26",
    dark=True,
)

OWN = (DARK, LIGHT, CONTRAST, PAPER, FOREST, MIST, DUSK, EMBER)
CYCLE = THEMES
"""Themes in the order in which the theme key changes them."""


def quiet_colours(variables: Mapping[str, str]) -> dict[str, str]:
    """Return `quiet` (secondary text) and `faint` (lines, empty bars) for a theme's variables."""
    foreground, background = variables["foreground"], variables["background"]
    if foreground.startswith("ansi") or background.startswith("ansi"):
        # The terminal's palette is unknown. Only its default colour is sure to be readable.
        return {"quiet": "ansi_default", "faint": "ansi_bright_black"}
    front, back = Color.parse(foreground), Color.parse(background)
    # On a light ground the same share of it would leave too little contrast.
    share = 0.34 if back.brightness < 0.5 else 0.26
    return {"quiet": front.blend(back, share).hex, "faint": front.blend(back, 0.72).hex}
