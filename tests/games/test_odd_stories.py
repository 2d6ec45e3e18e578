"""Stories that do not begin, print or name places as most do are played to their end, with the right places."""

import pytest

from engine.games.catalogue import read_story
from engine.games.env import GameEnvironment
from engine.games.stories.inform import compile_story
from engine.games.zmachine.printed import text_only
from engine.games.zmachine.prompt import listed_in
from engine.games.zmachine.status import place_of, printed_score
from tests.games.blorbs import zblorb
from tests.games.odd_play import FOLDER, script
from tests.games.proving_ground import missing

needs_inform = pytest.mark.skipif(bool(missing()), reason=missing())
# Where a test below plays a story in version 5, its short session is played in another.
OTHERS = {"asks": (8,), "echo": (8,), "menu": (8,), "named": (8,), "night": (8,), "nolook": (5, 8), "question": (7,)}
OTHERS |= {"submenu": (8,), "tiny": (3, 4, 5, 7, 8)}
NAMES = sorted(path.stem for path in FOLDER.glob("*.inf"))
STORIES = [(name, version) for name in NAMES for version in OTHERS.get(name, (5,))]


def opened(name, version, folder):
    return GameEnvironment(read_story(compile_story(FOLDER / f"{name}.inf", folder, version=version)))


@needs_inform
@pytest.mark.parametrize(("name", "version"), STORIES)
def test_a_short_session_is_played_to_its_end_with_the_right_places(tmp_path, monkeypatch, name, version):
    monkeypatch.setattr("engine.games.env.COMMAND_SECONDS", 0.5)  # some commands hang one of them
    commands, places = script(name)
    game = opened(name, version, tmp_path)
    game.reset(1)
    seen = [game.step(command) for command in commands]
    game.close()
    assert [one.place for one in seen[:-1]] == places
    assert seen[-1].outcome == "won"
    assert not any(one.over for one in seen[:-1])


@needs_inform
def test_questions_before_the_first_command_are_offered_answers_and_later_places_have_actions(tmp_path):
    game = opened("question", 5, tmp_path)
    first = game.reset(1)
    offered = game.valid_actions()
    for answer in ("no", "Ann"):
        seen = game.step(answer)
    later = game.valid_actions()
    game.close()
    assert first.place == ""
    assert {"no", "yes"} <= set(offered)
    assert seen.place == "Cave"
    assert "north" in later
    assert "no" not in later


@needs_inform
def test_a_menu_costs_two_steps_and_is_no_action_where_it_changes_nothing(tmp_path):
    game = opened("menu", 5, tmp_path)
    first = game.reset(1)
    offered = [game.valid_actions()]
    for line in ("press 2", "hints", "press n"):
        seen = game.step(line)
        offered.append(game.valid_actions())
    assert "press 1, press 2" in first.text
    assert offered[0] == ("press 1", "press 2")  # 3 would end the interpreter
    assert "hints" not in offered[1]
    assert set(offered[2]) == {"press enter", "press n", "press q"}
    assert offered[3] == ("press q",)
    left = game.step("q")
    game.step("hints")
    other = game.step("take stick")  # a command leaves the menu
    game.close()
    assert left.text == "Back in the story."
    assert seen.place == "Cave"
    assert other.inventory.endswith("a stick")


@needs_inform
def test_menus_in_a_menu_are_left_at_once_or_by_way_of_what_counts(tmp_path):
    game = opened("submenu", 5, tmp_path)
    game.reset(1)
    game.step("take card")
    offered = [game.valid_actions()]
    for line in ("use console", "press 2"):
        game.step(line)
        offered.append(game.valid_actions())
    done = game.step("press 1 2 x 0 q")
    later = game.valid_actions()
    game.step("use console")
    lamps = game.step("press 1")
    more = game.step("press +")
    left = game.step("north")  # a command leaves both menus
    game.close()
    assert "use console" in offered[0]
    assert offered[1] == ("press 1", "press 2", "press q")
    assert offered[2] == ("press 0 q", "press 1 2 x 0 q")
    assert (done.score, done.place, "north" in later) == (1, "Cabin", True)
    assert "press +" in lamps.text
    assert "LAMPS: 1" in more.text
    assert left.outcome == "won"


@needs_inform
def test_nothing_is_left_over_of_what_a_question_does_not_take(tmp_path):
    game = opened("named", 5, tmp_path)
    game.reset(1)
    offered = [game.valid_actions()]
    refused = game.step("2nd try")
    for line in ("yes", "yes"):
        game.step(line)
    places = [game.step(line).place for line in ("north", "take coin", "look", "take coin")]
    asked = game.step("north")
    offered.append(game.valid_actions())
    paid = game.step("yes")
    won = game.step("hit gong")
    game.close()
    assert offered == [("yes", "no"), ("yes", "no")]
    assert "Only letters" in refused.text
    assert places == ["Bridge", "Gate", "Gate", "Gate"]  # without a coin the player is sent back
    assert "for me, yes?" in asked.text
    assert (paid.score, won.outcome) == (1, "won")


@needs_inform
def test_pages_in_a_row_cost_no_step(tmp_path):
    game = opened("pages", 8, tmp_path)
    first = game.reset(1)
    offered = game.valid_actions()
    taken = game.step("take stick")
    game.close()
    assert (first.place, first.description.splitlines()[0]) == ("Cave", "Cave")
    assert offered == ("north", "take all")
    assert taken.text.endswith("Taken.")
    assert "\n>" not in taken.text
    assert "Page 15" in taken.text


@needs_inform
def test_questions_within_play_are_offered_what_they_take(tmp_path):
    game = opened("asks", 5, tmp_path)
    game.reset(1)
    asking = {"drink potion", "touch statue", "knock", "pull lever", "north"}
    offered = [set(game.valid_actions())]
    for line in ("drink potion", "yes", "pull lever", "blue", "north", "y", "north"):
        game.step(line)
        offered.append(set(game.valid_actions()))
    game.close()
    assert asking <= offered[0]
    assert offered[1] == {"yes", "no"}
    assert offered[3] == {"red", "blue", "green"}
    assert offered[5] == {"press n", "press y"}
    assert offered[7] == {"echo", "south"}  # a room that reads by itself takes some commands


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("Do you want red, blue or green? ", ("red", "blue", "green")),
        ("Sex (M/F)? ", ("m", "f")),
        ("Choose [a], [b] or [c].", ("a", "b", "c")),
        ("Pick a number from 3 to 5: ", ("3", "4", "5")),
        ("1) sword\n2) axe\nWhich? ", ("1", "2")),
        ("Type \"begin\" or 'resume'.", ("begin", "resume")),
        ("He says: \"What's your name?\" Isn't it Bob's?", ()),
    ],
)
def test_answers_are_read_from_the_text_of_a_question(text, listed):
    assert listed_in(text) == listed


@needs_inform
def test_what_can_be_reached_in_the_dark_is_offered_and_verbs_for_makers_are_not(tmp_path):
    game = opened("night", 5, tmp_path)
    game.reset(1)
    seen = game.step("stand up")
    offered = game.valid_actions()
    info, words = game.info, game.fallback
    game.close()
    assert offered == ("north", "switch light")
    assert seen.max_score == 2
    assert (info.name, info.title) == ("night", "The Night Watch")
    assert {"north", "look"} <= set(words)
    titled = tmp_path / "night.zblorb"
    titled.write_bytes(zblorb(compile_story(FOLDER / "night.inf", tmp_path, version=5).read_bytes(), "Nachtwache"))
    game = GameEnvironment(read_story(titled))
    game.close()
    assert game.info.title == "Nachtwache"  # a title that is known is kept


@needs_inform
def test_only_words_of_the_story_are_fallen_back_on(tmp_path):
    game = opened("tiny", 5, tmp_path)
    words = game.fallback
    game.close()
    assert words == ("north", "south", "look")


@pytest.mark.parametrize(
    ("look", "name", "place"),
    [
        ("Cave\nDark.", "cave", "Cave"),
        ("S\nCave, on the stone\nDark.", "Cave", "Cave, on the stone"),
        (">\nCave\nDark.", "Cave", "Cave"),
        ("Please answer yes or no.", "Cave", ""),
        ("Cave        Score: 0   Moves: 3\nA cave.", "", "Cave"),
        ("It is pitch black. You are afraid.", "Cave", "It is pitch black"),
        ("Is that all?", "", ""),
        ("S. Tower. You are high up.", "", "S. Tower"),
        ("You are standing at the\nfoot of a hill. It is high.\nA lamp is here.", "", "Foot of a hill"),
        ("You're now in a hut. It is warm.", "", "Hut"),
        ("You are in a hall, a large one.", "", "Hall"),
        ("You are in a long, winding passage which\nleads nowhere.", "", "Long, winding passage"),
        ("The road goes on for many miles to the old castle on", "", "The road goes on for many miles"),
        ("Halls of the Mountain King, near the Great Door", "", "Halls of the Mountain King, near the Great Door"),
        ("You are lost, and so is your map.", "You are lost", "You are lost, and so is your map"),
    ],
)
def test_a_place_is_named_as_the_story_prints_it(look, name, place):
    assert place_of(look, name) == place


@pytest.mark.parametrize(
    ("told", "score"),
    [
        ("Your score is 5 of a possible 100, in 3 turns.", (5, 3, 100)),
        ("Score: 7/40", (7, None, 40)),
        ("You have 3 points.", None),
    ],
)
def test_score_and_maximum_are_read_from_what_a_story_says(told, score):
    assert printed_score(told) == score


@needs_inform
def test_a_title_page_is_turned_and_told(tmp_path):
    game = opened("splash", 5, tmp_path)
    seen = game.reset(1)
    game.close()
    assert "S P L A S H" in seen.text
    assert "Long ago there was a gong." in seen.text
    assert seen.place == "Cave"


@needs_inform
def test_a_repeated_command_is_no_part_of_the_text(tmp_path):
    game = opened("echo", 5, tmp_path)
    game.reset(1)
    seen = game.step("take stick")
    game.close()
    assert seen.text == "Taken."
    assert seen.description.startswith("Cave\n")


@pytest.mark.parametrize(
    ("printed", "command", "text"),
    [
        ("look\n\nCave\nDark.\n", "look", "\nCave\nDark.\n"),
        ("> look\nCave\n", "look", "Cave\n"),
        (">\nCave\n", "look", "Cave\n"),
        ("Look at that.\nIt moves.\n", "look", "Look at that.\nIt moves.\n"),
        ("Cave\nlook\n", "look", "Cave\nlook\n"),
        ("look\nCave\n", "", "look\nCave\n"),
        ("Really?\nPlease answer yes or no.>", "", "Really?\nPlease answer yes or no."),
        ("Is that all? >", "", "Is that all? >"),
        ("The sign says <Stay out!>", "", "The sign says <Stay out!>"),
    ],
)
def test_only_a_first_line_that_is_the_command_is_taken_out(printed, command, text):
    assert text_only(printed, command) == text
