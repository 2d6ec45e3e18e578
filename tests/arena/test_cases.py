"""Case studies in reports: they are decisions of the recordings in which memory turned the choice."""

from __future__ import annotations

import itertools
import json

from engine.bench import cases, report
from engine.session.candidates import candidate_rows
from tests.arena.running import SMALL, play

LONGER = SMALL.replace("seeds = 2\nepisodes = 3\nsteps = 12", "seeds = 1\nepisodes = 8\nsteps = 16")
ASKED = LONGER + "\n[report]\ncases = 1\n"


def test_a_case_has_the_logits_of_a_decision_that_memory_turned(tmp_path):
    code, folder = play(ASKED, tmp_path)
    assert code == 0
    # The same decisions, found by way of the exported rows.
    turned = {}
    for path in (folder / "cells").rglob("events.jsonl"):
        cell = path.relative_to(folder / "cells").parts[0]
        rows = list(candidate_rows(path, cell))
        for (episode, step), group in itertools.groupby(rows, lambda row: (row.episode, row.step)):
            every = list(group)
            if every[0].z_prime is None or not any(row.n for row in every):
                continue
            old, new = max(every, key=lambda row: row.z), max(every, key=lambda row: row.z_prime)
            if new.n and new.z < old.z and old.z_prime < new.z_prime:
                turned[cell, episode, step + 1] = old, new
    assert turned
    results = report.load(folder)
    found = next(one for one in report.make(results).tables if one.name == "cases")
    assert len(found.rows) == 2 < 2 * len(turned)
    assert {row.arm for row in found.rows} == {"Algorithm 1"}
    shown = [[cell.text for cell in row.cells] for row in found.rows]
    for (first, second), case in zip(zip(shown[::2], shown[1::2], strict=True), chosen(results), strict=True):
        old, new = turned[case.cell, case.episode, case.step + 1]
        assert first[0].endswith(f"(episode {case.episode}, step {case.step + 1})")
        assert first[1:5] == [old.action, f"{old.z:.2f}", f"{old.z_prime:.2f}", str(old.n)]
        assert second[1:5] == [new.action, f"{new.z:.2f}", f"{new.z_prime:.2f}", str(new.n)]
    for case in results.cases:
        new = turned[case.cell, case.episode, case.step + 1][1]
        assert (case.points > 0) == (new.chosen and new.reward > 0)
    # Gains come first, then how far the probability rose.
    gains = [case.points > 0 for case in chosen(results)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] == any(new.chosen and new.reward > 0 for _, new in turned.values())
    assert "Case studies" in report.markdown(results)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["plan"]["report"]["cases"] = 0
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert report.load(folder).cases == ()


def chosen(results) -> list[cases.Case]:
    return cases.best(list(results.cases), 1)
