"""The provider `local/...` for litellm, with models in this process. Import it only when litellm has been imported.

A call with `candidates` returns their scores, in the form of log-probabilities of one token's alternatives. Any other
call returns text.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping
from typing import Any

from engine.errors import ModelError, TooLong
from engine.llm.local.engine import LocalEngine


def register(litellm: Any, engines: Mapping[str, LocalEngine]) -> None:
    """Register `engines` with litellm as `local/NAME`."""
    from litellm.llms.custom_llm import CustomLLM

    class Local(CustomLLM):  # type: ignore[misc]
        """Answers litellm's calls with models of this process."""

        def __init__(self) -> None:
            super().__init__()
            self.engines: weakref.WeakValueDictionary[str | int, LocalEngine] = weakref.WeakValueDictionary()

        async def acompletion(self, *args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(self._answer, **kwargs)

        def completion(self, *args: Any, **kwargs: Any) -> Any:
            return self._answer(**kwargs)

        def _answer(
            self, model: str, messages: Any, model_response: Any, optional_params: Any, **_: Any
        ) -> Any:
            name = model.removeprefix("local/")
            engine = self.engines.get(optional_params.get("engine", name))
            if engine is None:
                raise litellm.NotFoundError(f"local/{name} is not open", name, "local")
            try:
                return _answer(litellm, engine, messages, model_response, optional_params)
            except TooLong as error:
                raise litellm.ContextWindowExceededError(str(error), name, "local") from None
            except ModelError as error:
                raise litellm.BadRequestError(str(error), name, "local") from None

    for entry in litellm.custom_provider_map:
        if entry["provider"] == "local":
            handler = entry["custom_handler"]
            break
    else:
        handler = Local()
        litellm.custom_provider_map = [
            *litellm.custom_provider_map,
            {"provider": "local", "custom_handler": handler},
        ]
        litellm.utils.custom_llm_setup()
    for name, engine in engines.items():
        handler.engines[name] = handler.engines[id(engine)] = engine


def _answer(litellm: Any, engine: LocalEngine, messages: Any, response: Any, options: dict[str, Any]) -> Any:
    answer = options.get("answer", "")
    candidates = options.get("candidates")
    message = response.choices[0].message
    if candidates is not None:
        scores = engine.score(messages, answer, candidates, deadline=options.get("deadline"))
        best = max(range(len(candidates)), key=scores.mean.__getitem__)
        tokens = (scores.prompt_tokens, scores.answer_tokens)
        message.content = candidates[best]
        top = [
            {"token": text, "logprob": mean, "bytes": None}
            for text, mean in zip(candidates, scores.mean, strict=True)
        ]
        response.answer_lengths = list(scores.lengths)
        response.choices[0].logprobs = litellm.types.utils.ChoiceLogprobs(
            content=[{**top[best], "top_logprobs": top}]
        )
    else:
        text = engine.write(
            messages,
            answer=answer,
            max_tokens=options.get("max_tokens") or 512,
            temperature=options.get("temperature") or 0.0,
            seed=options.get("seed") or 1,
            schema=_schema(options.get("response_format")),
            top=int(options.get("top_logprobs") or 0) if options.get("logprobs") else 0,
            deadline=options.get("deadline"),
        )
        tokens = (text.prompt_tokens, text.completion_tokens)
        message.content = answer + text.text
        response.choices[0].finish_reason = "length" if text.cut else "stop"
        if text.top:
            listed = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in text.top]
            response.choices[0].logprobs = litellm.types.utils.ChoiceLogprobs(
                content=[{**listed[0], "top_logprobs": listed}]
            )
    response.usage = litellm.Usage(
        prompt_tokens=tokens[0], completion_tokens=tokens[1], total_tokens=sum(tokens)
    )
    return response


def _schema(response_format: Any) -> Mapping[str, Any] | None:
    """Return the JSON schema of OpenAI's `response_format`, None if there is none."""
    if isinstance(response_format, Mapping) and response_format.get("type") == "json_schema":
        schema = response_format.get("json_schema", {}).get("schema")
        return schema if isinstance(schema, Mapping) else None
    return None
