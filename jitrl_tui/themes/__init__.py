"""The themes of this project. Those with the terminal's colours (ansi-dark, ansi-light) come from Textual."""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
from textual.theme import Theme

from jitrl_tui.preferences.schema import THEMES

_TABLE = {
    "jitrl-dark": "#7aa2f7 #5a6ea8 #e0af68 #ff9e64 #f7768e #9ece6a #d5d9e8 #16181f #1c1f28 #2a2f3d",
    "jitrl-light": "#2458b3 #5873a8 #8a5a00 #a8480b #b3213d #2f6f12 #1d2230 #f4f3ef #fbfaf7 #dedbd2",
    "jitrl-contrast": "#6cb6ff #a9c7ff #ffe14d #ffb347 #ff9d9d #7dff7d #ffffff #000000 #000000 #1c1c1c",
    "jitrl-paper": "#1f5f6b #54737a #7d4e00 #94430a #a1262c #3b6414 #2b241a #f6edda #fbf4e4 #e6d9bd",
    "jitrl-forest": "#8fc9a3 #5f8f72 #e3c46b #f0a868 #f28b82 #b5d96b #dde6da #121a15 #18221c #25332a",
    "jitrl-mist": "#00587a #4a7183 #6f4a9e #8f4a00 #a3214f #1b6640 #1b2a33 #e9f0f3 #f3f7f9 #d2dee4",
    "jitrl-dusk": "#c4a7e7 #7f6fa8 #f6c177 #f5a97f #eb8fa9 #9ccfa0 #e4dff4 #1b1726 #221d30 #312a44",
    "jitrl-ember": "#f2a65a #a8743f #f5d76e #ff9b71 #ff8a80 #b8d67a #eee3d6 #1d1714 #251e1a #362c26",
}  # fmt: skip
"""The colours of each theme, in the order of `_theme`.

In jitrl-contrast there is at least 7 between each text and its ground.
"""


def _theme(name: str, colours: str) -> Theme:
    primary, secondary, accent, warning, error, success, foreground, background, surface, panel = colours.split()
    return Theme(
        name=name, dark=Color.parse(background).brightness < 0.5,
        primary=primary, secondary=secondary, accent=accent, warning=warning, error=error, success=success,
        foreground=foreground, background=background, surface=surface, panel=panel,
    )  # fmt: skip


OWN = tuple(_theme(name, colours) for name, colours in _TABLE.items())
DARK, LIGHT, CONTRAST, *_ = OWN
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
