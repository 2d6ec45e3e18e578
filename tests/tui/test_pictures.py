"""Pictures of pages: what terminals are asked and told, read back by other means than those that wrote it."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import numpy as np
import pytest
from PIL import Image, ImageDraw

from jitrl_tui.panes.picture import PicturePane
from jitrl_tui.pictures.encode import KITTY_GONE, encode_image
from jitrl_tui.pictures.image import area, blocks, decode
from jitrl_tui.pictures.overlay import Overlay
from jitrl_tui.pictures.terminal import Graphics, detect
from tests.tui.driving import still, until, watch
from tests.tui.screen_text import screen_text
from tests.tui.test_web_watch import drive, live_web_app, web_app


def page_picture(width=1280, height=720) -> Image.Image:
    """A white page with a red bar on top, a blue box at the lower right, and a grey line."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, width, height // 4), fill=(200, 30, 30))
    draw.rectangle((width // 2, height // 2, width, height), fill=(20, 40, 180))
    draw.line((0, height // 3, width, height // 3), fill=(128, 128, 128), width=4)
    return image


def jpeg(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=90)
    return file.getvalue()


def read_sixel(text: str) -> np.ndarray:
    """Decode sixels the slow and plain way, as the VT340 manual has it. Returns (height, width, 3)."""
    found = re.fullmatch(r'\x1bP[\d;]*q"1;1;(\d+);(\d+)(.*)\x1b\\', text, re.DOTALL)
    assert found is not None
    width, height = int(found.group(1)), int(found.group(2))
    pixels = np.zeros((height + 6, width, 3), np.uint8)
    palette: dict[int, tuple[int, int, int]] = {}
    x = y = colour = 0
    for token in re.finditer(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)(.)|([$-])|([?-~])", found.group(3)):
        register, red, green, blue, count, repeated, move, single = token.groups()
        if register is not None:
            colour = int(register)
            if red is not None:
                palette[colour] = tuple(round(int(v) * 2.55) for v in (red, green, blue))
        elif move == "$":
            x = 0
        elif move == "-":
            x, y = 0, y + 6
        else:
            bits = ord(repeated or single) - 63
            end = x + int(count or 1)
            assert end <= width
            for row in range(6):
                if bits >> row & 1:
                    pixels[y + row, x:end] = palette[colour]
            x = end
    assert y < height
    return pixels[:height]


def near(one, other) -> float:
    return float(np.abs(np.asarray(one, float) - np.asarray(other, float)).mean())


@pytest.mark.parametrize("cell", [(9, 18), (8, 17)])
def test_sixels_show_the_picture(cell):
    image = page_picture()
    shown = read_sixel(encode_image(image, 40, 11, Graphics("sixel", cell)))
    assert shown.shape == (11 * cell[1], 40 * cell[0], 3)
    assert near(shown, image.resize((40 * cell[0], 11 * cell[1]), Image.Resampling.LANCZOS)) < 3


def test_sixels_keep_to_a_terminals_colours_and_size():
    text = encode_image(page_picture(), 40, 11, Graphics("sixel", (9, 18), colours=16, largest=(200, 100)))
    assert read_sixel(text).shape == (100, 200, 3)
    assert len(set(re.findall(r"#(\d+);2;", text))) <= 16


def test_kitty_gets_the_picture_in_pieces_it_can_take():
    rng = np.random.default_rng(1)
    image = Image.fromarray(rng.integers(0, 255, (90, 160, 3), np.uint8))
    text = encode_image(image, 30, 9, Graphics("kitty"))
    pieces = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", text)
    assert "".join(f"\x1b_G{keys};{data}\x1b\\" for keys, data in pieces) == text
    assert all(len(data) <= 4096 for _, data in pieces)
    assert [("m=1" in keys) for keys, _ in pieces] == [True] * (len(pieces) - 1) + [False]
    first = dict(pair.split("=") for pair in pieces[0][0].split(","))
    assert (first["a"], first["f"], first["c"], first["r"], first["q"]) == ("T", "100", "30", "9", "2")
    with Image.open(io.BytesIO(base64.b64decode("".join(data for _, data in pieces)))) as back:
        assert near(back, image) == 0


def test_iterm_gets_a_png_of_the_size_it_is_told():
    text = encode_image(page_picture(320, 180), 30, 9, Graphics("iterm"))
    found = re.fullmatch(r"\x1b\]1337;File=inline=1;size=(\d+);width=30;height=9;[^:]*:([^\x07]*)\x07", text)
    data = base64.b64decode(found.group(2))
    assert abs(len(data) - int(found.group(1))) < 3
    with Image.open(io.BytesIO(data)) as back:
        assert back.size == (320, 180)


def test_half_blocks_have_the_colours_of_the_picture():
    strips = blocks(page_picture(), 40, 11)
    assert [strip.cell_length for strip in strips] == [40] * 11
    first, last = strips[0]._segments[0], strips[-1]._segments[-1]
    assert near(first.style.color.triplet, (200, 30, 30)) < 6
    assert near(last.style.bgcolor.triplet, (20, 40, 180)) < 6
    assert {character for strip in strips for character in strip.text} == {"▀"}
    grey = blocks(page_picture(), 40, 11, grey=True)
    assert all(len(set(s.style.color.triplet)) == 1 for strip in grey for s in strip._segments)


@pytest.mark.parametrize(
    ("columns", "rows", "cell"), [(70, 40, (0, 0)), (78, 9, (9, 18)), (140, 39, (8, 17)), (30, 12, (0, 0))]
)
def test_a_picture_keeps_its_proportions_and_its_width(columns, rows, cell):
    across, down = area((1280, 720), columns, rows, cell)
    width, height = cell if all(cell) else (1, 2)
    assert 1 <= across <= columns
    assert abs(across * width / (down * height) - 1280 / 720) < 0.25 * 1280 / 720
    assert across * 5 >= columns * 3 or rows >= down


@pytest.mark.parametrize(
    "data", [b"", b"no picture", jpeg(page_picture())[:900], b"\x89PNG\r\n\x1a\n" + b"0" * 90]
)
def test_what_is_no_picture_is_none(data):
    assert decode(data) is None


def test_what_was_chosen_is_framed():
    plain, marked = (
        decode(jpeg(page_picture())),
        decode(jpeg(page_picture()), ((100, 300, 60, 20),), (1280, 720)),
    )
    difference = np.abs(np.asarray(plain, int) - np.asarray(marked, int)).sum(axis=2) > 60
    rows, columns = np.nonzero(difference)
    assert 90 <= columns.min() <= 100
    assert 160 <= columns.max() <= 172
    assert 290 <= rows.min() <= 300
    assert 320 <= rows.max() <= 332


# ----------------------------------------------------------------------------------------- the pane


def test_the_picture_is_a_tab_of_the_page_in_a_recording_without_a_browser(tmp_path):
    async def go():
        app, _ = web_app(tmp_path, picture=jpeg(page_picture()))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for size in ((80, 24), (140, 45)):
                await pilot.resize_terminal(*size)
                await still(pilot)
                assert "▀" not in screen_text(app)
                assert "transcript" in screen_text(app)
                await pilot.press("8")
                await still(pilot)
                text = screen_text(app)
                assert "[picture]" in text
                assert "▀▀▀▀▀▀▀▀" in text
                await pilot.press("z")
                await still(pilot)
                assert screen_text(app).count("▀") > text.count("▀")
                assert "Page 4  http" in screen_text(app)
                await pilot.press("escape", "6")
                await still(pilot)
                assert "▀" not in screen_text(app)

    drive(go())


def test_a_page_without_a_picture_is_said_to_be_missing(tmp_path):
    async def go():
        app, _ = web_app(tmp_path)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("8")
            await still(pilot)
            assert "was not kept" in screen_text(app)

    drive(go())


def test_a_click_on_the_picture_overrules_with_the_element_there(tmp_path):
    async def go():
        app, session = live_web_app(tmp_path, jpeg(page_picture()))
        async with app.run_test(size=(140, 45)) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.pending)
            await pilot.press("8")
            await until(pilot, lambda: "▀" in screen_text(app))
            await still(pilot)
            pane = screen.query_one(PicturePane)
            columns, rows = pane.placed()[1].size
            # The middle of `button "Go" [box=1020,20,60,30]` on a page of 1280 by 720.
            x, y = int(1050 / 1280 * columns), int(35 / 720 * rows)
            await pilot.click(pane, offset=(x + pane.gutter.left, y + pane.gutter.top))
            await until(pilot, lambda: "click(<button[Go]>)" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: len(session.carried_out) == 1)
            assert session.carried_out[0] == ("human", "click(<button[Go]>)")

    drive(go())


def test_one_picture_is_made_at_a_time_and_the_last_one_wanted_is_shown(tmp_path):
    async def go():
        app, _ = web_app(tmp_path, paused=True, picture=jpeg(page_picture()))
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: watch(pilot).view.pending)
            await pilot.press("8")
            await still(pilot)
            written, works = [], []
            overlay = Overlay(
                Graphics("kitty"), written.append, lambda work: works.append(work), lambda: None, grey=False
            )
            pane = watch(pilot).panes.picture
            overlay.after_frame(app.screen, pane, ())
            for width in (120, 110):
                await pilot.resize_terminal(width, 45)
                await still(pilot)
                overlay.after_frame(app.screen, pane, ())
            assert len(works) == 1
            assert written == []
            await works[0]
            assert len(written) == 1
            assert f"c={pane.placed()[1].width},r={pane.placed()[1].height}," in written[0]
            overlay.after_frame(app.screen, pane, ())
            assert len(written) == 1  # it is there already
            await pilot.press("6")
            await still(pilot)
            overlay.after_frame(app.screen, pane, ())
            assert written[-1] == KITTY_GONE

    drive(go())


def test_a_picture_that_cannot_be_made_leaves_half_blocks_and_ends_nothing(tmp_path):
    async def go():
        app, _ = web_app(tmp_path, picture=jpeg(page_picture()))
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("8")
            failed = []
            overlay = Overlay(
                Graphics("unknown"),
                failed.append,
                app.run_worker,
                lambda: failed.append("failed"),
                grey=False,
            )
            await still(pilot)
            overlay.after_frame(app.screen, watch(pilot).panes.picture, ())
            await until(pilot, lambda: failed == ["failed"])
            assert "▀▀▀▀" in screen_text(app)

    drive(go())


# ------------------------------------------------------------------------------------------- asking


def asked(answers, term="xterm-256color", pixels=(0, 0), deadline=60.0, **environment):
    """Run `detect` in a terminal that gives these answers; return what it found, what was sent, and the seconds."""
    pid, master = pty.fork()
    if pid == 0:  # nothing of this process is gone on with here
        try:
            began = time.monotonic()
            found = detect({"TERM": term, **environment}, deadline)
            told = json.dumps([dataclasses.asdict(found), time.monotonic() - began])
            os.write(1, f"FOUND{told}END".encode())
        finally:
            os._exit(0)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, *pixels))
    sent, given, end = b"", set(), time.monotonic() + 60
    while b"END" not in sent and time.monotonic() < end:
        if not select.select([master], [], [], 0.5)[0]:
            continue
        with contextlib.suppress(OSError):
            sent += os.read(master, 65536)
        for question, answer in answers.items():
            if question in sent and question not in given:
                given.add(question)
                os.write(master, answer)
    os.close(master)
    os.waitpid(pid, 0)
    found, seconds = json.loads(re.search(rb"FOUND(.*)END", sent, re.DOTALL).group(1))
    return found, sent.partition(b"FOUND")[0], seconds


def test_a_kitty_is_found_by_its_answer():
    found, _, seconds = asked({b"\x1b[c": b"\x1b_Gi=4207;OK\x1b\\\x1b[?62;c"}, pixels=(800, 480))
    assert (found["protocol"], found["cell"]) == ("kitty", [10, 20])
    assert seconds < 30


def test_sixel_is_found_with_the_size_of_a_cell_and_the_limits():
    found, _, seconds = asked(
        {
            b"\x1b[c": b"\x1b[6;18;9t\x1b[?62;4;22c",
            b"\x1b[?1;1;0S": b"\x1b[?1;0;64S\x1b[?2;0;1000;800S\x1b[?62;4;22c",
        }
    )
    assert found == {"protocol": "sixel", "cell": [9, 18], "colours": 64, "largest": [1000, 800], "typed": ""}
    assert seconds < 30


def test_what_is_typed_while_the_terminal_is_asked_is_kept():
    found, _, _ = asked(
        {
            b"\x1b[c": b"loo\x1b[6;18;9t\x1b[?62;4;22ck\n",
            b"\x1b[?1;1;0S": b"\x1b[?1;0;64S\x1b[?2;0;1000;800S!\x1b[?62;4;22c",
        }
    )
    assert (found["protocol"], found["typed"]) == ("sixel", "look\n!")


def test_sixel_without_the_size_of_a_cell_is_not_risked():
    assert asked({b"\x1b[c": b"\x1b[?62;4;22c"})[0]["protocol"] == "blocks"


def test_a_terminal_that_only_says_what_it_is_gets_blocks_at_once():
    found, sent, seconds = asked({b"\x1b[c": b"\x1b[?64;1;2;6;22c"})
    assert found["protocol"] == "blocks"
    assert seconds < 30
    assert sent.rstrip().endswith(b"\x1b[c")


def test_a_mute_terminal_costs_the_deadline_and_no_more():
    found, _, seconds = asked({}, deadline=0.3)
    assert found["protocol"] == "blocks"
    assert 0.3 <= seconds < 30


def test_within_tmux_no_kitty_is_asked_for():
    answer = b"\x1b[?1;2;4c"
    found, sent, _ = asked({b"\x1b[c": answer, b"\x1b[?1;1;0S": answer}, "tmux-256color", (800, 480))
    assert found["protocol"] == "sixel"
    assert b"\x1b_G" not in sent


@pytest.mark.parametrize("term", ["linux", "dumb", "vt100"])
def test_terminals_that_show_no_pictures_for_certain_are_not_asked(term):
    found, sent, _ = asked({}, term=term)
    assert found["protocol"] == "blocks"
    assert sent == b""


def test_a_person_can_say_what_the_terminal_shows():
    assert asked({}, JITRL_PICTURES="kitty")[0]["protocol"] == "kitty"
    found, sent, _ = asked({}, JITRL_PICTURES="none")
    assert (found["protocol"], sent) == ("blocks", b"")


def test_without_a_terminal_there_are_blocks():
    code = "from jitrl_tui.pictures.terminal import detect; print(detect({'TERM': 'xterm'}).protocol)"
    done = subprocess.run(
        [sys.executable, "-c", code], start_new_session=True, capture_output=True, timeout=60, check=True
    )
    assert done.stdout.strip() == b"blocks"
    assert detect({"TERM": "dumb"}) == Graphics()
