"""Ask a model for a typed reply: parse, check, and send a violation back with its sentence, a bounded number of times."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest
from assets.llm.reply_schema import ReplySchema, schema_of_model
from assets.llm.usage_meter import MeteredModel
from assets.recipe.recipe import Recipe
from assets.records.failure import FailureReason, ItemFailed
from assets.records.usage import Usage
from prompts.template import Message, RenderedPrompt

T = TypeVar("T")
R = TypeVar("R")


class UnusableReply(ValueError):
    """A reply that cannot be used. The message is a sentence for the model, `reason` what a failure would carry."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason: FailureReason = reason


async def ask_structured(
    model: LanguageModel,
    *,
    prompt: RenderedPrompt,
    reply: type[T] | ReplySchema[T],
    convert: Callable[[T], R],
    recipe: Recipe,
    sample: int = 0,
    model_name: str | None = None,
) -> R:
    """Ask until a reply passes. Raises ItemFailed after `gates.max_reasks` further tries, the last of which starts afresh.

    `reply` is the schema: a fixed pydantic model, or one made for this call. `convert` turns a valid reply into what the
    stage needs and raises ValueError, with a sentence for the model, when the reply breaks a rule. `sample` tells equal
    requests apart; `model_name` is another model than the first of the prompt's role.
    """
    schema = reply if isinstance(reply, ReplySchema) else cast(ReplySchema[T], schema_of_model(cast(type[BaseModel], reply)))
    request = _first_request(prompt, schema, recipe=recipe, sample=sample, model_name=model_name)
    reasks = recipe.gates.max_reasks
    sent: set[tuple[Message, ...]] = set()
    messages = prompt.messages
    for attempt in range(reasks + 1):
        labels = replace(request.labels, attempt=attempt)
        answer = await model.complete(replace(request, messages=messages, labels=labels))
        try:
            return _converted(answer, schema, convert)
        except UnusableReply as problem:
            if attempt == reasks:
                raise ItemFailed(problem.reason, f"{prompt.name}: {problem}", last_reply=answer.text) from problem
            objection = _objection(answer, str(problem))
            last = attempt + 1 == reasks > 1
            messages = _starting_afresh(prompt.messages, str(problem)) if last else (*prompt.messages, *objection)
            # A repeated mistake gets the objection once more: an equal request would get the equal reply from the reply cache.
            while messages in sent:
                messages = (*messages, *objection)
            sent.add(messages)
            if isinstance(model, MeteredModel):
                model.meter.add(Usage(reasks=1))
    raise AssertionError("unreachable: the loop returns or raises")


def _first_request(
    prompt: RenderedPrompt, schema: ReplySchema[T], *, recipe: Recipe, sample: int, model_name: str | None
) -> ModelRequest:
    spec = recipe.models.for_role(prompt.role)
    return ModelRequest(
        model=model_name or spec.model,
        messages=prompt.messages,
        temperature=spec.temperature_for(prompt.warmth),
        max_output_tokens=spec.max_output_tokens,
        schema_name=prompt.name.replace("/", "_"),
        json_schema=schema.json_schema,
        seed=recipe.seed,
        sample=recipe.sample * 1000 + sample,
        labels=CallLabels(prompt=prompt.name, fingerprint=prompt.fingerprint, transport=spec.transport),
    )


def _converted(reply: ModelReply, schema: ReplySchema[T], convert: Callable[[T], R]) -> R:
    if reply.finish == "refusal":
        raise UnusableReply("refused", "The request was refused; it asks for harmless fiction, so please answer it.")
    if reply.finish == "length":
        raise UnusableReply("cut_off", "The answer was cut off; answer again, shorter.")
    content = extract_json(reply.text)
    try:
        return convert(schema.validate(content))
    except ValidationError as error:
        raise UnusableReply("rule_violated", _problems(error)) from error
    except ValueError as error:
        raise UnusableReply("rule_violated", str(error)) from error


def extract_json(text: str) -> object:
    """The JSON value in a reply, also when prose or a code fence surrounds it. Raises UnusableReply."""
    for part in (text, text[text.find("{") : text.rfind("}") + 1]):
        # A ValueError too: a number of thousands of digits, and half of a surrogate pair, which no file could hold.
        with suppress(ValueError, RecursionError):
            value: object = json.loads(part)
            json.dumps(value, ensure_ascii=False).encode()
            return value
    raise UnusableReply("unparsable", "The answer is not a JSON object; answer with one JSON object alone.")


def _problems(error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(part) for part in problem['loc']) or 'the object'}: {problem['msg'].removeprefix('Value error, ')}"
        for problem in error.errors()[:5]
    ]
    return "; ".join(problems)


def _starting_afresh(messages: tuple[Message, ...], problem: str) -> tuple[Message, ...]:
    """The prompt as at first, with the problem beneath: a model that sees its own words again tends to say them again."""
    *before, last = messages
    return (*before, Message(last.role, f"{last.content}\nAn earlier answer could not be used. {problem}"))


def _objection(reply: ModelReply, problem: str) -> tuple[Message, Message]:
    return (
        Message("assistant", reply.text),
        Message("user", f"That answer cannot be used. {problem}\nAnswer again with the complete, corrected JSON object."),
    )
