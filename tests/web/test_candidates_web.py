"""The texts that a task has to type, and the answers that a page has to offer, in the forms that sites use."""

from __future__ import annotations

import pytest

from engine.web.browser.snapshot import parse
from engine.web.choices import possible_actions, values_of

FORM = """- textbox "First name" [ref=e1]
- textbox "Last name" [ref=e2]
- textbox "Street" [ref=e3]
- textbox "New tag" [ref=e4]
- textbox "Begins" [ref=e5]
- textbox "From" [ref=e7]
- textbox "Password" [ref=e6]"""
PLACE = """- heading "Gull Theatre" [level=1] [ref=e1]
- table [ref=e2]:
  - row [ref=e3]:
    - rowheader "Address" [ref=e4]
    - cell "2 Mill Road, 3330 Yarrick" [ref=e5]
  - row [ref=e6]:
    - rowheader "Owner" [ref=e7]
    - cell "dag_pell, dag.pell@yarrick.example" [ref=e8]
- paragraph [ref=e9]: "Distance: 1.2 km Time: 1 h 13 min"
- paragraph [ref=e10]: It was built in forty days by a club.
- list [ref=e11]:
  - listitem [ref=e12]:
    - link "first night" [ref=e13]
  - listitem [ref=e14]:
    - link "second night" [ref=e15]"""


@pytest.mark.parametrize(
    ("intent", "typed"),
    [
        ("Add the address of Ivo Holt, 12 Mill Lane, Arlow.", "fill(<textbox[Street]>, '12 Mill Lane')"),
        ("Add the address of Ivo Holt, 12 Mill Lane, Arlow.", "fill(<textbox[First name]>, 'Ivo')"),
        ("Add the address of Ivo Holt, 12 Mill Lane, Arlow.", "fill(<textbox[Last name]>, 'Holt')"),
        ("Begin it on 2026-12-01 09:30 at the latest.", "fill(<textbox[Begins]>, '2026-12-01 09:30')"),
        ("Add the tag tested to the last release.", "fill(<textbox[New tag]>, 'tested')"),
        ("Show the trains from arlow to norrick.", "fill(<textbox[From]>, 'arlow')"),
    ],
)
def test_what_is_typed_is_offered_as_the_field_wants_it(intent, typed):
    assert typed in possible_actions(parse(FORM), intent)


def test_only_numbers_are_typed_where_a_number_is_asked_for():
    found = possible_actions(parse('- spinbutton "Quantity" [ref=e1]'), "Order 3 of the Quill Flask.")
    assert [action for action in found if action.startswith("fill")] == ["fill(<spinbutton[Quantity]>, '3')"]


@pytest.mark.parametrize("box", ['searchbox "Products"', 'textbox "Find a product"', 'textbox "q"'])
def test_what_a_task_is_about_is_typed_where_a_search_starts_and_nowhere_else(box):
    found = possible_actions(
        parse(f'- {box} [ref=e1]\n- textbox "Street" [ref=e2]'), "Show me the price of the copper kettle."
    )
    typed = [action for action in found if "'copper kettle'" in action]
    role, name = box.split(maxsplit=1)
    assert typed == [f"fill(<{role}[{name[1:-1]}]>, 'copper kettle')"]


def test_only_the_field_that_a_text_is_for_gets_it():
    found = possible_actions(parse(FORM), "Add the tag tested to the last release, and write to Ivo Holt.")
    assert [action for action in found if "'tested'" in action] == ["fill(<textbox[New tag]>, 'tested')"]
    assert "fill(<textbox[Street]>, 'Ivo')" not in found


@pytest.mark.parametrize(
    ("intent", "values"),
    [
        ("Write to greta_garland about /hours/.", ("greta_garland", "/hours/")),
        ("Order 3 of the Quill & Sons Flask.", ("3", "Quill & Sons Flask")),
        ("Where is Books at the Golden Hare?", ("Books at the Golden Hare", "Books", "Golden Hare")),
        ("What is at 47.25, -30.125?", ("47.25, -30.125", "47.25", "30.125")),
        ("May I see order 10023?", ("10023",)),
    ],
)
def test_the_values_of_a_task_have_the_forms_of_user_names_paths_firms_and_points(intent, values):
    assert values_of(intent) == values


@pytest.mark.parametrize(
    ("intent", "answer"),
    [
        ("At which address is Gull Theatre?", "2 Mill Road"),
        ("Who owns it? Give the user name.", "dag_pell"),
        ("Who owns it? Give the e-mail address.", "dag.pell@yarrick.example"),
        ("How far is it on foot?", "1.2 km"),
        ("How long does it take?", "1 h 13 min"),
        ("In how many days was it built?", "forty"),
        ("How many of them are listed?", "2"),
        ("Who comes first, by the name of the page?", "first night"),
    ],
)
def test_answers_are_offered_in_the_form_of_the_question(intent, answer):
    assert f"send_msg_to_user({answer!r})" in possible_actions(parse(PLACE), intent)


def test_a_number_before_what_is_counted_comes_first_also_in_a_button():
    rows = "".join(
        f'  - row [ref=r{n}]:\n    - cell "{10000 + n}" [ref=c{n}]\n    - cell "Complete" [ref=d{n}]\n'
        for n in range(60)
    )
    page = parse(f'- table [ref=e1]:\n{rows}- button "Select all 629 Orders" [ref=e2]\n')
    said = [each for each in possible_actions(page, "How many orders have the status Complete?") if each.startswith(
        "send_msg"
    )]
    assert said[0] == "send_msg_to_user('629')"


def test_a_field_without_a_name_is_called_by_the_text_before_it():
    page = parse('- textbox "Title" [ref=e1]\n- checkbox "Add the new tag:" [ref=e2]\n- textbox [ref=e3]')
    found = possible_actions(page, "Add the tag tested to the last release.")
    assert [each for each in found if "'tested'" in each] == ["fill(<textbox[]>, 'tested')"]


def test_a_long_list_offers_the_options_with_words_of_the_task_and_leaves_room():
    options = "".join(f'  - option "Zone {n}"\n' for n in range(500))
    page = parse(f'- combobox "Zone" [ref=e1]:\n{options}  - option "Ostby"\n- button "Save" [ref=e3]')
    found = possible_actions(page, "Set the zone to Ostby.")
    assert {"select_option(<combobox[Zone]>, 'Ostby')", "click(<button[Save]>)"} <= set(found)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/topic/update/1178/?next=1", "/topic/update/1178/"),
        ("http://127.0.0.1:80/topic/update/1178/", "/topic/update/1178/"),
        ("#", ""), ("?page=2", ""), ("javascript:void(0)", ""), ("/", ""),
    ],
)  # fmt: skip
def test_a_link_without_a_name_is_called_by_the_path_of_its_address(address, name):
    page = parse(f'- link [ref=e1]:\n  - /url: "{address}"\n  - generic [ref=e2]')
    assert page.nodes[0].name == name
    assert f"click(<link[{name}]>)" in possible_actions(page, "Change it.")


def test_a_link_with_a_name_keeps_it():
    assert parse('- link "Edit" [ref=e1]:\n  - /url: "/topic/update/1178/"').nodes[0].name == "Edit"
