"""An error is understood in the shape in which each kind of server sends it; what it teaches is told once, and unlearned."""

import asyncio
import json
from dataclasses import replace

import pytest

from assets.llm.ports import EndpointError, ModelReply, RequestFailed
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.limits.reply_room import ReplyRoom, RoomLimit, room_limit_in
from tests.pipelines.llm.scripted_server import CLOSED_SCHEMA, Answer, ScriptedServer, a_request, completion, fault, in_process

ROOMY = replace(a_request(schema=CLOSED_SCHEMA), max_output_tokens=8192)
INNER = json.dumps({"error": {"message": "json_schema is not supported", "type": "invalid_request_error"}})


def ask(server: ScriptedServer, *texts: str) -> list[ModelReply]:
    """Ask one text after another by one client."""

    async def all_of_them() -> list[ModelReply]:
        client = ModelClient(in_process(server))
        replies = list[ModelReply]()
        for text in texts or ("Who?",):
            replies.append(await client.complete(replace(a_request(text, schema=CLOSED_SCHEMA), max_output_tokens=8192)))
        return replies

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(400, [{"error": {"code": 400, "message": "Bad field.", "status": "INVALID_ARGUMENT"}}]), "400: Bad field"),
        (Answer(400, {"object": "error", "message": "Bad field.", "type": "BadRequestError", "code": 400}), "400: Bad field"),
        (Answer(400, {"error": "bad field"}), "400: bad field"),
        (Answer(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "Bad field"}}), "400: Bad field"),
        (Answer(400, {"errors": [{"message": "bad"}, {"message": "field"}]}), "400: bad; field"),
        (Answer(400, {"success": False, "msg": "bad field"}), "400: bad field"),
        (
            Answer(400, {"error": {"message": "Provider returned error", "metadata": {"raw": '{"error":"bad field"}'}}}),
            "bad field",
        ),
        (Answer(400, "bad field"), "400: bad field"),
        (Answer(400, 'event: error\ndata: {"error": {"message": "bad field"}}\n\n'), "400: bad field"),
        (Answer(422, {"detail": [{"loc": ["body", "n"], "msg": "Bad field", "input": {"seed": 1}}]}), "422: n: Bad field"),
        (Answer(400, {"fault": {"faultstring": "bad field"}}), "400: bad field"),
        (Answer(400, {"base_resp": {"status_code": 2013, "status_msg": "bad field"}}), "400: bad field"),
        (Answer(400, {"odd": {"shape": 1}}), '400: {"odd": {"shape": 1}}'),
        (Answer(200, {"error": {"code": 400, "message": "bad field"}}), "400: bad field"),
        (Answer(200, {"error": {"code": "invalid_request_error", "message": "bad field"}}), "400: bad field"),
        (Answer(200, 'data: {"error": {"code": 400, "message": "bad field"}}\n\n'), "400: bad field"),
        (Answer(200, {"error": {"code": 401, "message": "No key"}}), "does not accept the API key"),
        (Answer(200, {"error": {"code": 402, "message": "No credits"}}), "no quota left"),
        (Answer(400, {"error": {"message": "Your credit balance is too low to access the API."}}), "no quota left"),
    ],
)
def test_the_words_of_an_error_are_found_in_its_body(answer: Answer, words: str) -> None:
    with pytest.raises(EndpointError) as caught:
        ask(ScriptedServer(always=answer))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, {"error": {"code": 429, "message": "slow down"}}),
        Answer(200, {"error": {"type": "overloaded_error", "message": "Overloaded"}}),
        Answer(200, [{"error": {"code": 503, "status": "UNAVAILABLE", "message": "later"}}]),
        Answer(200, {"choices": [], "usage": {"prompt_tokens": 3}}),
        Answer(200, {"choices": None}),
        Answer(200, {"choices": [{"message": {"content": '{"na'}, "error": {"code": 502}, "finish_reason": "error"}]}),
        Answer(200, {"choices": [{"message": {"content": '{"na'}, "finish_reason": "stop"}], "error": {"message": "lost"}}),
        completion('{"na', finish="error"),
        completion("half a te", finish="abort"),
        completion("half a te", finish="insufficient_system_resource"),
        completion("half a te", finish="a_new_word"),
        fault(400, "Failed to validate JSON. See 'failed_generation'.", code="json_validate_failed", failed_generation="{"),
        fault(400, "Generated JSON does not match the expected schema. Please adjust your prompt."),
        fault(400, "Model output could not be parsed: it is not valid for the schema."),
    ],
)
def test_what_may_pass_is_tried_again_and_costs_no_schema(answer: Answer) -> None:
    server = ScriptedServer()
    server.says(answer)
    (reply, _) = ask(server, "one", "two")
    assert (reply.text, reply.finish) == ('{"name": "Ada"}', "stop")
    assert [asked["response_format"] for asked in server.asked] == [server.asked[0]["response_format"]] * 3


@pytest.mark.parametrize(
    "answer",
    [
        fault(400, "Content Exists Risk", type="invalid_request_error"),
        fault(403, "Input was flagged", code="403"),
        Answer(403, {"error": {"code": 403, "message": "no", "metadata": {"reasons": ["x"], "flagged_input": "Who?"}}}),
        Answer(400, {"error": {"message": "no", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
        Answer(400, {"code": "data_inspection_failed", "message": "no"}),
        completion("", finish="SAFETY"),
        Answer(body={"choices": [{"message": {"content": [{"type": "refusal", "refusal": "No."}]}, "finish_reason": "stop"}]}),
    ],
)
def test_what_a_filter_stops_is_a_refusal(answer: Answer) -> None:
    server = ScriptedServer(always=answer)
    assert ask(server)[0].finish == "refusal"
    assert len(server.asked) == 1


@pytest.mark.parametrize("finish", ["MAX_TOKENS", "length", "model_length", "max_output_tokens"])
def test_a_reply_that_filled_its_room_is_cut_off_whatever_a_server_calls_it(finish: str) -> None:
    assert ask(ScriptedServer(always=completion("half", finish=finish)))[0].finish == "length"


@pytest.mark.parametrize("finish", ["STOP", "end_turn", "eos", "tool_calls", "eos_token", "stop_sequence", ""])
def test_a_reply_is_finished_whatever_a_server_calls_it(finish: str) -> None:
    assert ask(ScriptedServer(always=completion(finish=finish)))[0].finish == "stop"


def test_a_reply_without_a_reason_that_filled_its_room_is_cut_off() -> None:
    body = {"choices": [{"message": {"content": "half"}}], "usage": {"prompt_tokens": 1, "completion_tokens": 8192}}
    assert ask(ScriptedServer(always=Answer(body=body)))[0].finish == "length"


def test_the_reason_of_a_reply_that_never_finishes_is_told() -> None:
    with pytest.raises(RequestFailed, match=r"not finished \(its finish reason is 'abort'\)"):
        ask(ScriptedServer(always=completion("half", finish="abort")))


def test_a_wait_that_stands_in_the_body_is_kept() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.3s"}]
    server = ScriptedServer()
    server.says(Answer(429, [{"error": {"code": 429, "message": "Quota exceeded", "details": details}}]))
    server.says(fault(429, "Rate limit reached. Please try again in 300ms."))
    server.says(fault(429, "Requests have exceeded the call rate limit. Please retry after 1 second.", code="429"))
    ask(server)
    assert server.times[1] - server.times[0] >= 0.3
    assert server.times[2] - server.times[1] >= 0.3
    assert server.times[3] - server.times[2] >= 1


def test_what_is_learned_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    server = ScriptedServer()
    server.says(Answer(400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": INNER}}}))
    ask(server, "one", "two", "three")
    told = [message for message in caplog.messages if "rejected a call and took it otherwise" in message]
    assert len(told) == 1
    assert "calls of 'm-1' ask for JSON schemas that are not strict in place of strict JSON schemas from now on" in told[0]


def test_an_error_of_one_request_changes_nothing_for_others(caplog: pytest.LogCaptureFixture) -> None:
    server = ScriptedServer()
    server.says(fault(400, "Something about the schema went wrong."))
    ask(server, "one", "two", "three")
    first, second, *later = [asked["response_format"] for asked in server.asked]
    assert first != second
    assert later == [first, first]
    assert not caplog.messages


def test_what_a_server_rejects_a_second_time_is_learned() -> None:
    server = ScriptedServer()
    server.says(fault(400, "Bad grammar."), completion(), fault(400, "Bad grammar."))
    ask(server, "one", "two", "three")
    assert len(server.asked) == 5
    assert server.asked[3]["response_format"] == server.asked[4]["response_format"] == server.asked[1]["response_format"]


def test_what_did_not_help_is_not_learned() -> None:
    server = ScriptedServer()
    server.says(*[fault(400, "schema: roles must alternate")] * 4)
    with pytest.raises(EndpointError, match="roles must alternate"):
        asyncio.run(ModelClient(in_process(server)).complete(ROOMY))
    client = ModelClient(in_process(server))
    server.says(*[fault(400, "schema: roles must alternate")] * 4)
    with pytest.raises(EndpointError):
        asyncio.run(client.complete(ROOMY))
    asyncio.run(client.complete(ROOMY))
    assert server.asked[-1] == server.asked[0]


@pytest.mark.parametrize(
    ("words", "room"),
    [
        ("max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.", 4096),
        ("max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for this model", 4096),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", 4096),
        ("Range of max_tokens should be [1, 2000]", 2000),
        ("`max_completion_tokens` must be less than or equal to `4,096`, the maximum value", 4096),
        ("max_output_tokens: the supported range is from 1 (inclusive) to 8192 (exclusive)", 8191),
        ("The maximum tokens you requested exceeds the model limit of 4096.", 4096),
        ("Requests with max_tokens > 4096 must have stream=true", 4096),
        ("max_tokens 8192 is more than 4096, which is what we serve", 4096),
        (
            "'max_tokens' is too large: 8192. The context length is 8192 and your request has 1200 tokens (8192 > 8192 - 1200)",
            6992,
        ),
        (
            "maximum context length is 8192 tokens. However, you requested 9392 (1200 in the messages, 8192 in the completion)",
            6992,
        ),
        ("input length and `max_tokens` exceed context limit: 1200 + 8192 > 8192, decrease input length", 6992),
        ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 1200 `inputs` tokens and 8192 `max_new_tokens`", 6993),
        ("context length of 8192 tokens. You requested 9392: 1200 tokens from the input messages and 8192 for the reply", 6992),
    ],
)
def test_the_room_that_stands_in_an_error_is_asked_for(words: str, room: int) -> None:
    server = ScriptedServer()
    server.says(fault(400, words))
    ask(server, "one", "two")
    assert [asked["max_tokens"] for asked in server.asked] == [8192, room, room]
    assert server.asked[0].keys() == server.asked[2].keys()


def test_an_error_of_something_else_names_no_room() -> None:
    assert room_limit_in("messages: at most 10 items", asked=8192) is None
    assert room_limit_in("temperature must be less than or equal to 1", asked=8192) is None


def test_a_longer_prompt_gets_what_the_context_leaves_it() -> None:
    short, long = (
        replace(a_request("tea " * 100), max_output_tokens=8192),
        replace(a_request("tea " * 3000), max_output_tokens=8192),
    )
    room = ReplyRoom().after(RoomLimit(context=8192, input=200), request=short)
    assert room is not None
    assert room.of(short) == 7992
    assert room.of(long) < 8192 - 3000


def test_an_empty_message_of_the_assistant_is_never_sent() -> None:
    server = ScriptedServer()
    message = a_request().messages[1]
    silent = replace(message, role="assistant", content=" ")
    asyncio.run(ModelClient(in_process(server)).complete(replace(a_request(), messages=(message, silent, message))))
    assert server.asked[0]["messages"] == [{"role": "user", "content": "Who?\n\nWho?"}]
