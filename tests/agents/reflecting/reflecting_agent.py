"""Reflects on each episode with the model, and puts its latest reflections into the prompt."""

from engine.agents import Method
from engine.agents.static import Recalled, StaticAgent
from engine.llm.model import Question
from engine.records import Basis, BasisItem

LATEST = 3


class ReflectingAgent(StaticAgent):
    def __init__(self, context):
        super().__init__(context.model, context.settings, name="reflecting")
        self._write, self._kept = context.write, context.kept
        self._latest = ()

    def begin_episode(self, state):
        self._latest = self._kept.records("reflection")[-LATEST:]

    def recall(self, turn):
        if not self._latest:
            return Recalled()
        text = "Lessons from earlier episodes:\n" + "\n".join(one.text for one in self._latest)
        items = tuple(BasisItem(one.text, f"episode {one.episode}", uid=one.uid) for one in self._latest)
        return Recalled(text, (Basis("reflection", "Reflections", items),))

    def end_episode(self, episode, first):
        steps = "\n".join(f"{step.action} ({step.env_reward:+g})" for step in episode.steps)
        known = "\n".join(one.text for one in self._latest) or "none yet"
        question = f"Reflect on this episode in one sentence. Score: {episode.score:g}\n{steps}\nKnown: {known}"
        reply = self._write(Question("reflection", [{"role": "user", "content": question}]))
        self._kept.add("reflection", reply.text.strip(), {"score": episode.score})


METHOD = Method("reflecting", "the model with its own reflections in the prompt", ReflectingAgent)
