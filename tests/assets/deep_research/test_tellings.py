"""A writer's templates are checked before anything is told with them."""

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

import jsonschema
import pytest

from assets.deep_research.fiction import WORLD, form_of
from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelReply, ModelRequest
from assets.memory_items.world.tellings import Telling, Tellings, ask_tellings, sentence_problems, telling_problems
from pipelines.embedded.deep_research.sentences import FRAMES as FRAMES_OF_FORMS
from pipelines.embedded.deep_research.writers import document_wordings
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.research_tasks import made_task, small_recipe

BEGINNING = " ".join(["{subject} is much talked about."] * 30)
PARTS = (BEGINNING, "More was said later by {author}.")
FRAMES = ("{clause}, {as_of}.",)


@pytest.mark.parametrize(
    ("title", "parts", "problem"),
    [
        ("On {subject}", PARTS, ""),
        ("On {subject}, by {author}", (*PARTS, "Signed."), ""),
        ("On it", PARTS, "the title must have"),
        ("On {subject}", (BEGINNING,), "2 to 3 parts"),
        ("On {subject}", (*PARTS, "Signed.", "Sealed."), "2 to 3 parts"),
        ("On {subject}", (BEGINNING, " "), "none of them empty"),
        ("On {subject}", (BEGINNING, "More was said in 1999."), "number or a brace"),
        ("On {subject}", ("{subject} is known.", "More was said."), "tokens"),
        ("On {subject}", (BEGINNING, "{weather} it was."), "the slots of the parts are"),
        ("Noise on {subject}", PARTS, "the word 'noise' would tell"),
        ("On {subject}", (BEGINNING, "It is irrelevant."), "the word 'irrelevant' would tell"),
    ],
)
def test_a_template_of_a_document_has_its_slots_and_no_facts_of_its_own(
    title: str, parts: tuple[str, ...], problem: str
) -> None:
    telling = Telling(title=title, parts=parts, frames=FRAMES)
    problems = list(telling_problems(telling, WORLD, kind="minutes on a firm"))
    assert problem in " ".join(problems)
    assert bool(problems) == bool(problem)


@pytest.mark.parametrize("frames", [(), ("It is known that {clause}.",), ("{clause}, {as_of} and {place}.",)])
def test_a_frame_says_from_when_a_fact_is_and_rows_of_a_table_need_none(frames: tuple[str, ...]) -> None:
    telling = Telling(title="On {subject}", parts=PARTS, frames=frames)
    assert "frame" in " ".join(telling_problems(telling, WORLD, kind="letter on a firm"))
    assert list(telling_problems(telling.model_copy(update={"frames": ()}), WORLD, kind="table on a firm")) == []


@pytest.mark.parametrize(
    ("sentence", "fine"),
    [
        ("{subject} is made by {value}", True),
        ("{subject} is made by somebody", False),
        ("{subject} is made by {value}, {as_of}", False),
        ("{subject} is made by {value}.", False),
        ("{subject} is made by {value} since 1999", False),
        ("{subject} is made by {value}, now superseded", False),
    ],
)
def test_a_wording_of_a_statement_is_a_clause_with_both_slots(sentence: str, fine: bool) -> None:
    assert (not list(sentence_problems(sentence))) == fine


@pytest.mark.parametrize("kind", WORLD.document_kinds)
def test_every_kind_of_document_is_written_in_many_ways_that_can_be_used(kind: str) -> None:
    wordings = document_wordings()[kind]
    frames = FRAMES_OF_FORMS.get(form_of(kind), ())
    texts = set[str]()
    for number in range(40):
        telling = Telling(title=wordings.titles[0], parts=tuple(wordings.parts(SeededRandom(kind, number))), frames=frames)
        assert list(telling_problems(telling, WORLD, kind=kind)) == []
        texts.add(" ".join(telling.parts))
    assert len(texts) > 30


def test_documents_hold_their_statements_where_they_say() -> None:
    sources = made_task().sources
    for document in (*sources.documents, *sources.filler):
        assert document.statements
        for placed in document.statements:
            assert document.text[placed.start : placed.end] == placed.statement.value
        assert "{" not in document.title + document.text


def test_a_slot_for_a_number_has_another_one_at_each_place_and_a_person_stays_the_same() -> None:
    task = made_task()
    plan = task.world.plans[0]
    numbers = "Of {count} some {few} were late, and of {count} more {few}, says {author}."
    telling = Telling(title="On {subject}", parts=(*PARTS, numbers), frames=FRAMES)
    clauses = dict.fromkeys((relation.name for relation in WORLD.relations), ("{value} belongs to {subject}",))
    told = Tellings(WORLD, {plan.kind: [telling]}, clauses).document(plan, role="filler", path=("numbers",))
    first, few, second, other = re.search(r"Of (\d+) some (\w+) were late, and of (\d+) more (\w+), says", told.text).groups()  # pyright: ignore[reportOptionalMemberAccess]
    assert first != second
    assert few != other
    assert len(set(re.findall(r"(?:later by|says) ([A-Z]\w+ \w+)\.", told.text))) == 1


@dataclass(frozen=True)
class Listening:
    """The embedded model, and the schema and the reply of each call."""

    heard: list[tuple[dict[str, Any], Any]] = field(default_factory=list[tuple[dict[str, Any], Any]])

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await EmbeddedModel().complete(request)
        assert request.json_schema
        self.heard.append((request.json_schema, json.loads(reply.text)))
        return reply


def heard_of_tellings() -> list[tuple[dict[str, Any], Any]]:
    model = Listening()
    run(ask_tellings(WORLD, task_id="t", recipe=small_recipe(num_tellings=3), model=model))
    return model.heard


def test_the_schema_of_a_set_of_documents_or_sentences_says_how_many_are_wanted() -> None:
    for schema, _ in heard_of_tellings():
        (set_of,) = schema["properties"].values()
        assert (set_of["minItems"], set_of["maxItems"]) == (3, 3)


def test_a_server_that_enforces_the_schema_lets_no_slot_of_a_line_be_forgotten() -> None:
    for schema, reply in heard_of_tellings():
        jsonschema.validate(reply, schema)
        (key,) = schema["properties"]
        line = schema["properties"][key]["items"]
        title = line["properties"]["title"] if key == "documents" else line
        unusable = ["It is known", "{clause}, {as_of}.", "{subject} of 1999 and {value}"]
        if key == "sentences":
            unusable.append("{subject} {subject} {value} {value}")
        for text in unusable:
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(text, title)


@dataclass
class ForgetsOne(EmbeddedModel):
    """The embedded model, but the first document of each set of three says nothing of its subject."""

    counts: list[int] = field(default_factory=list[int])

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await super().complete(request)
        content = json.loads(reply.text)
        documents = content.get("documents", [])
        self.counts.append(len(documents))
        if len(documents) == 3:
            documents[0]["title"] = "Untitled"
        return replace(reply, text=json.dumps(content))


def test_of_a_set_with_one_unusable_document_the_others_are_kept_and_one_is_asked_for() -> None:
    model = ForgetsOne()
    tellings = run(ask_tellings(WORLD, task_id="t", recipe=small_recipe(num_tellings=3), model=model))
    assert {len(documents) for documents in tellings.documents.values()} == {3}
    assert model.counts.count(3) == model.counts.count(1) == len(WORLD.document_kinds)
