"""Write docs/settings.md: everything that can be set, and the keys of all screens, from the code.

    python -m tests.write_settings

`tests/test_docs.py` fails when the page is old.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from pathlib import Path

from engine.settings.train import GrpoSettings, SftSettings, TrainingSettings
from jitrl_tui import keymap
from jitrl_tui.panes.registry import PANES, kinds
from jitrl_tui.preferences.schema import OPTIONS, Preference

FILE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"

_HEAD = """# Settings and keys

Everything that can be set, and every key. `python -m tests.write_settings` writes this page from the code.

## Where settings come from

A value is taken from the first of these that has it:

1. a flag that is typed, such as `--model` or `--set beta=4`
2. an environment variable, such as `JITRL_MODEL` (for the theme also `TEXTUAL_THEME`)
3. the config file: `--config FILE`, else `JITRL_CONFIG`, else the one in the platform's folder (`jitrl config path`)
4. what jitrl remembers: theme, speed and layout everywhere; game, model and profile on the home screen alone
5. the profile (`--profile`), for the settings of sessions
6. the default

`jitrl config show` prints every value with its source, `jitrl config diff` those that are not the default. `,` opens
the settings screen. A session keeps its settings; the one on the screen follows β, k, λ, α and r. Benchmarks ignore
config file and variables.

```sh
jitrl config set model gemini/gemini-2.5-flash    # checked, and written to the config file
jitrl config set keys.watch.step_once ctrl+n
jitrl config unset model
```

## The config file

It is TOML, with a table for each group. Comments stay when jitrl changes a value.

```toml
[app]
theme = "jitrl-light"

[session]
model = "gemini/gemini-2.5-flash"

[settings]
beta = 4

[keys]
watch.step_once = "ctrl+n"
```

`jitrl watch`, `play` and `run` refuse a file with a mistake, and tell the nearest valid name; other commands go on
without what is wrong. What jitrl remembers is in `state.json` in the platform's folder for states; it may be deleted.

## All settings

`app.theme` stands for `theme` in the table `[app]`. Its variable is `JITRL_THEME`, and so on for all. `settings.beta`
has the flag `--set beta=4`; another flag is named in brackets. `whole, 1 to 9` allows whole numbers alone.
"""

_KEYS = """
## Keys

The name of an action is its name in the table `[keys]`. A key is a character, or a name such as `f5`, `ctrl+n`,
`space` or `comma`; several are separated by commas. A key that another action of the screen has is refused.
"""


_TITLES = {
    "SCREEN": "Most screens", "memory_pane": "The memory pane of the watch screen",
    "sliders": "The sliders of the what-if window", "hit": "The window of a remembered step",
}  # fmt: skip


_TRAINING = """## Settings of training

`jitrl train grpo` and `jitrl train sft` have a flag for each. The config file and variables do not change them.
"""


def _training(group: type[TrainingSettings], title: str, above: type | None = None) -> list[str]:
    """Return the table of the settings that a class of training settings has and the one above it has not."""
    known = {spec.name for spec in dataclasses.fields(above)} if above else set()
    lines = [f"### {title}", "", "| flag | default | allowed | meaning |", "|---|---|---|---|"]
    for spec in dataclasses.fields(group):
        if spec.name not in known:
            meta = spec.metadata
            limits = (meta["low"], meta["high"], meta["choices"])
            one = Preference("train", spec.name, spec.default, meta["meaning"], *limits)
            cells = (f"`--{spec.name.replace('_', '-')}`", _value(one.default), _allowed(one), _cell(one.meaning))
            lines.append(f"| {' | '.join(cells)} |".replace("  |", " |"))
    return [*lines, ""]


def _allowed(one: Preference) -> str:
    return one.allowed.strip(", ").replace("whole number from ", "whole, ").replace("number from ", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`" if value != "" else ""


def page() -> str:
    """Return the whole page."""
    lines = [_HEAD]
    for group, options in itertools.groupby(OPTIONS, key=lambda option: option.group):
        lines += [f"### {group}", "", "| name | default | allowed | meaning |", "|---|---|---|---|"]
        for one in options:
            flag = f" (`{one.flag}`)" if one.flag and not one.flag.startswith("--set ") else ""
            cells = (f"`{one.key}`", _value(one.default), _allowed(one), _cell(one.meaning) + flag)
            lines.append(f"| {' | '.join(cells)} |".replace("  |", " |"))
        lines.append("")
    lines.append(_TRAINING)
    lines += _training(TrainingSettings, "Both")
    lines += _training(GrpoSettings, "GRPO", TrainingSettings)
    lines += _training(SftSettings, "SFT", TrainingSettings)
    lines.append(_KEYS.lstrip("\n"))
    tables = keymap.tables(kinds()[: len(PANES.built_in)])  # not those of installed packages
    rows = {name: [(key.written, key.name, key.meaning) for key in keys] for name, keys in tables.items()}
    most = len(rows.keys() - _TITLES) / 2
    often = [row for row, times in Counter(itertools.chain(*rows.values())).items() if times > most]
    own = {name: [row for row in keys if row not in often] for name, keys in rows.items()}
    for screen, keys in {"SCREEN": often, **own}.items():
        title = _TITLES.get(screen, f"The screen {screen}")
        lines += [f"### {title}", "", "| key | action | what it does |", "|---|---|---|"]
        lines += [f"| `{written}` | `{screen}.{name}` | {_cell(meaning)} |" for written, name, meaning in keys]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
