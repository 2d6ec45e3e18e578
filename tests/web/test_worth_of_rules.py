"""What a rule of the prior is worth: variants played together do what each does when it is played alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from engine.errors import UsageError
from engine.records import EnvironmentInfo
from engine.web import prior
from engine.web.browser.snapshot import parse
from engine.web.choices import possible_actions
from engine.web.drawing.text import fence, outline
from tests.bench.web_prior import NONE, WHOLE, play, table, variants_of

TASK = 'Open the book "Emma".'
PAGES = {
    "Home": '- link "Books" [ref=e1]\n- link "Help" [ref=e2]\n- link "All" [ref=e3]\n',
    "Books": '- link "Home" [ref=e1]\n- link "Emma" [ref=e2]\n- link "Ulysses" [ref=e3]\n- textbox "Search" [ref=e4]\n',
    "Help": '- link "Home" [ref=e1]\n- paragraph [ref=e2]: Emma helps.\n',
    "All": '- link "Books" [ref=e1]\n- link "Home" [ref=e2]\n',
    "Emma": '- heading "Emma" [level=1] [ref=e1]\n- link "Home" [ref=e2]\n',
    "Ulysses": '- heading "Ulysses" [level=1] [ref=e1]\n- link "Home" [ref=e2]\n',
}


@dataclass
class Shelf:
    """A library of six pages without a browser; done on the page of Emma."""

    info = EnvironmentInfo("shelf", "Shelf", "web/shelf", task="shelf")
    here: str = "Home"
    said: bool = False
    past: list[str] = field(default_factory=list)

    @property
    def over(self):
        return self.said

    @property
    def score(self):
        return float(self.said and self.here == "Emma")

    def reset(self, seed):
        self.here, self.said, self.past = "Home", False, []
        return self

    def step(self, action):
        self.said = action.startswith("send_msg")
        named = action.partition("<link[")[2].partition("]")[0]
        self.here = named if named in PAGES else self.here
        return self

    def valid_actions(self):
        return possible_actions(parse(PAGES[self.here], "http://x/", self.here), TASK, back=False)

    def conclude(self):
        return self

    def abstractor(self):
        return self

    def begin(self, seen):
        pass

    def advance(self, action, seen):
        self.past.append(f"{action}\n  -> {self.here} http://x/{self.here}")

    def recent(self, count):
        return "\n".join(self.past[-count:])

    def situation(self, seen):
        page = parse(PAGES[self.here], "http://x/", self.here)
        return f"Task: {TASK}\n" + fence(f"URL: {page.url}\nTitle: {page.title}\n{outline(page)}")


def test_variants_played_together_do_what_each_does_alone():
    variants = variants_of("SHARP,AGAIN,CUED")
    before = {rule: getattr(prior, rule) for rule in variants[NONE]}
    differ = 0
    for seed in range(8):
        together = play(Shelf(), seed, variants)
        for variant, rules in variants.items():
            alone = play(Shelf(), seed, {variant: rules})
            assert alone["episodes"] == 1
            assert together["ways"][variant] == alone["ways"][variant]
            assert together["scores"][variant] == alone["scores"][variant]
        assert together["episodes"] == len(set(map(tuple, together["ways"].values())))
        differ += together["episodes"] > 1
    assert differ > 4  # The rules make a difference here.
    assert {rule: getattr(prior, rule) for rule in variants[NONE]} == before


def test_the_worth_is_the_success_with_the_rule_minus_that_without_it_by_task():
    def result(task, whole, without):
        scores = {WHOLE: whole, "WAY": without}
        return {"task": task, "seed": 1, "scores": scores, "ways": {v: [str(s)] for v, s in scores.items()}}

    rows = table([result("a", 1.0, 0.0), result("a", 1.0, 1.0), result("b", 0.0, 0.0), result("c", 1.0, 1.0)])
    assert "3 tasks, 4 episodes of each variant" in rows
    row = next(line for line in rows.splitlines() if line.startswith("| WAY "))
    assert row.split("|")[3].split()[0] == "16.7"  # a half in one task of three
    assert "| 1, 0 | 1 |" in row


def test_what_is_no_number_of_the_prior_is_refused():
    with pytest.raises(UsageError, match="no number called 'FOLLOWED'"):
        variants_of("FOLLOWED")
