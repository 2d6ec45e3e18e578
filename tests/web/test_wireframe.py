"""The page as text: places, numbers, and that nothing about a page or a size breaks it."""

from __future__ import annotations

import random

import pytest

from engine.web.actions import parse as parse_action
from engine.web.actions import resolve
from engine.web.browser.pages import snapshot_text
from engine.web.browser.snapshot import Page, parse
from engine.web.choices import possible_actions
from engine.web.drawing.canvas import width_of
from engine.web.drawing.items import items_of, spoken
from engine.web.drawing.wireframe import draw

SHOP = """\
- banner [ref=e1] [box=0,0,1280,60]:
  - link "Quayside" [ref=e2] [box=20,20,80,20]:
    - /url: /
  - searchbox "Search" [ref=e3] [box=700,15,300,30]: kettle
  - button "Go" [ref=e4] [box=1020,15,60,30]
- main [ref=e5] [box=0,60,1280,1400]:
  - heading "Kettles" [level=1] [ref=e6] [box=20,80,200,40]
  - combobox "Sort by:" [ref=e7] [box=900,90,150,30]:
    - option "Name" [selected]
    - option "Price"
  - link "Blue kettle (3)" [ref=e8] [box=20,200,200,20]
  - link "Red kettle" [ref=e9] [box=660,200,200,20]
  - checkbox "In stock" [checked] [ref=e10] [box=20,300,100,20]
  - textbox "Password" [ref=e11] [box=20,400,200,30]: hunter22
  - link "Imprint" [ref=e12] [box=20,1380,100,20]
"""


def _row(frame, text):
    return next(i for i, row in enumerate("\n".join("".join(r.text for r in row) for row in frame.rows)
                                          .split("\n")) if text in row)  # fmt: skip


@pytest.mark.parametrize(("width", "height"), [(78, 10), (78, 22), (56, 40), (138, 42)])
def test_elements_stand_where_the_page_has_them_and_have_numbers(width, height):
    drawn = draw(parse(SHOP), width, height)
    lines = drawn.text.split("\n")
    for number, name in ((1, "Quayside"), (5, "Blue"), (6, "Red"), (9, "Imprint")):
        assert any(f"{number}·{name}" in line for line in lines)
    order = [_row(drawn, name) for name in ("Quayside", "Kettles", "Blue kettle", "In stock", "Password")]
    assert order == sorted(set(order))
    assert _row(drawn, "Red kettle") == _row(drawn, "Blue kettle")
    line = lines[_row(drawn, "Red kettle")]
    assert abs(line.index("6·Red") - width * 660 / 1100) < width / 6  # to scale: half of the used width
    assert "[x] In stock" in drawn.text
    assert "Search: kettle" in drawn.text
    assert "Sort by: Name" in drawn.text
    assert "hunter22" not in drawn.text


def test_what_is_outside_of_the_window_is_drawn_beyond_a_line_and_counted():
    drawn = draw(parse(SHOP), 78, 22)
    assert drawn.outside == (0, 1, 0, 0)
    assert "the window ends here; below: 1 element " in drawn.text
    assert _row(drawn, "window ends") == drawn.window[1] < _row(drawn, "Imprint")
    moved = parse("- link \"Top\" [ref=e1] [box=0,-300,50,20]\n- link \"Here\" [ref=e2] [box=0,30,50,20]\n"
                  "- link \"Aside\" [ref=e3] [box=4000,30,50,20]")  # fmt: skip
    drawn = draw(moved, 60, 20)
    assert drawn.outside == (1, 0, 0, 1)
    assert (
        _row(drawn, "Top")
        < _row(drawn, "▲ above: 1 element")
        < drawn.window[0] + 1
        <= _row(drawn, "Here") + 1
    )
    assert "▸ right: 1" in drawn.text


def test_a_cell_leads_to_the_element_that_is_drawn_there():
    drawn = draw(parse(SHOP), 100, 30)
    row = _row(drawn, "Red kettle")
    column = "".join(r.text for r in drawn.rows[row]).index("Red")
    found = drawn.at(column, row)
    assert (found.number, found.action, found.ready) == (6, "click(<link[Red kettle]>)", True)
    assert drawn.at(-1, row) is drawn.at(0, 10_000) is drawn.at(500, row) is None


def test_links_and_buttons_of_one_bar_stand_in_one_row():
    bar = """\
- link "Dashboard" [ref=e1] [box=20,60,110,48]
- button "Catalogue" [ref=e2] [box=140,62,120,44]
- link "Reports" [ref=e3] [box=280,60,90,48]
- link "A long title that takes more than one line of its box" [ref=e4] [box=20,200,150,58]
"""
    rows = draw(parse(bar), 100, 30).text.splitlines()
    assert any("1·Dashboard" in row and "┤2 Catalogue├" in row and "3·Reports" in row for row in rows)


def test_a_counter_that_actions_leave_out_is_drawn():
    assert "like (2)" in draw(parse('- link "like (2)" [ref=e1] [box=0,0,80,20]'), 78, 22).text


def test_a_text_that_needs_more_lines_than_on_the_page_is_not_cut():
    text = "Search for a name, an address, a sort of place (cafes in Harwick), or what is near something"
    page = f"""\
- region "Results" [ref=e1] [box=0,50,380,750]:
  - paragraph [ref=e2] [box=14,100,352,57]: {text}
  - paragraph [ref=e3] [box=14,165,352,19]: Next
- region "Map" [ref=e4] [box=380,50,900,750]:
  - button "Zoom" [ref=e5] [box=1240,100,30,30]
"""
    lines = [line.partition("│")[2].partition("│")[0] for line in draw(parse(page), 80, 40).text.split("\n")]
    assert " ".join(" ".join(lines).split()) == f"{text} Next"


def test_numbers_do_not_depend_on_the_size_and_can_be_spoken():
    page = parse(SHOP)
    assert [i.number for i in draw(page, 20, 5).items] == [i.number for i in draw(page, 200, 60).items]
    assert spoken("5", page) == "click(<link[Blue kettle]>)"
    assert spoken("click 5", page) == "click(<link[Blue kettle]>)"
    assert spoken("2 red one", page) == "fill(<searchbox[Search]>, 'red one')"
    assert spoken("4 Price", page) == "select_option(<combobox[Sort by:]>, 'Price')"
    for other in ("", "99", "0", "click(<link[Home]>)", "go_back()", "²", "9" * 5000):
        assert spoken(other, page) is None


def test_frames_are_drawn_where_there_is_room_for_them():
    assert "┌─ banner" in draw(parse(SHOP), 78, 30).text
    assert "┌─ banner" not in draw(parse(SHOP), 78, 8).text


def _anything(rng: random.Random) -> Page:
    roles = ("link", "button", "textbox", "combobox", "option", "checkbox", "heading", "paragraph", "table",
             "dialog", "generic", "iframe", "form", "img", "gridcell", "tab", "navigation")  # fmt: skip
    lines, depth = [], 0
    for ref in range(rng.randrange(120)):
        depth = rng.randint(0, min(depth + 1, 30))
        name = "".join(
            rng.choice("ab \u4e2d\u0301\U0001f600\"\\'[]#:\u202e\t") for _ in range(rng.randrange(40))
        )
        big = rng.choice((1, 50, 1300, 1e5, 1e12, float("inf"), float("nan")))
        box = ",".join(f"{rng.uniform(-1, 1) * big:.1f}" for _ in range(4))
        quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\t", " ") + '"'
        parts = [rng.choice(roles), quoted if rng.random() < 0.7 else ""]
        parts += [f"[ref=e{ref}]"] * (rng.random() < 0.7) + [f"[box={box}]"] * (rng.random() < 0.8)
        value = rng.choice(("", "", ": some text that goes on for a while", f": {name}"))
        lines.append(f"{'  ' * depth}- {' '.join(filter(None, parts))}{value}")
    return parse("\n".join(lines))


def test_no_page_and_no_size_breaks_it_and_it_always_fits():
    rng = random.Random(7)
    for _ in range(80):
        page = _anything(rng)
        width, height = rng.choice((1, 2, 7, 40, 78, 140, 300)), rng.choice((0, 1, 9, 22, 45))
        drawn = draw(page, width, height, rng.choice(((1280, 720), (1, 1), (0, 0), (320, 9000))))
        for row in drawn.rows:
            assert width_of("".join(run.text for run in row)) == width
        assert len(drawn.rows) <= 1400
        assert 0 <= drawn.window[0] <= drawn.window[1] <= len(drawn.rows)
        assert [i.number for i in items_of(page) if i.number] == list(
            range(1, 1 + sum(1 for i in items_of(page) if i.number))
        )
    assert "empty" in draw(Page(), 30).text


CLICKABLE = """\
- generic [ref=e1] [box=0,0,1280,720]:
  - generic [ref=e3] [cursor=pointer] [box=8,60,200,20]: Buy now
  - text: only words
  - generic [ref=e4] [cursor=pointer] [box=8,100,600,20]:
    - text: A card with
    - link "a link" [ref=e5] [cursor=pointer] [box=120,100,60,20]
  - listitem [ref=e8] [cursor=pointer] [box=8,140,200,20]: "Item: A"
  - row [ref=e13] [cursor=pointer] [box=8,180,200,20]:
    - cell "north" [ref=e14] [box=8,180,60,20]
    - cell "south" [ref=e15] [box=80,180,60,20]
    - img "Star" [ref=e17] [cursor=pointer] [box=160,180,20,20]
  - generic [ref=e16] [cursor=pointer] [box=8,220,20,20]
  - paragraph [ref=e18] [box=8,260,600,20]: Only to be read
"""


def test_what_is_plain_and_can_be_clicked_has_a_number_and_a_name_to_be_called_by():
    page = parse(CLICKABLE)
    numbered = {item.number: item.action for item in items_of(page) if item.number}
    assert numbered == {
        1: "click(<generic[Buy now]>)",
        2: "click(<link[a link]>)",
        3: "click(<listitem[Item: A]>)",
        4: "click(<row[north south Star]>)",
        5: "click(<img[Star]>)",
        6: "click(<generic[]#2>)",
    }
    assert {n: resolve(parse_action(a).target, page).ref for n, a in numbered.items()} == {
        1: "e3", 2: "e5", 3: "e8", 4: "e13", 5: "e17", 6: "e16",
    }  # fmt: skip
    assert spoken("1", page) == numbered[1]
    drawn = draw(page, 100, 40).text
    for part in (
        "1·Buy now",
        "2·a link",
        "3·Item: A",
        "4·north so",
        "5·Star",
        "6·▢",
        "only words",
        "Only to be read",
    ):
        assert part in drawn
    assert set(numbered.values()) <= set(possible_actions(page, "Buy something."))  # the agent's actions, too
    assert "click(<generic[A card with a link]>)" not in possible_actions(page, "Buy something.")
    assert parse(snapshot_text(page), page.url, page.title) == page  # as it was, from a recording, too


def test_a_page_with_a_hand_for_a_pointer_everywhere_stays_readable():
    words = "\n".join(f"  - paragraph [ref=e{i}] [box=8,{i * 20},400,20]: line {i}" for i in range(2, 40))
    page = parse(f"- generic [ref=e1] [cursor=pointer] [box=0,0,1280,720]:\n{words}")
    assert not any(item.number for item in items_of(page))
    assert "line 30" in draw(page, 100, 40).text
