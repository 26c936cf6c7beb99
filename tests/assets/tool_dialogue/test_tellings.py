"""A writer's templates of sessions are checked before anything is told with them."""

import json
from dataclasses import dataclass, field, replace

import pytest

from assets.llm.ports import ModelReply, ModelRequest
from assets.tool_dialogue.desk import ServiceDesk
from assets.tool_dialogue.domain import domain_in
from assets.tool_dialogue.tellings import Telling, ask_tellings, sentence_problems, telling_problems
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.tool_dialogues import drawn, tool_recipe

PARTS = (" ".join(["{subject} spoke to {clerk} for long."] * 12) + " {calls}", "Read back on {weekday}.")
FRAMES = ("{clause}, {as_of}.",)


def desk() -> ServiceDesk:
    world = drawn(tool_recipe())[0]
    return ServiceDesk(domain_in(world.company), world.errand.customer)


@pytest.mark.parametrize(
    ("title", "parts", "frames", "problem"),
    [
        ("Call of {date}", PARTS, FRAMES, ""),
        ("A call", PARTS, FRAMES, "the title must have"),
        ("Call of {date}", PARTS[:1], FRAMES, "2 to 3 parts"),
        ("Call of {date}", (PARTS[1], "{subject} and {clerk}"), FRAMES, "the parts must have {calls}"),
        ("Call of {date}", (*PARTS, "More was said in 1999."), FRAMES, "number or a brace"),
        ("Call of {date}", (*PARTS, "{weather} it was."), FRAMES, "the slots of the parts are"),
        ("Call of {date}", PARTS, ("It is known that {clause}.",), "the frame"),
        ("Call of {date}", (*PARTS, "It is irrelevant."), FRAMES, "the word 'irrelevant' would tell"),
    ],
)
def test_a_template_has_its_slots_and_no_facts_of_its_own(
    title: str, parts: tuple[str, ...], frames: tuple[str, ...], problem: str
) -> None:
    problems = " ".join(telling_problems(Telling(title=title, parts=parts, frames=frames), desk()))
    assert problem in problems
    assert bool(problems) == bool(problem)


@pytest.mark.parametrize(("sentence", "fine"), [("{subject} has {value}", True), ("{subject} has it", False)])
def test_a_wording_of_a_statement_is_a_clause_with_both_slots(sentence: str, fine: bool) -> None:
    assert (not list(sentence_problems(sentence))) == fine


@dataclass
class ForgetsOne(EmbeddedModel):
    """The embedded model, but the first document of each set of three has no date."""

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
    tellings = run(ask_tellings(desk(), task_id="t", recipe=tool_recipe(num_tellings=3), model=model))
    assert {len(documents) for documents in tellings.documents.values()} == {3}
    assert model.counts.count(3) == model.counts.count(1) == len(ServiceDesk.document_kinds)
