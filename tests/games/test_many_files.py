"""A program that has very many files open plays as any other."""

from __future__ import annotations

import contextlib
import os
import resource

import pytest

from engine.games.catalogue import open_game


def test_a_game_starts_when_a_thousand_files_are_open(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1300:
        pytest.skip("this account may not open a thousand files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1300), hard))
    opened = []
    try:
        while not opened or opened[-1] < 1100:
            opened.append(os.open(os.devnull, os.O_RDONLY))
        game = open_game("pantry", games=None, saves=tmp_path)
        try:
            assert "Kitchen" in game.reset(1).text
        finally:
            game.close()
    finally:
        for descriptor in opened:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
