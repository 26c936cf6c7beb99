"""A reply is parsed, checked, and sent back with what is wrong with it, a bounded number of times."""

import json
from contextvars import copy_context
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from assets.llm.copied_examples import find_copied_words
from assets.llm.item_watch import WATCH, ItemWatch
from assets.llm.ports import CallLabels, ModelReply
from assets.llm.structured_output import (
    MOST_CHARACTERS,
    TEXT,
    ReplySchema,
    UnusableReply,
    ask_structured,
    extract_json,
    object_of,
    schema_of_model,
)
from assets.llm.usage import Meter, MeteredModel
from assets.recipe.recipe import GatePolicy
from assets.records.base import ItemFailed, Text
from assets.records.readable import UNREADABLE, unreadable_in
from prompts.template import Message, RenderedPrompt
from tests.support.coroutines import run
from tests.support.scripted_model import Reply, ScriptedModel, ask_test_prompt, reply
from tests.support.small import small_recipe

NAME = "test/ask"
READABLE = st.characters(exclude_categories=["Cs"], exclude_characters=UNREADABLE.findall("".join(map(chr, range(0x10000)))))


class Number(BaseModel):
    n: int = Field(ge=0)
    why: Text = "so"


def even(number: Number) -> int:
    if number.n % 2:
        raise ValueError(f"{number.n} is odd; take an even number.")
    return number.n


def asked(*replies: Reply, max_reasks: int = 2) -> tuple[int, ScriptedModel]:
    model = ScriptedModel({NAME: replies})
    recipe = small_recipe(gates=GatePolicy(max_reasks=max_reasks))
    return run(ask_test_prompt(model, even, reply=Number, recipe=recipe)), model


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 2}',
        '```json\n{"n": 2}\n```',
        'Sure! Here it is:\n{"n": 2}\nAnything else?',
        ' \n{"n": 2} ',
        'Voilà: {"n": 2, "more": {"x": 1}} — done.',
    ],
    ids=["bare", "fenced", "prose", "space", "nested"],
)
def test_json_is_found_in_whatever_surrounds_it(text: str) -> None:
    assert asked(text)[0] == 2


@given(st.recursive(st.integers() | st.text(READABLE), lambda inner: st.lists(inner, max_size=3)))
def test_any_json_object_is_read_as_it_is(value: object) -> None:
    assert (
        extract_json(json.dumps({"value": value})) == extract_json(f"So:\n{json.dumps({'value': value})}") == {"value": value}
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot say.",
        '{"n": ',
        "}{",
        "[" * 100_000,
        f'{{"n": {"1" * 5000}}}',
    ],
    ids=["nothing", "prose", "half", "turned", "deep", "long number"],
)
def test_text_without_one_json_value_is_unusable(text: str) -> None:
    with pytest.raises(UnusableReply, match="not a JSON object"):
        extract_json(text)


@pytest.mark.parametrize("character", ["\0", "\x0b", "\x1b", "\x7f", "\ud83d", "\uffff"])
def test_a_character_that_no_reader_could_see_goes_back_with_its_code(character: str) -> None:
    spoiled = json.dumps({"n": 2, "why": f"so {character}or so"})
    number, model = asked(spoiled, '{"n": 4}')
    assert number == 4
    assert f"holds the character U+{ord(character):04X}, which no reader could see" in model.objections(NAME)[0]
    assert asked(json.dumps({"n": 2, f"key{character}": 1}), '{"n": 4}')[0] == 4


def test_a_reply_that_never_becomes_readable_fails_its_item_and_no_more() -> None:
    with pytest.raises(ItemFailed, match=r"U\+0000") as caught:
        asked('{"n": 2, "why": "\\u0000"}')
    assert caught.value.reason == "rule_violated"
    assert not unreadable_in(caught.value.message)


def test_a_reply_longer_than_a_release_could_hold_is_asked_for_again_without_being_quoted() -> None:
    long = json.dumps({"n": 2, "why": "so " * MOST_CHARACTERS})
    number, model = asked(long, long, '{"n": 4}')
    assert number == 4
    assert "200,000 are the most" in model.objections(NAME)[0]
    assert all(len(message.content) < 1000 for request in model.requests for message in request.messages)


def test_the_sentence_goes_back_with_the_bad_reply() -> None:
    number, model = asked('{"n": 3}', '{"n": 4}')
    first, second = model.requests
    assert number == 4
    assert second.messages[:2] == first.messages
    assert [(message.role, message.content) for message in second.messages[2:]] == [
        ("assistant", '{"n": 3}'),
        (
            "user",
            "That answer cannot be used. 3 is odd; take an even number.\n"
            "Answer again with the complete, corrected JSON object.",
        ),
    ]
    assert replace(second, messages=first.messages) == first


def test_an_empty_reply_is_not_sent_back() -> None:
    number, model = asked("", " ", '{"n": 4}', max_reasks=3)
    assert number == 4
    assert [message.role for request in model.requests for message in request.messages] == ["system", "user"] * 3
    assert "An earlier answer could not be used" in model.requests[1].messages[-1].content
    assert len({request.messages for request in model.requests}) == 3


class ClosedNumber(BaseModel):
    model_config = ConfigDict(extra="forbid")

    n: int


def test_remarks_beside_the_answer_are_passed_over_and_other_keys_are_not() -> None:
    model = ScriptedModel({NAME: ['{"reasoning": "It is even.", "n": "4"}', '{"m": 3, "n": 4}']})
    assert run(ask_test_prompt(model, lambda number: number.n, reply=ClosedNumber, recipe=small_recipe())) == 4
    once = small_recipe(gates=GatePolicy(max_reasks=0))
    with pytest.raises(ItemFailed, match="m: Extra inputs"):
        run(ask_test_prompt(model, lambda number: number.n, reply=ClosedNumber, recipe=once))


def test_a_thought_that_took_all_of_the_room_names_the_field_to_raise() -> None:
    with pytest.raises(ItemFailed, match=r"Reasoning took all of the room: raise models\.writer\.max_output_tokens"):
        asked(reply("", finish="length"))
    with pytest.raises(ItemFailed, match=r"cut off; answer again, shorter. Or raise models\.writer\.max_output_tokens"):
        asked(reply('{"n": ', finish="length"))


def test_only_the_last_bad_reply_goes_back() -> None:
    _, model = asked('{"n": 3}', '{"n": 5}', '{"n": 6}', max_reasks=3)
    assert [len(request.messages) for request in model.requests] == [2, 4, 4]
    assert model.requests[2].messages[2].content == '{"n": 5}'


def test_the_last_try_starts_afresh_with_the_problem_alone() -> None:
    _, model = asked('{"n": 3}', '{"n": 5}', '{"n": 6}')
    first, _, last = model.requests
    assert last.messages[:-1] == first.messages[:-1]
    assert (
        last.messages[-1].content
        == f"{first.messages[-1].content}\nAn earlier answer could not be used. 5 is odd; take an even number."
    )


def test_a_reply_that_came_twice_is_not_shown_to_the_model_again() -> None:
    _, model = asked('{"n": 3}', '{"n": 3}', '{"n": 5}', '{"n": 6}', max_reasks=5)
    assert [len(request.messages) for request in model.requests] == [2, 4, 2, 2]


def test_an_example_that_was_copied_twice_is_not_shown_again() -> None:
    bees = (
        Message("user", "Ines keeps bees."),
        Message("assistant", '{"text": "I check my hives each Sunday before the market."}'),
    )
    boats = (Message("user", "Tom sails."), Message("assistant", '{"text": "My jib tore at noon off the old pier."}'))
    messages = (Message("system", "Write."), *bees, *boats, Message("user", "Ana bakes."))
    prompt = RenderedPrompt(NAME, "writer", "steady", "f", messages, tuple(message.content for message in messages[1:-1]))
    copied = '{"text": "I check my hives each Sunday before work."}'
    model = ScriptedModel({NAME: [copied, copied, '{"text": "I bake bread."}']})
    schema = ReplySchema[dict[str, str]](object_of({"text": TEXT}))
    asking = small_recipe(gates=GatePolicy(max_reasks=3)).asking
    run(ask_structured(model, prompt=prompt, reply=schema, convert=lambda reply: reply, settings=asking))
    shown = [[pair for pair in (bees, boats) if pair[1] in request.messages] for request in model.requests]
    assert shown == [[bees, boats], [bees, boats], [boats]]


def test_keys_between_two_strings_are_not_copied_words() -> None:
    example = '{"question": "When shall I sell enough of it?", "required_info": [{"info_type": "honey_buyer"}]}'
    messages = (Message("system", "Ask."), Message("user", "Bees."), Message("assistant", example), Message("user", "Trucks."))
    prompt = RenderedPrompt(NAME, "writer", "steady", "f", messages, ("Bees.", example))
    own = '{"question": "How do I sleep through half of it?", "required_info": [{"info_type": "honey_buyer"}]}'
    assert find_copied_words(own, prompt) == ""
    assert find_copied_words(own.replace("sleep through half", "sell enough of it, when shall I sell enough"), prompt)


def test_a_salutation_between_two_line_breaks_is_not_copied_words() -> None:
    example = r'{"text": "Ref. 4\n\nDear Sir or Madam,\n\nI certify that she keeps bees."}'
    messages = (
        Message("system", "Write."),
        Message("user", "Bees."),
        Message("assistant", example),
        Message("user", "Trucks."),
    )
    prompt = RenderedPrompt(NAME, "writer", "steady", "f", messages, ("Bees.", example))
    assert find_copied_words(r'{"text": "No. 7\n\nDear Sir or Madam,\n\nThe truck was sold."}', prompt) == ""
    assert find_copied_words(r'{"text": "Dear Sir or Madam,\n\nI certify that she sold it."}', prompt)


def test_of_many_tries_all_after_the_second_start_afresh() -> None:
    _, model = asked(*(f'{{"n": {number}}}' for number in (1, 3, 5, 7, 9, 6)), max_reasks=8)
    assert [len(request.messages) for request in model.requests] == [2, 4, 4, 2, 2, 2]


@pytest.mark.parametrize(
    ("bad", "reason", "message"),
    [
        ("No.", "unparsable", "not a JSON object"),
        (reply('{"n": 2', finish="length"), "cut_off", "cut off"),
        (reply("", finish="refusal"), "refused", "refused"),
        ('{"n": 3}', "rule_violated", "3 is odd"),
        ('{"n": -2}', "rule_violated", "n: Input should be greater than or equal to 0"),
        ("[2]", "rule_violated", "the object: Input should be a valid dictionary"),
    ],
    ids=["unparsable", "cut off", "refused", "rule", "schema", "no object"],
)
def test_a_user_is_given_up_with_the_reason_after_the_last_try(bad: str | ModelReply, reason: str, message: str) -> None:
    model = ScriptedModel({NAME: [bad]})
    with pytest.raises(ItemFailed, match=f"{NAME}: .*{message}") as failed:
        run(ask_test_prompt(model, even, reply=Number, recipe=small_recipe(gates=GatePolicy(max_reasks=2))))
    assert failed.value.reason == reason
    assert failed.value.last_reply == (bad.text if isinstance(bad, ModelReply) else bad)
    assert len(model.requests) == 3


def test_the_last_try_is_a_risk_that_ends_when_it_passes() -> None:
    said: list[str] = []

    def ask() -> None:
        WATCH.set(ItemWatch(lambda _: None, lambda: said.append("risk"), lambda: said.append("relief")))
        asked('{"n": 3}', '{"n": 5}', '{"n": 6}')

    copy_context().run(ask)
    assert said == ["risk", "relief"]


def test_without_further_tries_one_bad_reply_is_the_last() -> None:
    with pytest.raises(ItemFailed):
        asked('{"n": 3}', '{"n": 4}', max_reasks=0)


def test_a_request_carries_the_roles_model_and_the_replys_schema() -> None:
    recipe = small_recipe(seed=7, sample=2, models={"writer": {"model": "pen", "max_output_tokens": 99}})
    model = ScriptedModel({NAME: ['{"n": 2}']})
    run(ask_test_prompt(model, even, reply=Number, sample=5, recipe=recipe))
    (request,) = model.requests
    assert request.model == "pen"
    assert request.max_output_tokens == 99
    assert request.temperature == 0.2
    assert request.seed == 7
    assert (request.sample, request.schema_name, request.json_schema) == (2005, "test_ask", schema_of_model(Number).json_schema)


def test_calls_are_counted_under_their_stages_labels() -> None:
    meter = Meter(Meter())
    model = ScriptedModel({NAME: ["No.", replace(reply('{"n": 2}'), repeated=True)]})
    metered = MeteredModel(model, CallLabels(stage="answers", item_id="u"), meter)
    run(ask_test_prompt(metered, even, reply=Number, recipe=small_recipe()))
    assert meter.usage.calls == 2
    assert meter.usage.reasks == 1
    assert meter.usage.input_tokens == 20
    assert meter.usage.output_tokens == 4
    assert meter.repeated == 1
    assert meter.parent is not None
    assert meter.parent.usage == meter.usage
    labels = [(label.stage, label.item_id, label.prompt, label.attempt) for label in (one.labels for one in model.requests)]
    assert labels == [("answers", "u", NAME, 0), ("answers", "u", NAME, 1)]


def test_a_model_that_repeats_its_mistakes_is_never_sent_the_same_request_twice() -> None:
    replies: list[Reply] = ['{"n": 1}', '{"n": 3}', '{"n": 1}', '{"n": 3}', '{"n": 3}', '{"n": 4}']
    number, model = asked(*replies, max_reasks=5)
    assert number == 4
    assert len({request.messages for request in model.requests}) == len(replies)
    assert [len(request.messages) for request in model.requests] == [2, 4, 4, 2, 2, 2]
