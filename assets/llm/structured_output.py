"""Ask a model for a typed reply: parse, check, and send a violation back with its sentence, a bounded number of times."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError

from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest
from assets.llm.reply_schema import Shape, shape_of
from assets.llm.usage_meter import MeteredModel
from assets.recipe.recipe import Recipe
from assets.records.failure import FailureReason, UserFailed
from assets.records.usage import Usage
from prompts.template import Message, RenderedPrompt

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Ask(Generic[T, R]):
    """One thing to ask: the prompt, the reply's shape, and how a well-shaped reply is read.

    `read` turns the reply into what the stage needs and raises ValueError with a sentence for the model when the
    reply breaks a rule. `sample` tells equal requests apart; `model` is another model than the role's first.
    """

    prompt: RenderedPrompt
    reply: type[T] | Shape[T]
    read: Callable[[T], R]
    sample: int = 0
    model: str | None = None

    @property
    def shape(self) -> Shape[T]:
        """The form of the reply, as a fixed model or made for this call."""
        if isinstance(self.reply, Shape):
            return self.reply
        return cast(Shape[T], shape_of(cast(type[BaseModel], self.reply)))


class Unusable(ValueError):
    """A reply that cannot be used, with the reason that a failure would carry."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason: FailureReason = reason


async def ask(model: LanguageModel, asked: Ask[T, R], *, recipe: Recipe) -> R:
    """Ask until a reply passes. Raises UserFailed after `gates.max_reasks` further tries, the last of which starts afresh."""
    messages, made, reasks = asked.prompt.messages, set[tuple[Message, ...]](), recipe.gates.max_reasks
    for attempt in range(reasks + 1):
        reply = await model.complete(_request(asked, messages=messages, attempt=attempt, recipe=recipe))
        try:
            return _read(asked, reply)
        except Unusable as problem:
            if attempt == reasks:
                message = f"{asked.prompt.name}: {problem}"
                raise UserFailed(problem.reason, message, last_reply=reply.text) from problem
            told = _objection(reply, str(problem))
            last = attempt + 1 == reasks > 1
            messages = _afresh(asked.prompt.messages, str(problem)) if last else (*asked.prompt.messages, *told)
            # Who repeats a mistake hears of it once more: an equal request would get the equal reply from the call cache.
            while messages in made:
                messages = (*messages, *told)
            made.add(messages)
            if isinstance(model, MeteredModel):
                model.meter.add(Usage(reasks=1))
    raise AssertionError("unreachable: the loop returns or raises")


def _request(asked: Ask[T, R], *, messages: tuple[Message, ...], attempt: int, recipe: Recipe) -> ModelRequest:
    spec, prompt = recipe.models.for_role(asked.prompt.role), asked.prompt
    return ModelRequest(
        model=asked.model or spec.model,
        messages=messages,
        temperature=spec.temperature_for(prompt.warmth),
        max_output_tokens=spec.max_output_tokens,
        schema_name=prompt.name.replace("/", "_"),
        json_schema=asked.shape.json_schema,
        seed=recipe.seed,
        sample=recipe.sample * 1000 + asked.sample,
        labels=CallLabels(prompt=prompt.name, fingerprint=prompt.fingerprint, attempt=attempt, transport=spec.transport),
    )


def _read(asked: Ask[T, R], reply: ModelReply) -> R:
    if reply.finish == "refusal":
        raise Unusable("refused", "The request was refused; it asks for harmless fiction, so please answer it.")
    if reply.finish == "length":
        raise Unusable("cut_off", "The answer was cut off; answer again, shorter.")
    content = extract_json(reply.text)
    try:
        return asked.read(asked.shape.read(content))
    except ValidationError as error:
        raise Unusable("rule_violated", _explain(error)) from error
    except ValueError as error:
        raise Unusable("rule_violated", str(error)) from error


def extract_json(text: str) -> object:
    """The JSON value in a reply, also when prose or a code fence surrounds it. Raises Unusable."""
    for part in (text, text[text.find("{") : text.rfind("}") + 1]):
        # A ValueError too: a number of thousands of digits, and half of a surrogate pair, which no file could keep.
        with suppress(ValueError, RecursionError):
            value: object = json.loads(part)
            json.dumps(value, ensure_ascii=False).encode()
            return value
    raise Unusable("unparsable", "The answer is not a JSON object; answer with one JSON object alone.")


def _explain(error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(part) for part in problem['loc']) or 'the object'}: {problem['msg'].removeprefix('Value error, ')}"
        for problem in error.errors()[:5]
    ]
    return "; ".join(problems)


def _afresh(prompt: tuple[Message, ...], problem: str) -> tuple[Message, ...]:
    """The prompt as at first, with the problem beneath: a model that sees its own words again tends to say them again."""
    *before, last = prompt
    return (*before, Message(last.role, f"{last.content}\nAn earlier answer could not be used. {problem}"))


def _objection(reply: ModelReply, problem: str) -> tuple[Message, Message]:
    return (
        Message("assistant", reply.text),
        Message("user", f"That answer cannot be used. {problem}\nAnswer again with the complete, corrected JSON object."),
    )
