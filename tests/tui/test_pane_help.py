"""F1 shows the help of the pane with the focus, and every term that a pane can show is in its help."""

from __future__ import annotations

import asyncio
import dataclasses

import numpy as np

from engine import explain
from engine.records import Candidate
from jitrl_tui.help import page, pane_page
from jitrl_tui.keymap import own_keys
from jitrl_tui.panes import candidates
from jitrl_tui.panes.registry import PANES
from jitrl_tui.runs import derivation, hits
from jitrl_tui.runs.view import Choice
from jitrl_tui.screens.help import HelpDialog
from tests.tui import stream
from tests.tui.driving import live_app, replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text
from tests.tui.test_accounts import hit, memory_text, started
from tests.tui.test_explain import paper_choice
from tests.tui.test_one_account import decision, panes

NAMES = ("transcript", "candidates", "why", "memory", "curve", "page", "tree", "picture", "map")
PAGES = {name: pane_page(name) for name in NAMES}


def has(name: str, *terms: str) -> None:
    text = " ".join(PAGES[name].split())
    missing = [term for term in terms if term not in text]
    assert not missing, (name, missing)


def test_every_pane_has_a_page():
    assert {kind.name for kind in PANES.built_in} == set(PAGES)
    for name, text in PAGES.items():
        assert text.startswith("# "), name


def test_all_terms_of_the_candidates_are_in_their_help():
    chain = "".join(panes(decision(left=12.0), width=110)[0].splitlines(keepends=True)[1:5])
    signs = ["N", "Q̂", "V̂", "Â", "z", "·Ã", "z′", "◇z ◆z′", "┤"]
    assert [sign for sign in signs if sign not in chain] == []
    has("candidates", "**N**", "**Q̂ − V̂ = Â**", "**conf**", "**ln p**", "**z**", "**+β·Ã**", "**z′**", "**V̂(s)**",
        "**◇z ◆z′**", "**┤**")  # fmt: skip
    has("candidates", *(f"`{sign}`" for sign in candidates._HOW.values()))
    has("candidates", *(f"*{source}*" for source in ("llm", "both", *explain.NEUTRAL)))
    has("candidates", "`▸`", "`○`", "▲", "▼", "`▓`", "`░`", "`12+3`", "`(0.00)`")
    for made in (decision(left=12.0), decision(left=0.0), stream.decision(np.random.default_rng(3), 2, 5)):
        has("candidates", f"*{hits.unit(explain.shown_values(made.update))}*")


def test_all_terms_of_the_reasons_are_in_their_help():
    has("why", *(f"*{name}*" for name in (*explain.TERMS.values(), explain.SPARE)))
    has("why", "*Sampled*", "*Greedy*", "*JitRL changed this choice*", "*JitRL broke a tie*")
    has("why", "*Exploration within this episode*", "z′ = z + β·Ã", "Â = Q̂ − V̂", "Ã = Â / (max|Â| + ε)", "max Â")
    has("why", f"*{explain.POINTS}*", f"*{explain.NOVELTY}*", f"*{explain.RETURN}*")


def test_all_terms_of_memory_are_in_its_help():
    steps = (dataclasses.replace(hit("go south", 0, 2.0, episode=0), expected=1.5), hit("wait", 0))
    made = decision(*steps, gain=1.2, discovery=4.0, left=2.0, spare=0.5, tries=("dig",))
    text = memory_text(Choice(2, made, started(), 60), 200)
    head = next(line for line in text.splitlines() if "ep/step" in line)
    near = memory_text(paper_choice(), 120).splitlines()[0]
    has("memory", *(f"**{word}**" for word in {*head.split(), *near.split()}))
    has("memory", "*now*", "*this*", f"*{hits.ALSO}*", "*Nothing was remembered yet*")
    for _, what, remark in hits.account(made)[1:]:
        assert what in " ".join(PAGES["memory"].replace("*", "").split())
        assert not remark or remark in ("dig",) or what.startswith("for ")
    assert "the search counted" in text
    has("memory", "*The search counted*")


def test_all_terms_of_the_window_explain_are_in_its_help():
    text = " ".join(page("explain").split())
    made = paper_choice()
    steps = [*derivation.derive(made, 0), *derivation.derive(Choice(2, decision(left=12.0), started(), 60), 0)]
    for symbol in {step.symbol for step in steps}:
        assert f"**{symbol}**" in text
    for word in ("*paper*", "*code*", "*here*", "`←`", "`→`", "`s`"):
        assert word in text


def test_f1_opens_the_help_of_the_pane_with_the_focus():
    async def go():
        app, _ = replay_app(stream.run(1, 2))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for key, title in (("2", "Candidates"), ("5", "Learning curve")):
                await pilot.press(key, "f1")
                await until(pilot, lambda: isinstance(app.screen, HelpDialog) and title in screen_text(app))  # noqa: B023
                await pilot.press("f1")
                await still(pilot)
                assert app.screen is watch(pilot)

    asyncio.run(go())


def test_all_keys_that_do_something_are_on_one_screen_of_80_columns():
    async def go():
        app, _ = live_app(stream.run(1, 2))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.choice)
            screen = watch(pilot)
            for key in "124":
                await pilot.press(key, "question_mark")
                await until(pilot, lambda: isinstance(app.screen, HelpDialog))
                text = await settled(pilot)
                assert "? what the screen shows" in text
                own = own_keys(screen.focused)
                taken = {one for names, *_ in own for one in names.split(",")}
                others = [(k.written, k.label) for k in screen.keys_now() if k.first not in taken]
                for words in [*others, *(one[1:] for one in own)]:
                    assert " ".join(words) in text
                for useless in ("wireframe", "keep trial", "undo trial", "find earlier", "approve"):
                    assert useless not in text
                await pilot.press("escape")

    asyncio.run(go())


def test_f1_in_the_command_line_opens_the_whole_help_and_question_mark_has_all_pages():
    async def go():
        app, _ = live_app(stream.run(1, 2), play=True)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.choice)
            await pilot.press("f1")
            await still(pilot)
            dialog = app.screen
            assert isinstance(dialog, HelpDialog)
            for text in (page("watch"), page("explain"), *PAGES.values()):
                assert text in dialog._markdown

    asyncio.run(go())


def test_the_sources_of_candidates_are_those_of_the_record():
    made = dataclasses.replace(decision(left=1.0), candidates=(Candidate("a", 0.0, "valid"),) * 3)
    assert all(hits.is_neutral(candidate) for candidate in made.candidates)
