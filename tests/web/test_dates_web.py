"""Dates: what a task says, what a field wants, and what a site gets."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from engine.web import dates
from engine.web.browser.snapshot import parse
from engine.web.choices import possible_actions
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment
from engine.web.states.words import topics


@pytest.mark.parametrize(
    ("task", "form", "typed"),
    [
        ("Valid from 2026-12-01 09:30 to 2026-12-31.", "yyyy-mm-dd HH:MM:ss",
         ("2026-12-01 09:30:00", "2026-12-31 00:00:00")),
        ("Valid from 2026-12-01 09:30.", "DD/MM/YYYY", ("01/12/2026",)),
        ("Valid from 2026-12-01 09:30.", "DD/MM/YYYY HH:mm", ("01/12/2026 09:30",)),
        ("Valid from 2026-12-01 09:30.", "HH:MM", ("09:30",)),
        ("It was on 12 July 2026, not on July 3rd, 2026.", "d.m.yy", ("12.7.26", "3.7.26")),
        ("How many were there in February 2028?", "yyyy-mm-dd", ("2028-02-01", "2028-02-29")),
        ("How many were there in 2025?", "yyyy-mm-dd", ("2025-01-01", "2025-12-31")),
        ("Enter 05/13/2014 as the date.", "yyyy-mm-dd", ("2014-05-13",)),
        ("Enter 03/02/2014 as the date.", "yyyy-mm-dd", ("2014-03-02", "2014-02-03")),
        ("Enter 3:24 PM as the time.", "HH:MM", ("15:24",)),
        ("Order 10023 at 47.25, -30.12 for 2000 crowns, 99:99, 2026-13-40.", "yyyy-mm-dd", ()),
    ],
)  # fmt: skip
def test_the_dates_of_a_task_are_written_as_a_field_wants_them(task, form, typed):
    assert dates.dates_in(task, form) == typed


def test_formats_are_told_from_other_texts():
    for form in ("yyyy-mm-dd", "DD/MM/YYYY HH:mm", "HH:MM", "mm/yyyy", "d.m.yyyy"):
        assert dates.is_format(form), form
    for text in ("Search", "dd", "mmmmm mm", "", "yyyy-mm-dd or never", "ssss"):
        assert not dates.is_format(text), text


def test_a_field_for_dates_is_offered_dates_and_one_that_shows_a_date_is_offered_them_too():
    page = parse(
        '- textbox "From" [ref=e1]\n- textbox "Until" [ref=e2]: 2026-11-29 02:32:11\n- textbox "Note" [ref=e3]',
        formats={"e1": "dd/mm/yyyy"},
    )
    found = possible_actions(page, 'Write "Fair" from 2026-12-01 to 2026-12-31.')
    assert [each for each in found if each.startswith("fill(<textbox[From]>")] == [
        "fill(<textbox[From]>, '01/12/2026')", "fill(<textbox[From]>, '31/12/2026')",
    ]  # fmt: skip
    assert {"fill(<textbox[Until]>, '2026-12-31 00:00:00')", "fill(<textbox[Until]>, 'Fair')"} <= set(found)
    assert "fill(<textbox[Note]>, '2026-12-01')" in found


def test_places_of_a_task_are_searched_for_with_what_is_there():
    assert "cafes in Kestrel Bay" in topics("How many cafes in Kestrel Bay are open?")
    assert topics("Is it in Arlow?") == ("Arlow",)


def test_what_is_typed_into_a_field_with_a_picker_is_what_the_site_gets(browser_path, shared_browser, site):
    task = Assignment(
        "t-1", "test", "Save it from 2026-12-01 09:30 on, size Large.", (f"{site.url}/when",), {"shop": site.url}
    )
    env = WebEnvironment(task, browser_path, scope="web/shop")
    try:
        env.reset(1)
        for action in (
            "fill(<textbox[Day]>, '2026-12-01')", "fill(<textbox[Start]>, '2026-12-01T09:30')",
            "fill(<textbox[Hour]>, '09:30')", "fill(<textbox[Due]>, '01/12/2026')",
            "fill(<textbox[Masked]>, '2026-12-01 09:30:00')", "select_option(<combobox[Size]>, 'Large')",
        ):  # fmt: skip
            assert action in env.valid_actions(), action
        for action in (  # As an agent writes them that has read the task, not the formats.
            "fill(<textbox[Day]>, '1 December 2026')", "fill(<textbox[Start]>, '2026-12-01 09:30')",
            "fill(<textbox[Hour]>, '9:30 am')", "fill(<textbox[Due]>, '2026-12-01')",
            "fill(<textbox[Masked]>, '2026-12-01 09:30')", "fill(<textbox[Note]>, '2026-12-01')",
            "select_option(<combobox[Size]>, 'Large')",
        ):  # fmt: skip
            assert "Error" not in env.step(action).text, action
        seen = env.step("noop()").description
        assert "<textbox[Masked]> (format=yyyy-mm-dd HH:MM:ss): 2026-12-01 09:30:00" in seen
        assert "\nLarge\n" in seen.replace("  ", "")
        env.step("click(<button[Save]>)")
    finally:
        env.close()
    assert parse_qs(site.posted[0]) == {
        "day": ["2026-12-01"], "start": ["2026-12-01T09:30"], "hour": ["09:30"], "due": ["01/12/2026"],
        "masked": ["2026-12-01 09:30:00"], "note": ["2026-12-01"], "size": ["Large"],
    }  # fmt: skip
