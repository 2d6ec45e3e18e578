"""The page about the files of a run is what the code says."""

from __future__ import annotations

from tests import write_bench_format
from tests.arena.made_runs import games


def test_the_page_about_runs_is_what_the_code_says():
    assert write_bench_format.FILE.read_text(encoding="utf-8") == write_bench_format.page(), (
        "python -m tests.write_bench_format"
    )


def test_each_field_of_a_row_has_a_meaning():
    assert "| |\n" not in write_bench_format.page()


def test_the_page_has_the_fields_of_manifests():
    manifest = games(seeds=1, episodes=1).manifest
    assert set(manifest) == set(write_bench_format.MANIFEST)
    trained = {"training", "base"}  # only if a model says what it was trained with
    assert set(next(iter(manifest["cells"].values()))) | trained == set(write_bench_format.CELL)
