"""Ask a model for a typed reply: its schema, and asking again with the violation, a bounded number of times.

A schema that is made for one call has its names, values and counts in it. Where the endpoint enforces schemas an illegal
reply cannot be sent; where it does not, the objection names what is wrong. Such schemas are put together from parts: a
pydantic class for every call, or a JSON schema derived from one, would cost milliseconds, and memory that is never freed.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any, Generic, TypeVar, cast

from pydantic import BaseModel, StringConstraints, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from assets.llm.answer_text import UnusableReply, extract_json, has_object
from assets.llm.copied_examples import find_copied_words, without_copied_examples
from assets.llm.item_watch import take_back_warning, warn_of_loss
from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest, RequestFailed
from assets.recipe.model_policy import AskSettings
from assets.records.base import ItemFailed, Name, Prose, Text
from prompts.template import Message, RenderedPrompt

SHOWN_REPLIES = 2  # refused ones that a model is shown; from then on it starts afresh
MOST_LISTED = 8  # names whose choices a JSON schema lists although a reply may leave them out
MOST_CHARACTERS = 200_000  # of a reply, ten times what any prompt asks for: a release has a limit for each item
# Keys under which models explain an answer beside it.
COMMENTS = {"reasoning", "reason", "explanation", "thought", "thoughts", "thinking", "analysis", "rationale"}
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")


class _PlainJsonSchema(GenerateJsonSchema):
    """JSON schemas without titles and our docstrings, which cost tokens and tell the model nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        json_schema = super().model_schema(schema)
        return {key: value for key, value in json_schema.items() if key not in ("title", "description")}


def json_schema_of(core: CoreSchema) -> dict[str, Any]:
    return _PlainJsonSchema(by_alias=True).generate(core)


@dataclass(frozen=True)
class SchemaPart:
    """A piece of a reply's schema: pydantic's core schema, which validates, and the JSON schema that says the same."""

    core: CoreSchema
    json_schema: dict[str, Any]


@dataclass(frozen=True)
class ReplySchema(Generic[T]):
    """The schema of one reply, whose content validates as T."""

    root: SchemaPart

    @property
    def json_schema(self) -> dict[str, Any]:
        """The schema that the endpoint receives; part of the request's identity."""
        return self.root.json_schema

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(self.root.core)

    def validate(self, content: object) -> T:
        """The reply's content as T. Raises pydantic's ValidationError where it does not match."""
        return cast(T, self._validator.validate_python(content))


def _part(core: CoreSchema) -> SchemaPart:
    return SchemaPart(core, json_schema_of(core))


TEXT = _part(TypeAdapter(Text).core_schema)
PROSE = _part(TypeAdapter(Prose).core_schema)
NAME = _part(TypeAdapter(Name).core_schema)
# Servers that enforce schemas write no lists in place of a name.
SHORT_NAME = SchemaPart(NAME.core, {**NAME.json_schema, "maxLength": 48})
# A value is a few words; without an end a small model counts on in it.
VALUE = _part(TypeAdapter(Annotated[Name, StringConstraints(max_length=80)]).core_schema)
# A value of one word can hardly be shown without being said. Servers that enforce schemas write two to six; from others one
# word is taken too. Letters, digits and a few signs: llama.cpp does not end a text whose pattern allows quotes.
PHRASE = SchemaPart(VALUE.core, {**VALUE.json_schema, "pattern": r"^[A-Za-z0-9.'&+-]+([_ ][A-Za-z0-9.'&+-]+){1,5}$"})


@cache
def schema_of_model(model: type[M]) -> ReplySchema[M]:
    """The schema of a fixed pydantic model."""
    return ReplySchema(_part(model.__pydantic_core_schema__))


def enum_of(values: Sequence[str]) -> SchemaPart:
    """A string that is one of these; a single one becomes a constant."""
    legal: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return SchemaPart(core_schema.literal_schema(list(values)), {**legal, "type": "string"})


def integer_between(minimum: int, maximum: int) -> SchemaPart:
    """An integer from `minimum` to `maximum`; digits in quotes are accepted."""
    json_schema = {"maximum": maximum, "minimum": minimum, "type": "integer"}
    return SchemaPart(core_schema.int_schema(ge=minimum, le=maximum), json_schema)


def list_of(item: SchemaPart, *, min_items: int = 1, max_items: int | None = None) -> SchemaPart:
    json_schema = {"items": item.json_schema, "minItems": min_items, "type": "array"}
    json_schema |= {} if max_items is None else {"maxItems": max_items}
    return SchemaPart(core_schema.list_schema(item.core, min_length=min_items, max_length=max_items), json_schema)


def object_of(fields: Mapping[str, SchemaPart], *, required: bool = True) -> SchemaPart:
    """An object with these keys and no others. Keys may have any name; some may be missing unless `required`."""
    parts: dict[str, core_schema.TypedDictField] = {}
    properties: dict[str, Any] = {}
    for name, part in fields.items():
        parts[name] = core_schema.typed_dict_field(part.core, required=required)
        properties[name] = part.json_schema
    json_schema: dict[str, Any] = {"additionalProperties": False, "properties": properties}
    json_schema |= {"type": "object", **({"required": list(fields)} if required else {})}
    return SchemaPart(core_schema.typed_dict_schema(parts, extra_behavior="forbid"), json_schema)


def object_of_alike(keys: Iterable[str], part: SchemaPart, *, required: bool = True) -> SchemaPart:
    """An object with these keys and no others, all with the same kind of value.

    The JSON schema leaves the keys out: listed, they would take more tokens than the reply.
    """
    legal = list(keys)

    def check_keys(reply: dict[str, T]) -> dict[str, T]:
        missing = [key for key in legal if key not in reply]
        if missing and required:
            raise ValueError(f"give an entry for each of {legal}; there is none for {missing}")
        return reply

    entries = core_schema.dict_schema(core_schema.literal_schema(legal), part.core)
    core = core_schema.no_info_after_validator_function(check_keys, entries)
    return SchemaPart(core, {"additionalProperties": part.json_schema, "type": "object"})


def object_of_enums(choices: Mapping[str, Sequence[str]], *, required: bool = True) -> SchemaPart:
    """An object that maps every name to one of its choices; where not `required`, any of the names.

    The JSON schema leaves out names and choices where some of many may be given: they stand in the prompt already.
    """
    part = object_of({name: enum_of(values) for name, values in choices.items()}, required=required)
    if required or len(choices) <= MOST_LISTED:
        return part
    return SchemaPart(part.core, {"additionalProperties": {"type": "string"}, "type": "object"})


def numbered(items: Iterable[T]) -> dict[str, T]:
    """Return the items under the numbers "1", "2", ..., by which a prompt and its reply name them."""
    return {str(number): item for number, item in enumerate(items, start=1)}


async def ask_structured(
    model: LanguageModel,
    *,
    prompt: RenderedPrompt,
    reply: type[T] | ReplySchema[T],
    convert: Callable[[T], R],
    settings: AskSettings,
    sample: int = 0,
    model_name: str | None = None,
) -> R:
    """Ask until a reply passes. Raises ItemFailed after `max_reasks` further tries.

    The last of them starts afresh, so do all after the second, and one after a reply that came twice. From the second on, an
    example whose words the reply repeats is left out. An item fails likewise where the endpoint serves others but not this
    request.

    `reply` is the schema: a fixed pydantic model, or one made for this call. `convert` turns a valid reply into what the
    stage needs and raises ValueError, with a sentence for the model, when the reply breaks a rule. `sample` tells equal
    requests apart; `model_name` is another model than the first of the prompt's role.
    """
    schema = reply if isinstance(reply, ReplySchema) else cast(ReplySchema[T], schema_of_model(cast(type[BaseModel], reply)))
    request = _first_request(prompt, schema, settings=settings, sample=sample, model_name=model_name)
    reasks = settings.max_reasks
    sent: set[tuple[Message, ...]] = set()
    messages = prompt.messages
    before = ""  # the last refused reply
    for attempt in range(reasks + 1):
        if reasks and attempt == reasks:
            warn_of_loss()
        labels = replace(request.labels, attempt=attempt)
        try:
            answer = await model.complete(replace(request, messages=messages, labels=labels))
        except RequestFailed as failed:
            raise ItemFailed("call_failed", f"{prompt.name}: {failed}") from failed
        try:
            converted = _convert_reply(answer, schema, convert, prompt)
        except UnusableReply as problem:
            if attempt == reasks:
                remedy = f" {problem.remedy}" if problem.remedy else ""
                raise ItemFailed(problem.reason, f"{prompt.name}: {problem}{remedy}", last_reply=answer.text) from problem
            if attempt:
                prompt = without_copied_examples(prompt, answer.text)
            late = reasks > 1 and attempt + 1 >= min(reasks, SHOWN_REPLIES + 1)
            # A model that sees its own words and says them again would go on so.
            messages = _asked_again(prompt, answer, str(problem), afresh=late or answer.text == before, sent=sent)
            sent.add(messages)
            before = answer.text
        else:
            if reasks and attempt == reasks:
                take_back_warning()
            return converted
    raise AssertionError("unreachable: the loop returns or raises")


def _first_request(
    prompt: RenderedPrompt, schema: ReplySchema[T], *, settings: AskSettings, sample: int, model_name: str | None
) -> ModelRequest:
    spec = settings.models.for_role(prompt.role)
    return ModelRequest(
        model=model_name or spec.model,
        messages=prompt.messages,
        temperature=spec.temperature_for(prompt.warmth),
        max_output_tokens=spec.max_output_tokens,
        schema_name=prompt.name.replace("/", "_"),
        json_schema=schema.json_schema,
        seed=settings.seed,
        sample=settings.sample * 1000 + sample,
        labels=CallLabels(prompt=prompt.name, fingerprint=prompt.fingerprint, transport=spec.transport, needs_json=True),
        extra_body=spec.extra_body,
    )


def finished_text(reply: ModelReply, *, field: str) -> str:
    """Return the reply's text. Raises UnusableReply for a refusal, and for a text that was cut off, whatever is in it.

    `field`: the setting that gives a reply more room.
    """
    if reply.finish == "refusal":
        raise UnusableReply("refused", "The request was refused; it asks for harmless fiction, so please answer it.")
    if reply.finish == "length" and reply.text.strip():
        raise UnusableReply("cut_off", "The answer was cut off; answer again, shorter.", remedy=f"Or raise {field}.")
    if reply.finish == "length":
        problem = f"The answer was cut off before it began, at {reply.output_tokens:,} tokens; answer again, and think less."
        raise UnusableReply("cut_off", problem, remedy=f"Reasoning took all of the room: raise {field}, or let it reason less.")
    return reply.text


def _convert_reply(reply: ModelReply, schema: ReplySchema[T], convert: Callable[[T], R], prompt: RenderedPrompt) -> R:
    finished_text(reply, field=f"models.{prompt.role}.max_output_tokens")
    if len(reply.text) > MOST_CHARACTERS:
        sentence = (
            f"The answer has {len(reply.text):,} characters, and {MOST_CHARACTERS:,} are the most; answer again, shorter."
        )
        raise UnusableReply("rule_violated", sentence)
    required = tuple(schema.json_schema.get("required", ()))
    content = _without_comments(extract_json(reply.text, keys=required), schema)
    _refuse_copied_words(reply.text, prompt)
    try:
        return convert(schema.validate(content))
    except ValidationError as error:
        raise UnusableReply("rule_violated", _problems(error)) from error
    except ValueError as error:
        raise UnusableReply("rule_violated", str(error)) from error


def _refuse_copied_words(text: str, prompt: RenderedPrompt) -> None:
    """Raise UnusableReply where the reply repeats words of the prompt's examples: small models paste them into other lives."""
    copied = find_copied_words(text, prompt)
    if copied:
        raise UnusableReply(
            "rule_violated",
            f"It repeats the example ({copied!r}), which is about another person and another matter. Leave all of that out, "
            "and write about this person alone.",
        )


def _without_comments(content: object, schema: ReplySchema[Any]) -> object:
    """Return the object without the keys under which models explain themselves, where the schema has no such key."""
    known = schema.json_schema.get("properties", {})
    if not isinstance(content, dict) or not known:
        return cast(object, content)
    kept = dict[str, object]()
    for key, value in cast(dict[str, object], content).items():
        if key in known or key.lower() not in COMMENTS:
            kept[key] = value
    return kept


def is_rubbish(request: ModelRequest, reply: ModelReply) -> bool:
    """Return True where no reader can accept the reply: it was answered in full, and holds no JSON object though it has to."""
    if reply.finish != "stop" or not request.labels.needs_json:
        return False
    return not has_object(reply.text)


def _problems(error: ValidationError) -> str:
    problems: list[str] = []
    # A model mends a few things at a time.
    for problem in error.errors()[:5]:
        where = ".".join(map(str, problem["loc"])) or "the object"
        problems.append(f"{where}: {problem['msg'].removeprefix('Value error, ')}")
    return "; ".join(problems)


def _asked_again(
    prompt: RenderedPrompt, answer: ModelReply, problem: str, *, afresh: bool, sent: Container[tuple[Message, ...]]
) -> tuple[Message, ...]:
    """Return the messages of the next try: with the reply and an objection to it, or `afresh` without the reply."""
    asked_again = f"That answer cannot be used. {problem}\nAnswer again with the complete, corrected JSON object."
    objection = (Message("assistant", answer.text), Message("user", asked_again))
    # What is too long to be kept is too long to be quoted, and many servers refuse an empty message of the assistant's.
    unquoted = afresh or len(answer.text) > MOST_CHARACTERS or not answer.text.strip()
    messages = _starting_afresh(prompt.messages, problem) if unquoted else (*prompt.messages, *objection)
    # A repeated mistake gets the objection once more: an equal request would get the equal reply from the reply cache.
    while messages in sent:
        messages = _starting_afresh(messages, problem) if unquoted else (*messages, *objection)
    return messages


def _starting_afresh(messages: tuple[Message, ...], problem: str) -> tuple[Message, ...]:
    """The prompt as at first, with the problem beneath: a model that sees its own words again tends to say them again."""
    *before, last = messages
    return (*before, Message(last.role, f"{last.content}\nAn earlier answer could not be used. {problem}"))
