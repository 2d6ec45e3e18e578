"""The prior without a model on pages: what it rates high is what any person would try first."""

from __future__ import annotations

import numpy as np
import pytest

from engine.llm.priors.wordless import open_prior
from engine.records import ActionRequest
from engine.web.browser.snapshot import parse
from engine.web.choices import is_secret, possible_actions
from engine.web.drawing.lines import lines_of, read
from engine.web.drawing.text import fence, outline
from engine.web.prior import logits
from engine.web.questions import PAGE_ASKING
from engine.web.states.words import asks, expected_answer, stems, topics
from engine.web.tasks.answers import rank_answers

LIBRARY = """- banner [ref=e1]:
  - link "Books" [ref=e2]
  - link "Loans" [ref=e3]
  - link "Help" [ref=e4]
  - button "Log out" [ref=e5]
- heading "All loans" [level=1] [ref=e6]
- table [ref=e7]:
  - row "Book Reader Due Fee" [ref=e8]:
    - columnheader "Book" [ref=e9]
    - columnheader "Reader" [ref=e10]
    - columnheader "Due" [ref=e11]
    - columnheader "Fee" [ref=e12]
  - row "Emma Ada Pohl 2031-03-04 $1.50 Delete" [ref=e13]:
    - cell "Emma" [ref=e14]
    - cell "Ada Pohl" [ref=e15]
    - cell "2031-03-04" [ref=e16]
    - cell "$1.50" [ref=e17]
    - link "Delete" [ref=e18]
  - row "Ulysses Bo Lind 2031-05-06 $12.25 Delete" [ref=e20]:
    - cell "Ulysses" [ref=e21]
    - cell "Bo Lind" [ref=e22]
    - cell "2031-05-06" [ref=e23]
    - cell "$12.25" [ref=e24]
    - link "Delete" [ref=e25]
  - row "Persuasion Ada Pohl 2031-06-01 $0.00 Delete" [ref=e26]:
    - cell "Persuasion" [ref=e27]
    - cell "Ada Pohl" [ref=e28]
    - cell "2031-06-01" [ref=e29]
    - cell "$0.00" [ref=e30]
    - link "Delete" [ref=e31]
- paragraph [ref=e40]: "The desk closes at 18. Opening hours of the desk: 9 to 18."
"""
FORM = """- heading "New loan" [level=1] [ref=e1]
- textbox "Book" [ref=e2]
- textbox "Reader" [ref=e3]
- combobox "Branch" [ref=e4]:
  - option "North" [selected]
  - option "Harbour"
- button "Lend" [ref=e5]
- button "Save" [ref=e6]
- button "Delete all" [ref=e7]
"""


BOOK = """- link "Books" [ref=e2]
- link "Loans" [ref=e3]
- textbox "Search" [ref=e9]
- button "Search" [ref=e10]
- heading "Persuasion" [level=1] [ref=e6]
- paragraph [ref=e7]: A novel in 24 chapters. The author is Jane Austen.
- button "Reserve" [ref=e12]
- link "Write a review" [ref=e13]
"""
ROWS = """- table [ref=e1]:
  - row "Reader: Branch: Harbour" [ref=e2]:
    - cell "Reader:" [ref=e3]
    - cell [ref=e4]:
      - textbox [ref=e5]
  - row "Branch: North" [ref=e6]:
    - cell "Branch:" [ref=e7]
    - cell "North" [ref=e8]:
      - combobox [ref=e9]:
        - option "North" [selected]
        - option "South"
  - row "Shelf: North" [ref=e10]:
    - cell "Shelf:" [ref=e11]
    - cell "North" [ref=e12]:
      - combobox [ref=e13]:
        - option "North" [selected]
        - option "South"
- button "Save" [ref=e14]
"""


def request(snapshot, intent, recent="", candidates=3, title="Library"):
    page = parse(snapshot, "http://x/", title)
    text = f"Task: {intent}\n" + fence(f"URL: {page.url}\nTitle: {page.title}\n{outline(page)}")
    return ActionRequest("", "", recent, text, possible_actions(page, intent), candidates)


def best(snapshot, intent, recent="", title="Library"):
    asked = request(snapshot, intent, recent, title=title)
    return asked.valid_actions[int(np.argmax(logits(asked)))]


@pytest.mark.parametrize(
    ("intent", "answer"),
    [
        ("Who has borrowed Ulysses?", "Bo Lind"),
        ("What is the fee for Ulysses?", "$12.25"),
        ("When is Emma due?", "2031-03-04"),
        ("How many books has Ada Pohl borrowed?", "2"),
        ("What are the opening hours of the desk?", "9 to 18"),
    ],
)
def test_the_answer_that_stands_in_the_row_column_or_sentence_of_the_question_fits_best(intent, answer):
    page = parse(LIBRARY, "http://x/", "Library")
    found = rank_answers(lines_of(page, is_secret), intent, page.title)
    assert found[0].text == answer, found[:5]
    assert f"send_msg_to_user({answer!r})" in possible_actions(page, intent)


def test_a_task_that_asks_nothing_is_not_answered_with_what_stands_on_the_page():
    actions = possible_actions(parse(LIBRARY), "Return the book Emma.")
    assert [a for a in actions if a.startswith("send_msg")] == ["send_msg_to_user('done')"]


def test_where_a_page_or_an_answer_may_be_wanted_both_are_offered():
    actions = possible_actions(parse(LIBRARY), "Show me the reader of Ulysses")
    assert {"send_msg_to_user('Bo Lind')", "send_msg_to_user('done')"} <= set(actions)


def test_what_the_task_names_is_clicked_and_nothing_is_deleted_unasked():
    assert best(LIBRARY, "Show me all books") == "click(<link[Books]>)"
    asked = request(LIBRARY, "Prolong the loan of Ulysses")
    order = [asked.valid_actions[i] for i in np.argsort(logits(asked))]
    assert "Delete" not in order[-1]
    assert "click(<button[Log out]>)" in order[:4]
    assert best(LIBRARY, "Delete the loan of Ulysses") == "click(<link[Delete]#2>)"


def test_a_form_is_filled_in_field_by_field_then_sent_and_then_it_is_said_to_be_done():
    intent = 'Lend the book "Emma" to the reader "Ada Pohl" at the branch Harbour.'
    steps, recent = [], ""
    for _ in range(3):
        steps.append(best(FORM, intent, recent))
        recent += f"{steps[-1]}\n  -> Library http://x/\n"
    assert sorted(steps) == [
        "fill(<textbox[Book]>, 'Emma')",
        "fill(<textbox[Reader]>, 'Ada Pohl')",
        "select_option(<combobox[Branch]>, 'Harbour')",
    ]
    assert best(FORM, intent, recent) == "click(<button[Lend]>)"
    recent += "click(<button[Lend]>)\n  -> Library http://x/loans\n"
    assert best(LIBRARY, intent, recent) == "send_msg_to_user('done')"


def test_a_field_that_is_called_by_a_small_word_gets_what_follows_the_word_in_the_task():
    page = """- searchbox "Search" [ref=e1]
- textbox "From" [ref=e2]
- textbox "To" [ref=e3]
- button "Get directions" [ref=e4]
"""
    intent = "How long does it take from Mill Station to Harbour Station?"
    first = best(page, intent)
    then = best(page, intent, f"{first}\n  -> Directions http://x/d\n")
    assert {first, then} == {"fill(<textbox[From]>, 'Mill Station')", "fill(<textbox[To]>, 'Harbour Station')"}


def test_a_page_that_is_called_what_was_to_be_opened_is_the_end_and_one_that_says_the_answer_too():
    came = "click(<link[Persuasion]>)\n  -> Persuasion | Library http://x/b/7\n"
    title = "Persuasion | Library"
    assert best(BOOK, "Open the page of the book Persuasion.", came, title) == "send_msg_to_user('done')"
    assert best(BOOK, "How many chapters does Persuasion have?", came, title) == "send_msg_to_user('24')"
    assert best(BOOK, "Who is the author of Persuasion?", came, title) == "send_msg_to_user('Jane Austen')"
    assert best(BOOK, "Reserve the book Persuasion.", came, title) == "click(<button[Reserve]>)"
    pressed = came + "click(<button[Reserve]>)\n  -> Persuasion | Library http://x/b/7\n"
    assert best(BOOK, "Reserve the book Persuasion.", pressed, title) == "send_msg_to_user('done')"


def test_fields_without_a_name_are_called_by_the_row_they_stand_in():
    intent = 'Set the reader to "Ada" and the shelf to South.'
    first = best(ROWS, intent)
    then = best(ROWS, intent, f"{first}\n  -> Library http://x/\n")
    assert {first, then} == {"fill(<textbox[]>, 'Ada')", "select_option(<combobox[]#2>, 'South')"}


def test_what_was_done_already_is_rated_lower_than_before():
    fresh, again = (
        dict(zip(asked.valid_actions, logits(asked), strict=True))["click(<link[Books]>)"]
        for asked in (request(LIBRARY, "Find a way", past) for past in ("", "click(<link[Books]>)\n  -> Library http://x/"))
    )  # fmt: skip
    assert again < fresh - 1


def test_logits_of_the_web_are_shares_so_that_one_failure_can_outweigh_them():
    prior = open_prior("prior/verbs", PAGE_ASKING)
    proposal = prior.propose(request(LIBRARY, "Who has borrowed Ulysses?"), np.random.default_rng(0))
    z = [c.z for c in proposal.candidates]
    assert sum(z) == pytest.approx(1.0)
    assert all(0 <= each <= 1 for each in z)
    assert len(proposal.candidates) == 3
    assert open_prior("prior/verbs").propose(request(LIBRARY, "x"), np.random.default_rng(0)).candidates


def test_anything_a_page_can_hold_is_rated_without_an_error():
    for snapshot in ("", "- text: '['", '- button "]>" [ref=e1]', "- textbox [ref=e2]: x", "nothing like it"):
        asked = request(snapshot, 'Fill "]>" and (1.2] into it')
        assert len(logits(asked)) == len(asked.valid_actions)
    odd = ActionRequest("", "", "", "no page at all", ("click(<link[A]>)", "nonsense"), 3)
    assert np.isfinite(logits(odd)).all()


def test_an_outline_is_read_back_as_the_lines_it_was_written_from():
    page = parse(LIBRARY + FORM.replace("ref=e", "ref=f"), "http://x/", "Library")
    assert list(read(outline(page))) == list(lines_of(page, is_secret))


def test_words_are_compared_by_their_stems():
    assert stems("The customers' Orders") == stems("customer order")
    assert stems("categories") == stems("category")
    assert "release" not in stems("the of and") == []
    assert topics("Who invented the diving bell?")[0] == "diving bell"
    assert [asks(t) for t in ("How many?", "List all", "Open the page.", "Set it to 3")] == [
        True,
        True,
        False,
        False,
    ]
    kinds = ["How many cats?", "What is the price?", "Who is it?", "When was it?", "How long did it take?"]
    assert [expected_answer(t) for t in kinds] == ["number", "money", "name", "date", "duration"]


def test_links_to_where_nothing_may_be_opened_are_not_offered():
    page = parse(
        '- link "Inside" [ref=e1]:\n  - /url: /books\n- link "Outside" [ref=e2]:\n  - /url: https://elsewhere.example/\n'
        '- link "Script" [ref=e3]:\n  - /url: "javascript:void(0)"\n- link "Broken" [ref=e4]:\n  - /url: "http://[x/"\n',
        "http://x/",
        "Library",
    )
    given = possible_actions(page, "Show me all books", allows=lambda url: url.startswith("http://x/"))
    clicked = [action for action in given if action.startswith("click")]
    assert clicked == [f"click(<link[{name}]>)" for name in ("Inside", "Script", "Broken")]
    assert "click(<link[Outside]>)" in possible_actions(page, "Show me all books")


def test_a_search_that_was_sent_is_no_form_that_was_filled_in():
    intent = "Reserve the book Persuasion"
    searched = (
        "fill(<textbox[Search]>, 'Persuasion')\n  -> Library http://x/\n"
        "press(<textbox[Search]>, 'Enter')\n  -> Found http://x/search?q=Persuasion"
    )
    page = BOOK.replace("Reserve", "Save list")

    def odds(recent):
        asked = request(page, intent, recent)
        return logits(asked)[asked.valid_actions.index("click(<button[Save list]>)")]

    assert odds(searched) == odds("click(<link[Books]>)\n  -> Found http://x/search?q=Persuasion")
    assert odds(searched) < odds("fill(<textbox[Search]>, 'Persuasion')\n  -> Library http://x/")


LAMP = """- textbox "Search" [ref=e1]
- button "Search" [ref=e2]
- link "Lamps" [ref=e3]
- heading "Corvid Lamp 112" [level=1] [ref=e4]
- spinbutton "Quantity" [ref=e5]: "1"
- button "Add to basket" [ref=e6]
"""


def test_the_amount_is_the_number_of_the_task_that_is_no_part_of_a_name():
    intent = "Add 2 of the Corvid Lamp 112 to the basket."
    assert best(LAMP, intent, title="Corvid Lamp 112") == "fill(<spinbutton[Quantity]>, '2')"


def test_names_are_searched_before_numbers():
    intent = "Order 1 of the Sandpiper Teapot and have it sent to my address."
    shelf = "\n".join(f'- link "Thing {i}" [ref=e{i}]' for i in range(20, 80))
    page = f'- textbox "Search" [ref=e1]\n- button "Search" [ref=e2]\n{shelf}\n'
    assert best(page, intent) == "fill(<textbox[Search]>, 'Sandpiper Teapot')"


MENUS = """- list [ref=e1]:
  - listitem [ref=e2]:
    - button "Fulfilment" [expanded] [ref=e3]
    - generic [ref=e4]:
      - link "Orders" [ref=e5]
      - link "Partners" [ref=e6]
  - listitem [ref=e7]:
    - button "Customers" [ref=e8]
- link "Stocks" [ref=e9]
"""


def test_a_menu_that_was_opened_is_no_form_that_was_sent():
    intent = "Add the fulfilment partner Umber Workshop."
    recent = "click(<button[Fulfilment]>)\n  -> Library http://x/"
    assert best(MENUS, intent, recent) == "click(<link[Partners]>)"
    asked = request(MENUS, intent, recent)
    odds = dict(zip(asked.valid_actions, logits(asked), strict=True))
    assert odds["click(<link[Orders]>)"] > odds["send_msg_to_user('done')"]
