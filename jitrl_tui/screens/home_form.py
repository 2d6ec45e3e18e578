"""The forms of the home screen: how a game or a web task is played, and with what a session goes on."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.validation import Integer
from textual.widgets import Input, Static

from engine.errors import UsageError
from engine.settings import SessionConfig
from jitrl_tui.preferences import used
from jitrl_tui.screens.dialogs import Dialog
from jitrl_tui.widgets.lines import ACCENT
from jitrl_tui.widgets.options import Entry, Picker

DEFAULT_MODEL = "local/smollm2"
_CAPABLE = "gemini/gemini-2.5-flash"
_SMALL = (DEFAULT_MODEL, "prior/")
"""Beginnings of the names of models that write no usable texts."""
_MEMORIES = [("shared", "goes on with what it knows"), ("own", "begins with an empty one")]
METHODS = [
    ("default", "plans through memory; learns best with small models"),
    ("paper", "the paper's JitRL: neighbours, LLM evaluator and summaries"),
    ("reference", "the authors' code, where it differs from the paper"),
    ("unified", "one pipeline for games and the web, after the paper"),
]
"""Profiles (`engine.settings.PROFILES`) with a description for people."""
KEPT = "as before"
"""The profile that stands for the settings of the session."""
_NUMBERS = (("episodes", 1_000_000), ("steps", 100_000), ("seed", 2**31 - 1))


class HowForm(Vertical):
    """Method, agent, model, numbers and memory of a session to start.

    It begins with what the user has set, or has chosen last.
    """

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._about = ""
        self._kind = "game"
        self._usual_steps = str(self._steps())

    def compose(self) -> ComposeResult:
        """Lay out the fields."""
        from engine.agents import AGENTS

        chosen = used()
        numbers = {
            "episodes": str(chosen.value("session.episodes")), "steps": self._usual_steps,
            "seed": str(chosen.value("session.seed")),
        }  # fmt: skip
        agents = [(made.name, made.about.split(";")[0]) for made in AGENTS.all().values()]
        yield Static(id="methodlabel", classes="label", markup=False)
        yield Picker("method", METHODS, chosen.value("session.profile", last=True))
        yield Picker("agent", agents, chosen.value("session.agent"), label="agent")
        yield Static("model, any litellm name", classes="label")
        yield Entry(chosen.value("session.model", last=True), id="model")
        with Horizontal(classes="row"):
            for name, most in _NUMBERS:
                with Vertical():
                    yield Static(name, classes="label")
                    check = [Integer(0 if name == "seed" else 1, most)]
                    yield Entry(numbers[name], id=name, validators=check)
        yield Picker("memory", _MEMORIES, chosen.value("session.memory"), label="memory")
        yield Static(id="about", markup=False)

    def _steps(self) -> int:
        """Return the step limit of a session of the present kind that the user has set, or that the profile has."""
        from engine.environments import profile

        fixed = used().fixed("settings.step_limit")
        return fixed.value if fixed else profile("default", self._kind).step_limit

    def turn_to(self, kind: str) -> None:
        """Take another kind of environment. The step limit is that of the kind, unless another one was typed."""
        if kind == self._kind:
            return
        before, self._kind = self._usual_steps, kind
        self._usual_steps = str(self._steps())
        field = self.query_one("#steps", Input)
        if field.value.strip() == before:
            field.value = self._usual_steps
        self.tell()

    def describe(self, about: str) -> None:
        """Show a description of what is to be played."""
        self._about = about
        self.tell()

    def tell(self) -> None:
        """Show the source of values, and what the method needs but the model cannot do."""
        from engine import explain
        from engine.environments import profile

        name, agent = self.query_one("#method", Picker).value, self.query_one("#agent", Picker).value
        label = self.query_one("#methodlabel", Static)
        made = profile(name, self._kind)
        settings = {"estimator": used().settings().get("estimator", made.estimator)}
        for named in (explain.method, explain.method_in_short):
            text = f"method · {named(settings, agent)}"
            if cell_len(text) <= label.size.width:
                break
        label.update(Content(text))
        asks = agent == "jitrl" and "llm" in (made.state, made.history)
        small = all(part.startswith(_SMALL) for part in self.model.split("+"))
        needs = (
            f"Needs a capable model, such as {_CAPABLE}. What this one cannot do is replaced by rules and said at "
            "the start."
        )
        about = "\n".join(filter(None, [needs if asks and small else "", self._about]))
        self.query_one("#about", Static).update(Content(about))

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.query_one("#model", Input).value.strip() or DEFAULT_MODEL

    @property
    def agent(self) -> str:
        """Name of the agent."""
        return self.query_one("#agent", Picker).value

    def config(self, game: str, games: str | None) -> SessionConfig:
        """Return the configuration of a session.

        Args:
            game: Name of the environment.
            games: Folder with more stories.

        Raises:
            UsageError: A field cannot be followed.
        """
        from engine.environments import resolve

        numbers = {}
        for name, _ in _NUMBERS:
            text = self.query_one(f"#{name}", Input).value.strip()
            if not text.isascii() or not text.isdigit():
                raise UsageError(f"{name} must be a whole number, not {text!r}")
            numbers[name] = int(text)
        method = self.query_one("#method", Picker).value
        kind, game = resolve(game)
        changes = {**used().settings(), "step_limit": numbers["steps"]}
        return SessionConfig(
            game=game,
            agent=self.agent,
            model=self.model,
            episodes=numbers["episodes"],
            seed=numbers["seed"],
            profile=method,
            settings=kind.profile(method, **changes),
            games=games,
            memory=self.query_one("#memory", Picker).value,
        )


class ChangeDialog(Dialog[tuple[str, str]]):
    """Asks for another model or profile to go on with. The answer is (model, profile), "" for an unchanged profile.

    Args:
        model: The present model.
        profile: The present profile.
        left: Number of episodes that are left.
    """

    BINDINGS: ClassVar = [Binding("enter", "go_on", show=False)]

    def __init__(self, model: str, profile: str, left: int) -> None:
        super().__init__()
        self._model, self._profile, self._left = model, profile, left

    def compose(self) -> ComposeResult:
        """Lay out the sentence and the fields."""
        left = f"{self._left} episode{'' if self._left == 1 else 's'}"
        with self.box("go on with another model or profile"):
            yield Static(
                Content(
                    f"A new session plays the {left} that are left, with the memory of this one. This one stays as it "
                    "is. An episode that is not finished is begun anew."
                ),
                classes="hint",
            )
            yield Static("model, any litellm name", classes="hint")
            yield Entry(self._model)
            kept = (KEPT, f"the settings of the session ({self._profile})")
            yield Picker("profile", [kept, *METHODS], label="profile")
            yield Static(Content.assemble(("Enter", ACCENT), " go on   ", ("tab", ACCENT), " profile   ",
                                          ("Esc", ACCENT), " close"))  # fmt: skip

    def on_input_submitted(self) -> None:
        """Answer."""
        self.action_go_on()

    def action_go_on(self) -> None:
        """Answer."""
        profile = self.query_one(Picker).value
        self.dismiss((self.query_one(Input).value.strip(), "" if profile == KEPT else profile))
