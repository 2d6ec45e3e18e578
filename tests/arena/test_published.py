"""The published numbers are those in the source of the paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.bench.measures import MEASURES
from engine.bench.published import names, parse_published, read_published
from engine.errors import BadFile, UsageError

PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper" / "jitrl.tex"
NO_NUMBERS = {"case_study", "jericho_hyperparameters", "webarena_hyperparameters"}
"""Tables of examples and of settings."""
NAME = re.compile(r"[A-Za-z]+-?[\d.]+[A-Za-z]*\b(?!-\d)")
"""A name with digits, as of a model or a game."""
OF_THE_PAPER = [name for name in names() if not read_published(name).source]
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


@pytest.fixture(scope="module")
def tex() -> str:
    if not PAPER.is_file():
        pytest.skip("the source of the paper, ../shared/paper/jitrl.tex, is not here")
    return PAPER.read_text(encoding="utf-8")


def printed(tex: str, label: str) -> list[list[str]]:
    """Return the numbers of each row of a table of the paper, with those in the row's name."""
    start = re.compile(r"\\begin\{tabularx?\}").search(tex, tex.index(rf"\label{{tab:{label}}}")).start()
    body = tex[tex.index("\n", start) : tex.index(r"\end{tabular", start)]
    body = re.sub(r"\+\d+ points|\\textcolor\{[^}]*\}", "", body)  # in an explanation; a shade
    body = re.sub(r"\\(addlinespace|cmidrule|multicolumn|multirow)\S*", "", body).replace("{,}", "").replace("--", " ")
    found = []
    for line in re.split(r"\\\\", body):
        cells = [re.findall(NUMBER, NAME.sub("", cell)) for cell in line.split("&")]
        if len(cells) > 1 and any(cells):
            found.append([number for cell in cells for number in cell])
    return found


def ours(label: str) -> list[list[str]]:
    """Return the same from our file, as it is written there."""
    table = read_published(label)
    rows = []
    for row in table.rows:
        name = NAME.sub("", row.name).replace("–", " ")
        numbers = [one for value in row.values if value is not None
                   for one in (value if isinstance(value, tuple) else (value,))]  # fmt: skip
        rows.append([*re.findall(NUMBER, name), *(f"{one}" for one in numbers)])
    return rows


@pytest.mark.parametrize("label", OF_THE_PAPER)
def test_every_number_is_that_of_the_paper(label, tex):
    expected, found = printed(tex, label), ours(label)
    if label == "all_baselines_cost":
        found = [[row[0] for row in found]]
    as_numbers = [[float(one) for one in row] for row in expected]
    assert [[float(one) for one in row] for row in found] == as_numbers
    assert as_numbers


def test_every_table_of_the_paper_with_results_is_here(tex):
    assert set(re.findall(r"\\label\{tab:(\w+)\}", tex)) - NO_NUMBERS == set(OF_THE_PAPER)


@pytest.mark.parametrize("label", names())
def test_a_table_is_whole(label):
    table = read_published(label)
    assert table.id == label
    assert table.title
    assert table.about
    assert set(table.measures) <= {*MEASURES, ""}
    assert table.model or all(row.model for row in table.rows)


def test_a_table_that_there_is_not_and_a_damaged_one_are_refused():
    with pytest.raises(UsageError, match="no published table 'fame'"):
        read_published("fame")
    uneven = 'id="a"\ntitle=""\nmodel=""\nabout=""\ndigits=1\ncolumns=["x"]\nmeasures=["avg"]\n'
    uneven += 'rows=[{name="r", values=[1, 2]}]'
    for text in ("id = 1", "not toml", uneven):
        with pytest.raises(BadFile):
            parse_published(text)
