"""WebArena's checks of 2023, on tasks written down here with verdicts worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from engine.web.tasks import classic

URLS = {"shopping": "http://shop.test", "reddit": "http://forum.test"}


def task(**evaluation: Any) -> dict[str, Any]:
    return {"intent": "what?", "eval": {"reference_answers": None, "program_html": [], **evaluation}}


def judged(
    raw: dict[str, Any], answer: str = "", url: str = "", texts: tuple[str, ...] = (), judge: Any = None
) -> Any:
    return classic.score_classic(raw, answer, url, texts, URLS, judge)[0]


@pytest.mark.parametrize(
    ("references", "answer", "score"),
    [
        ({"exact_match": "Quest Band"}, " 'quest band' ", 1.0),
        ({"exact_match": "Quest Band"}, "the Quest Band", 0.0),
        ({"must_include": ["Impulse Duffle", "tote"]}, "An impulse duffle and a Tote bag", 1.0),
        ({"must_include": ["Impulse Duffle", "tote"]}, "An impulse duffle", 0.0),
        ({"must_include": ["3"]}, "there are 3.", 1.0),
        ({"must_include": ["3"]}, "there are 13", 0.0),
        ({"must_include": ["3"], "exact_match": "3"}, "three: 3", 0.0),
        ({"fuzzy_match": "N/A"}, "n/a", 1.0),
        ({"fuzzy_match": ["5 minutes"]}, "5 minutes", 1.0),
        ({"fuzzy_match": ["5 minutes"]}, "", 0.0),
        ({"fuzzy_match": ["5 minutes"]}, "five min", None),
        ({"fuzzy_match": ["5 minutes"], "must_include": ["min"]}, "five hours", 0.0),
    ],
)
def test_strings(references: dict[str, Any], answer: str, score: float | None) -> None:
    assert judged(task(eval_types=["string_match"], reference_answers=references), answer) == score


def test_a_model_is_asked_only_where_it_was_asked_for() -> None:
    asked = []

    def judge(intent: str, reference: str, answer: str) -> bool:
        asked.append((intent, reference, answer))
        return answer == "five min"

    raw = task(eval_types=["string_match"], reference_answers={"fuzzy_match": ["5 minutes"]})
    assert judged(raw, "five min", judge=judge) == 1.0
    assert judged(raw, "six min", judge=judge) == 0.0
    assert asked == [("what?", "5 minutes", "five min"), ("what?", "5 minutes", "six min")]


@pytest.mark.parametrize(
    ("reference", "url", "score"),
    [
        ("__SHOPPING__/chairs.html", "http://shop.test/chairs.html?p=2", 1.0),
        ("__SHOPPING__/chairs.html?order=price", "http://shop.test/chairs.html?order=price&dir=desc", 1.0),
        ("__SHOPPING__/chairs.html?order=price", "http://shop.test/chairs.html?order=name", 0.0),
        ("__SHOPPING__/chairs.html |OR| __SHOPPING__/tables.html", "http://shop.test/tables.html/", 1.0),
        ("__SHOPPING__/chairs.html", "http://other.test/chairs.html", 0.0),
    ],
)
def test_urls(reference: str, url: str, score: float) -> None:
    assert judged(task(eval_types=["url_match"], reference_url=reference), url=url) == score


def test_programs() -> None:
    raw = task(
        eval_types=["program_html"],
        program_html=[
            {"url": "func:reddit_get_post_url('__last_url__')", "locator": "document.title",
             "required_contents": {"must_include": ["Soup |OR| Stew"]}},
            {"url": "last", "locator": "", "required_contents": {"exact_match": "A & B"}},
        ],
    )  # fmt: skip
    last = "http://forum.test/f/cooking/77/a-long-name/-/comment/5"
    first, second = classic.targets(raw, last)
    assert first.url == "http://forum.test/f/cooking/77/"
    assert (second.url, second.locator) == ("last", "")
    assert judged(raw, url=last, texts=("beef stew", "a &amp; b")) == 1.0
    assert judged(raw, url=last, texts=("salad", "a &amp; b")) == 0.0
    assert judged(raw, url=last, texts=("soup", "a or b")) == 0.0
    assert judged(raw, url=last) == 0.0


def test_a_check_that_asks_the_sites_own_interface_has_no_verdict() -> None:
    raw = task(
        eval_types=["program_html"],
        program_html=[{"url": "__SHOPPING__/x", "locator": "func:shopping_get_sku_latest_review_rating('B0')",
                       "required_contents": {"must_include": ["5"]}}],
    )  # fmt: skip
    score, why, _ = classic.score_classic(raw, "", "", (), URLS, None)
    assert score is None
    assert "shopping_get_sku_latest_review_rating" in why


def test_all_checks_of_a_task_must_hold() -> None:
    raw = task(eval_types=["string_match", "url_match"], reference_answers={"must_include": ["yes"]},
               reference_url="__SHOPPING__/a")  # fmt: skip
    assert judged(raw, "yes", "http://shop.test/a") == 1.0
    assert judged(raw, "yes", "http://shop.test/b") == 0.0
    assert judged(raw, "no", "http://shop.test/a") == 0.0
