"""Examples of each command for its help, and the page about it."""

from __future__ import annotations

from engine.pages import page

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "jitrl watch zork1",
        "jitrl watch pantry --model prior/verbs --speed 0",
        "jitrl run pantry --episodes 10 -o result.json",
        "jitrl help watch",
    ),
    "watch": (
        "jitrl watch zork1 --agent jitrl --model local/smollm2",
        "jitrl watch pantry --set beta=4 --break new-place",
        "jitrl watch --follow last",
    ),
    "play": ("jitrl play pantry", "jitrl play zork1 --plain"),
    "run": (
        "jitrl run pantry --model prior/verbs --episodes 10 -o result.json",
        "jitrl run pantry --json | jq .avg",
        "jitrl run pantry --resume last",
    ),
    "race": (
        "jitrl race pantry --arm static --arm jitrl --model prior/verbs",
        "jitrl race pantry --arm 'knn=jitrl:estimator=knn' --arm 'graph=jitrl'",
        "jitrl race --replay last",
    ),
    "serve": ("jitrl serve --port 8000", "jitrl serve watch pantry --model prior/verbs"),
    "sessions": (
        "jitrl sessions",
        "jitrl sessions last --branch 2:15",
        "jitrl sessions rename last first-win",
        "jitrl sessions export last -o transcript.md",
    ),
    "replay": ("jitrl replay last", "jitrl replay last --plain --speed 0"),
    "compare": ("jitrl compare last first-win", "jitrl compare last first-win --json"),
    "curves": ("jitrl curves", "jitrl curves last --with first-win -o curves.svg"),
    "whatif": ("jitrl whatif last --set beta=0.5",),
    "export": (
        "jitrl export last -o decisions.csv",
        "jitrl export last -o session.eval",
        "jitrl export last --to openinference -o spans.json",
        "jitrl export last --to datasets -o decisions",
    ),
    "memory": (
        "jitrl memory ls",
        "jitrl memory search brass lantern",
        "jitrl memory export -o memory.jsonl",
        "jitrl memory forget zork1 --episode 3 --dry-run",
    ),
    "bench": (
        "jitrl bench ls",
        "jitrl bench quick --dry-run",
        "jitrl bench resume last",
        "jitrl bench report last -o report",
    ),
    "train": ("jitrl train up --install", "jitrl train grpo pantry --updates 5", "jitrl train show last"),
    "games": ("jitrl games ls", "jitrl games fetch zork1 zork3", "jitrl games add ~/stories/curses.z5"),
    "models": ("jitrl models ls", "jitrl models test local/smollm2", "jitrl models info gemini/gemini-2.5-flash"),
    "web": ("jitrl web up shop", "jitrl web ls --suite local", "jitrl web down"),
    "up": ("jitrl up", "jitrl up report", "jitrl up semantic"),
    "config": ("jitrl config show", "jitrl config set theme jitrl-light", "jitrl config diff default paper"),
    "doctor": ("jitrl doctor", "jitrl doctor --model gemini/gemini-2.5-flash"),
    "completion": (
        'eval "$(jitrl completion bash)"',
        'eval "$(jitrl completion zsh)"',
        "jitrl completion fish | source",
    ),
    "help": ("jitrl help", "jitrl help bench run"),
}
"""By command; "" for jitrl itself."""
PAGES = {
    "": "index", "watch": "first-hour", "play": "first-hour", "run": "running", "race": "running", "serve": "running",
    "sessions": "branches", "compare": "compare", "export": "export", "memory": "memory-format", "bench": "bench",
    "train": "train", "games": "games", "models": "models", "web": "web", "up": "running", "config": "settings",
}  # fmt: skip
"""By command, the page of the documentation about it."""


def epilog(program: str) -> str:
    """Return what stands below the help of a command: its examples, and where to read more."""
    name = program.removeprefix("jitrl").strip()
    parts = ["examples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[name])] if name in EXAMPLES else []
    if about := PAGES.get(name.partition(" ")[0]):
        parts.append(f"more: {page(about)}")
    return "\n\n".join(parts)
