"""The paper's memory implementations (section 4.1): what each remembers, and that answering changes none of it."""

from datetime import datetime

import pytest

from assets.llm.ports import ModelRequest
from pipelines.evaluation.assistant import Assistant, Observer, QuestionPrompt
from pipelines.evaluation.assistants.chat import trim_to_context
from pipelines.evaluation.assistants.registry import configurations, make_assistant
from pipelines.evaluation.records import AssistantSpec
from prompts.template import Message
from tests.evaluation.scripted_evaluation import HonestModel, tools
from tests.support.coroutines import run

AT = datetime(2020, 10, 1, 9, 30)
QUESTION = QuestionPrompt(text="What about tea?", about="tea", schema_name="chat")
KINDS = ("llm", "rag", "awe", "awi")


def made(kind: str, model: HonestModel, **settings: int) -> Assistant:
    """A new assistant of the kind."""
    return make_assistant(AssistantSpec(name=kind, kind=kind, settings=dict(settings)), tools(model))


async def talk(assistant: Assistant, *messages: str) -> None:
    for message in messages:
        await assistant.respond(message, at=AT)


def sent(model: HonestModel) -> list[str]:
    """The messages of the last call, the instructions first."""
    return [message.content for message in model.requests[-1].messages]


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_assistant_remembers_and_answers_the_same(kind: str) -> None:
    model = HonestModel()
    assistant, copy = made(kind, model), made(kind, model)
    run(talk(assistant, '{"tea": "green"}', "Hm.", '{"tea": "black"}', "Well.", "So."))
    copy.restore(assistant.snapshot())
    run(assistant.answer(QUESTION))
    first = sent(model)
    run(copy.answer(QUESTION))

    assert copy.snapshot() == assistant.snapshot()
    assert sent(model) == first
    assert run(copy.memories("tea")) == run(assistant.memories("tea"))


@pytest.mark.parametrize("kind", KINDS)
def test_answering_and_recalling_change_no_memory(kind: str) -> None:
    assistant = made(kind, HonestModel())
    run(talk(assistant, '{"tea": "green"}', "Hm.", "Well.", "So."))
    before = assistant.snapshot()
    run(assistant.answer(QUESTION))
    run(assistant.memories("tea"))

    assert assistant.snapshot() == before


@pytest.mark.parametrize("kind", KINDS)
def test_being_told_a_dialogue_leaves_the_memory_of_having_led_it(kind: str) -> None:
    model = HonestModel()
    leading, observing = made(kind, model), made(kind, model)
    run(talk(leading, '{"tea": "green"}', "Hm.", "Well."))
    assert isinstance(observing, Observer)
    for message in ('{"tea": "green"}', "Hm.", "Well."):
        run(observing.observe(message, "Noted.", at=AT))

    assert observing.snapshot() == leading.snapshot()


def test_native_sees_the_whole_conversation_until_it_has_no_room() -> None:
    model = HonestModel()
    run(talk(made("llm", model), "one", "two", "three"))
    assert sent(model) == ["one", "Noted.", "two", "Noted.", "three"]

    run(talk(made("llm", model, context_tokens=4), "one", "two", "three"))
    assert sent(model) == ["two", "Noted.", "three"]


def test_instructions_and_the_last_message_always_have_room() -> None:
    messages = [
        Message("system", "rules " * 9),
        Message("user", "old"),
        Message("assistant", "yes"),
        Message("user", "new " * 9),
    ]

    assert trim_to_context(messages, context_tokens=1) == (messages[0], messages[3])


def test_freq_messages_are_written_as_soon_as_ns_others_are_newer() -> None:
    model = HonestModel()
    assistant = made("rag", model, freq=2, ns=4)
    run(talk(assistant, "first", "second"))
    assert run(assistant.memories("first")) == []

    run(talk(assistant, "third"))
    assert run(assistant.memories("first")) == ["[2020-10-01 09:30:00] user: first", "[2020-10-01 09:30:00] assistant: Noted."]
    run(assistant.answer(QUESTION))
    assert sent(model)[1:] == ["second", "Noted.", "third", "Noted.", "What about tea?"]


def test_topk_memories_stand_before_the_conversation_the_oldest_first() -> None:
    model = HonestModel()
    assistant = made("rag", model, freq=2, ns=0, topk=2)
    run(talk(assistant, "zzz", "tea tea", "tea"))
    found = run(assistant.memories("tea"))

    assert [line.partition("] ")[2] for line in found] == ["user: tea tea", "user: tea"]
    run(assistant.answer(QUESTION))
    assert "user: tea tea" in sent(model)[0]


def test_awe_keeps_facts_and_changes_what_they_replace() -> None:
    def reconcile(request: ModelRequest) -> object:
        return {"memory": [{"id": "0", "text": "likes black tea", "event": "UPDATE"}]}

    model = HonestModel({"evaluation/reconcile_memories": reconcile})
    assistant = made("awe", model, freq=2, ns=0)
    run(talk(assistant, "likes green tea", "likes black tea"))

    assert run(assistant.memories("tea")) == ["[2020-10-01 09:30:00] likes black tea"]


def test_awe_forgets_what_it_is_told_to_delete() -> None:
    model = HonestModel({"evaluation/reconcile_memories": {"memory": [{"id": "0", "text": "", "event": "DELETE"}]}})
    assistant = made("awe", model, freq=2, ns=0)
    run(talk(assistant, "likes green tea", "no tea any more"))

    assert run(assistant.memories("tea")) == []


def test_awi_lays_new_notes_over_the_old() -> None:
    model = HonestModel()
    assistant = made("awi", model, freq=2, ns=0)
    run(talk(assistant, '{"tea": "green", "time": "noon"}', '{"tea": "black"}'))

    assert run(assistant.memories("anything")) == ["tea: black", "time: noon"]


@pytest.mark.parametrize(("kind", "prompt"), [("awe", "evaluation/extract_facts"), ("awi", "evaluation/update_notes")])
def test_a_memory_that_cannot_be_put_into_words_is_lost_and_nothing_breaks(kind: str, prompt: str) -> None:
    assistant = made(kind, HonestModel({prompt: "no JSON"}), freq=2, ns=0)
    run(talk(assistant, "likes green tea"))

    assert run(assistant.memories("tea")) == []


def test_the_papers_configurations_have_their_names() -> None:
    assert {"llm", "rag-2-4-30", "awe-2-4-30", "awe-8-4-30", "awi"} <= set(configurations())
    assert configurations()["awe-2-8-30"].settings == {"freq": 2, "ns": 8, "topk": 30}
