"""Commands from one thread, obeyed by another, without sleeping."""

import threading

import pytest

from engine.records import Paused
from engine.session.control import Answer, Control, PersonSaid, StopRequested


class Gate:
    """A thread that goes through the gate again and again and says what came out."""

    def __init__(self, control: Control, episode: int = 1) -> None:
        self.control, self.episode = control, episode
        self.passed: list[Answer] = []
        self.news = threading.Condition()
        self.waiting = False
        self.stopped = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            while True:
                action = self.control.gate(self.episode, self.events)
                with self.news:
                    self.passed.append(action)
                    self.news.notify_all()
        except StopRequested:
            with self.news:
                self.stopped = True
                self.news.notify_all()

    def events(self, event) -> None:
        with self.news:
            self.waiting = isinstance(event, Paused)
            self.news.notify_all()

    def until(self, condition) -> None:
        with self.news:
            assert self.news.wait_for(lambda: condition(self), timeout=60)


def test_paused_means_nothing_passes_until_a_single_step():
    gate = Gate(Control(paused=True))
    gate.until(lambda g: g.waiting)
    assert gate.passed == []
    gate.control.step_once()
    gate.until(lambda g: len(g.passed) == 1 and g.waiting)
    gate.control.stop()
    gate.until(lambda g: g.stopped)
    assert gate.passed == [Answer(PersonSaid.APPROVED)]


def test_an_override_passes_even_while_paused_and_only_once():
    gate = Gate(Control(paused=True))
    gate.until(lambda g: g.waiting)
    gate.control.override("xyzzy")
    gate.until(lambda g: g.passed == [Answer(PersonSaid.INSTEAD, "xyzzy")] and g.waiting)
    gate.control.stop()
    gate.until(lambda g: g.stopped)


@pytest.mark.parametrize("asked", [False, True])
def test_an_action_to_go_on_with_resumes_and_is_for_one_decision(asked):
    control = Control(paused=True, delay=3600)

    def told(event) -> None:
        if isinstance(event, Paused) and asked:
            assert control.answer(event.question, PersonSaid.INSTEAD, "xyzzy", go_on=True)
        elif isinstance(event, Paused):
            control.override("xyzzy", go_on=True)

    assert control.gate(1, told) == Answer(PersonSaid.INSTEAD, "xyzzy")
    assert not control.paused
    gate = Gate(control)
    control.pause()
    gate.until(lambda g: g.waiting)
    assert gate.passed == []
    assert not control.answer(1, PersonSaid.INSTEAD, "too late", go_on=True)
    assert control.paused
    control.stop()
    gate.until(lambda g: g.stopped)


def test_a_fast_forward_passes_its_episodes_and_then_the_pause_holds_again():
    control = Control(paused=True, delay=3600)
    control.fast_forward(2)
    assert control.gate(1, lambda _: None) == Answer()
    assert control.gate(2, lambda _: None) == Answer()
    gate = Gate(control, episode=3)
    gate.until(lambda g: g.waiting)
    assert gate.passed == []
    control.stop()
    gate.until(lambda g: g.stopped)


def test_a_shorter_delay_takes_effect_at_once():
    control = Control(delay=3600)
    gate = Gate(control)
    control.set_delay(0)
    gate.until(lambda g: len(g.passed) >= 1)
    control.stop()
    gate.until(lambda g: g.stopped)


def test_stop_interrupts_every_wait_and_tells_who_asked_to_know():
    control = Control(paused=True)
    told = threading.Event()
    control.on_stop(told.set)

    def wait() -> None:
        with pytest.raises(StopRequested):
            control.wait_for_resume()

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    control.stop()
    waiter.join(60)
    assert not waiter.is_alive()
    assert told.is_set()
    with pytest.raises(StopRequested):
        control.check()
