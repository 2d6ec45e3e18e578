"""Stories in other languages and letters are typed, told, counted, ended and learnt as English ones are."""

import pytest

from engine.environments import profile
from engine.games.env import sanitise
from engine.games.states.phrases import read, sentences
from engine.games.stories.inform import compile_story, source_text
from engine.games.zmachine.characters import Characters
from engine.games.zmachine.story import StoryFile
from engine.records import EpisodeEnded, Stepped
from engine.session import recording
from engine.session import store as sessions
from engine.settings import SessionConfig
from tests.games import proving_ground, test_odd_stories
from tests.games.proving_ground import compiled, opened
from tests.playing import only, run

pytestmark = pytest.mark.skipif(bool(proving_ground.missing()), reason=proving_ground.missing())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("languages")


@pytest.fixture(scope="module")
def spanish(folder):
    game = opened(compiled("jardin", folder))
    yield game
    game.close()


@pytest.fixture(scope="module")
def german(folder):
    game = opened(compiled("schloss", folder))
    yield game
    game.close()


def test_what_is_told_has_its_accents_and_neither_prompt_nor_status_line(spanish, german):
    opening = spanish.reset(1)
    assert opening.text.startswith("Érase una vez un señor que tenía un pingüino sin corazón...")
    assert opening.text.endswith("Puedes ver una llave, un baúl y un café aquí.")
    assert opening.description.startswith("Jardín\nUn jardín muy pequeño, con un cañón al sur.")
    assert opening.place == "Jardín"
    assert opening.inventory == "No llevas nada."
    assert spanish.step("coger llave").text == "Cogido."
    opening = german.reset(1)
    assert opening.text.startswith("Es war einmal – so fangen viele Märchen an.")
    assert "Daran steht: „Küche“." in opening.description
    assert german.step("nimm schlüssel").text == "Genommen."


def test_words_with_accents_are_understood_however_they_are_typed(spanish):
    spanish.reset(1)
    assert spanish.step("examinar BAU\N{COMBINING ACUTE ACCENT}L").text == "Un baúl con cerradura."
    assert spanish.step("beber café crème").text.startswith("Delicioso, ¿verdad?")


@pytest.mark.parametrize(
    ("game", "ending", "steps"),
    [("spanish", "sur", ("lost", 0.0, 5.0, 1)), ("german", "süden", ("lost", 0.0, 4.0, 1))],
)
def test_a_death_is_lost_in_any_language(request, game, ending, steps):
    story = request.getfixturevalue(game)
    story.reset(1)
    seen = story.step(ending)
    assert (seen.outcome, seen.score, seen.max_score, seen.moves) == steps


@pytest.mark.parametrize(
    ("game", "commands"),
    [
        ("spanish", ["guardar", "SALVAR", "cargar", "reiniciar", "terminar", "fin", "transcripción"]),
        ("spanish", ["mirar luego fin", "norte. guardar", "eepa reiniciar"]),
        ("german", ["speichern", "laden", "neustart", "beenden", "ende", "warte dann schluss", "mitschrift aus"]),
    ],
)
def test_commands_that_save_restart_or_end_are_answered_by_us(request, game, commands):
    story = request.getfixturevalue(game)
    before = story.reset(1)
    for command in commands:
        seen = story.step(command)
        assert "jitrl" in seen.text or "episode" in seen.text, command
        assert (seen.changed, seen.moves, seen.world_hash) == (False, 0, before.world_hash)


def test_other_commands_to_the_program_and_verbs_that_look_like_english_ones_pass(spanish, german):
    spanish.reset(1)
    assert spanish.step("puntuación").text == "Hasta ahora llevas 0 de un total de 5 puntos, en 0 turnos"
    assert spanish.step("restar llave").text == "No conozco ese verbo."  # its beginning is that of "restart"
    german.reset(1)
    assert german.step("punkte").text == "Du hast 0 von 4 Punkten, nach 0 Zügen"


def test_valid_actions_are_worded_as_the_story_does_it(spanish, german):
    spanish.reset(1)
    offered = spanish.valid_actions()
    assert {"norte", "sur", "toma llave", "bebe café"} <= set(offered)
    german.reset(1)
    offered = german.valid_actions()
    assert "süden" in offered
    assert any(action.endswith(" schlüssel") for action in offered)


@pytest.mark.parametrize(("name", "best"), [("jardin", 5), ("schloss", 4)])
def test_the_default_learner_reaches_the_maximum_in_a_few_episodes(folder, tmp_path, name, best):
    settings = profile("default", step_limit=30)
    configuration = SessionConfig(
        game=str(compiled(name, folder)), model="prior/uniform", episodes=5, settings=settings
    )
    saved = sessions.create(tmp_path, configuration, "run")
    session, events = run(saved, tmp_path)
    assert session.error is None
    last = only(events, EpisodeEnded)[-1]
    assert (last.score, last.outcome) == (best, "won")
    recorded = [event for _, event in recording.read(saved.folder) if isinstance(event, Stepped)]
    assert [event.action for event in recorded] == [event.action for event in only(events, Stepped)]
    assert any(not event.action.isascii() for event in recorded)


# ------------------------------------------------------------------------------------- characters


@pytest.mark.parametrize(
    ("name", "first", "steps"),
    [
        ("russian", 'Лес\nТихий лес. Кафе "Café" закрыто. ☃', [("examine ЖУК", "Чёрный жук.")]),
        ("french", "Quelle forêt? Un nœud de chemins. Œuvre d'un fou.", [("examine clé", "Une clé.")]),
    ],
)
def test_letters_that_latin_1_lacks_are_typed_and_told(folder, name, first, steps):
    game = test_odd_stories.opened(name, 5, folder)
    try:
        assert first in game.reset(1).text
        assert [(command, game.step(command).text) for command, _ in steps] == steps
    finally:
        game.close()


def test_words_of_the_dictionary_are_truncated_as_the_parser_does_it(folder):
    story = StoryFile(compiled("schloss", folder).read_bytes())
    for word in ("schließe", "öffne", "brötchen", "königin", "südwesten", "untersuche"):
        assert story.cut(word) in story.dictionary
        assert story.cut(story.cut(word)) == story.cut(word)  # what is offered is understood
    assert story.cut("schlüsse") == story.cut("schlüssel") != story.cut("schlussel")


def test_what_a_story_has_no_code_for_is_spelt_in_letters_that_it_has(folder):
    standard = Characters(compiled("jardin", folder).read_bytes())
    assert standard.encode("cœur “né” łódź ☃") == b'coeur "n\xe9" l\xf3dz ?'
    russian = Characters(
        compile_story(test_odd_stories.FOLDER / "russian.inf", folder, version=5).read_bytes()
    )
    assert russian.decode(russian.encode("ёлка é")) == "ёлка é"
    assert russian.decode(russian.printed(ord("☃")) + russian.printed(ord("é"))) == "☃é"
    assert russian.encode("ü") == b"u"
    assert russian.decode(russian.printed(0xD83D)) == "\ufffd"  # half a pair of codes, which cannot be kept


def test_odd_lines_are_cleaned_and_letters_stay():
    assert sanitise(" café \t\x07 Straße\u200b\n") == "café Straße"


def test_sources_are_read_in_both_encodings(tmp_path):
    for encoding in ("utf-8", "latin-1"):
        (tmp_path / "a.inf").write_bytes("! Solution: coger corazón".encode(encoding))
        assert source_text(tmp_path / "a.inf") == "! Solution: coger corazón"


def test_words_with_accents_are_whole_in_states():
    (sentence,) = sentences("Un café crème.")
    assert [phrase.words for phrase in read(sentence).phrases] == ["un café crème"]
    assert sentences("¡Sí! ¿Árbol? Él.") == ["¡Sí!", "¿Árbol?", "Él."]
