"""Fields of one's own in requests: sent as they are, part of what is asked, and never a secret or the client's own."""

import asyncio
from dataclasses import replace

import pytest
from pydantic import BaseModel, JsonValue

from assets.llm.structured_output import ask_structured
from assets.recipe.loading import load_recipe
from assets.recipe.model_policy import AskSettings, Models, ModelSpec
from assets.recipe.recipe import RecipeError
from pipelines.resources.cache.reply_cache import request_key
from pipelines.resources.llm.batch.client import input_line
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.compatibility import ApiCompatibility
from prompts.template import Message, RenderedPrompt
from tests.pipelines.llm.scripted_server import ScriptedServer, a_request, in_process

NO_THOUGHTS: dict[str, JsonValue] = {"chat_template_kwargs": {"enable_thinking": False}}
FIELD = "models.writer.extra_body"


class Named(BaseModel):
    name: str


def test_a_recipes_fields_are_sent_with_every_request_of_their_role() -> None:
    server = ScriptedServer()
    spec = ModelSpec(model="m", extra_body={**NO_THOUGHTS, "top_k": 20})
    prompt = RenderedPrompt("questions/draft", "writer", "steady", "f", (Message("user", "Who?"),))

    async def ask() -> Named:
        settings = AskSettings(Models(writer=spec), max_reasks=0, seed=1)
        client = ModelClient(in_process(server))
        return await ask_structured(client, prompt=prompt, reply=Named, convert=lambda reply: reply, settings=settings)

    assert asyncio.run(ask()).name == "Ada"
    (body,) = server.asked
    assert (body["chat_template_kwargs"], body["top_k"], body["model"]) == ({"enable_thinking": False}, 20, "m")


def test_a_batch_jobs_line_has_them_too() -> None:
    request = replace(a_request(), extra_body=NO_THOUGHTS)
    assert '"chat_template_kwargs":{"enable_thinking":false}' in input_line(
        request, custom_id="1", compatibility=ApiCompatibility()
    )


def test_they_decide_rows_and_replies_and_without_any_nothing_changes() -> None:
    plain = load_recipe("demo")
    assert "extra_body" not in plain.model_dump_json()
    assert load_recipe("demo", {FIELD: NO_THOUGHTS}).fingerprint != plain.fingerprint
    one_order = load_recipe("demo", {FIELD: {"a": 1, "b": {"c": 1, "d": 2}}})
    other_order = load_recipe("demo", {FIELD: {"b": {"d": 2, "c": 1}, "a": 1}})
    assert one_order.fingerprint == other_order.fingerprint
    assert request_key(replace(a_request(), extra_body=NO_THOUGHTS)) != request_key(a_request())
    assert request_key(a_request()).startswith("5f80aa930286a915"), "replies that were paid for before are found"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"temperature": 1}, "may not hold 'temperature', which is decided by the field temperature"),
        ({"messages": []}, "may not hold 'messages'"),
        ({"Stream": True}, "may not hold 'Stream'"),
        ({"n": 2}, "may not hold 'n'"),
        ({"api_key": "abc"}, "holds a secret at 'api_key'"),
        ({"extra_headers": {"Authorization": "abc"}}, "holds a secret at 'Authorization'"),
        ({"user": "sk-proj-Zq7Lm2Xv9Rt4"}, "holds a secret at 'user'"),
        ({"webhooks": ["https://ada:pw@host/"]}, "holds a secret at 'webhooks'"),
        ({"top_p": float("nan")}, "holds a number or a letter that no JSON can hold"),
        ({"text": "\ud800"}, "holds a number or a letter that no JSON can hold"),
        ({"stop": {"a", "b"}}, "stop is"),
        ({"logit_bias": {5: 1}}, "is 5, and has to be a text"),
        ({"text": "y" * 20_000}, "20,012 characters"),
        ("thinking", "has to be a group of fields"),
    ],
)
def test_what_may_not_stand_there_is_one_sentence_that_repeats_no_secret(fields: object, words: str) -> None:
    with pytest.raises(RecipeError) as refused:
        load_recipe("demo", {FIELD: fields})
    assert FIELD in str(refused.value)
    assert words in str(refused.value)
    assert "Zq7Lm2Xv" not in str(refused.value)
    assert "pw@" not in str(refused.value)


def test_names_that_only_look_like_secrets_are_taken() -> None:
    fields = {"eos_token": "</s>", "max_thinking_tokens": 100, "reasoning": {"effort": "low"}}
    assert load_recipe("demo", {FIELD: fields}).models.writer.extra_body == fields
