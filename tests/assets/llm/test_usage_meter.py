"""Who took what: counts of one user's calls reach the asset that needs them, whenever it takes the work over."""

from assets.llm.ports import CallLabels, ModelReply, ModelRequest
from assets.llm.usage import Meter, MeteredModel, Usage
from prompts.template import Message
from tests.support.coroutines import run
from tests.support.scripted_model import ScriptedModel

REPLY = ModelReply(text="{}", finish="stop", input_tokens=10, output_tokens=2, cost_usd=0.25)


def request(attempt: int) -> ModelRequest:
    messages = (Message("system", "Answer."), Message("user", "What?"))
    labels = CallLabels(prompt="test/ask", attempt=attempt)
    return ModelRequest("m", messages, 0.0, 100, "test", None, seed=1, sample=0, labels=labels)


def test_calls_and_reasks_are_counted_and_calls_by_user() -> None:
    kept = ModelReply(text="{}", finish="stop", input_tokens=10, output_tokens=2, repeated=True)
    meter = Meter()
    model = MeteredModel(ScriptedModel({"test/ask": [REPLY, REPLY, kept]}), CallLabels(item_id="zoe"), meter)
    for attempt in range(3):
        run(model.complete(request(attempt)))
    assert meter.items == {"zoe": 3}
    assert (meter.usage.calls, meter.usage.reasks) == (3, 2)
    assert meter.repeated == 1
    assert meter.cost_usd == 0.5
    assert meter.waiting == 0


def test_a_call_without_reply_is_awaited_in_every_meter_above() -> None:
    asset, flight = Meter(), Meter()
    flight.wait(1)
    asset.take_over(flight)
    flight.wait(1)
    assert asset.waiting == 2
    flight.wait(-2)
    assert (asset.waiting, flight.waiting) == (0, 0)


def test_who_takes_work_over_counts_what_was_done_before_and_after() -> None:
    asset, flight = Meter(), Meter()
    flight.add(Usage(calls=1, input_tokens=5))
    flight.note("zoe", 1)
    asset.take_over(flight)
    flight.add(Usage(calls=1, input_tokens=7))
    flight.note("zoe", 1)
    assert asset.usage == Usage(calls=2, input_tokens=12)
    assert asset.items == {"zoe": 2}


def test_rows_store_what_is_the_same_in_every_run_over_the_same_replies() -> None:
    usage = Usage(calls=2, reasks=1, input_tokens=30, output_tokens=4, cached_input_tokens=20, nano_usd=None)
    assert usage.model_dump_json() == '{"calls":2,"reasks":1,"input_tokens":30,"output_tokens":4}'
    assert (usage + usage).cached_input_tokens == 40
    assert (usage + Usage(nano_usd=5)).usd is None
