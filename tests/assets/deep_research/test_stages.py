"""What the stages refuse: a task that is not certain is given up, never released."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from assets.deep_research.fiction import WORLD
from assets.deep_research.lengths import fill_lengths
from assets.llm.ports import ModelReply, ModelRequest
from assets.memory_items.chains import follow_relations, settle_facts
from assets.memory_items.documents import ItemDocument, SizedItem, Turn
from assets.memory_items.final_ablation import certify_lengths
from assets.memory_items.world.writing import said_plainly
from assets.recipe.document_tasks import Eviction
from assets.records.base import ItemFailed
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.research_tasks import MadeTask, made_task, make, small_recipe, worlds
from tests.support.scripted_model import reply


@dataclass
class InterruptedModel(EmbeddedModel):
    """The embedded model, but for requests that give no usable reply."""

    fails: Callable[[ModelRequest], bool]

    async def complete(self, request: ModelRequest) -> ModelReply:
        return reply("no JSON") if self.fails(request) else await super().complete(request)


def test_a_reader_that_fails_certifies_nothing_and_its_votes_are_kept() -> None:
    task, recipe = made_task(), small_recipe(gates={"max_reasks": 0})
    model = InterruptedModel(lambda request: request.sample == 1)
    with pytest.raises(ItemFailed) as failed:
        run(certify_lengths(task.question, task.lengths, recipe=recipe, model=model))
    assert failed.value.reason == "call_failed"
    assert any("error" in vote.reading for vote in failed.value.gate_records)


def test_filler_that_holds_the_answer_is_not_used() -> None:
    task = made_task()
    hop = task.question.hops[-1]
    first = task.sources.filler[0]
    leaking = first.model_copy(update={"text": f"{first.text} Some speak of {hop.subject}."})
    sources = task.sources.model_copy(update={"filler": (leaking, *task.sources.filler[1:])})
    lengths = run(fill_lengths(sources, task.facts, task.question, task.turns, recipe=small_recipe(), model=EmbeddedModel()))
    assert leaking.document_id not in {one.document_id for sized in lengths.lengths for one in sized.documents}


def test_a_fact_that_stands_in_filler_too_is_found_by_a_reader() -> None:
    """Were the check by names blind, reading filler alone would still find a chain that leaked into it."""
    task = made_task()
    (sized,) = task.lengths.lengths
    turns = tuple(
        turn.model_copy(
            update={
                "documents": (
                    *turn.documents,
                    *(
                        one.model_copy(update={"role": "filler", "facts": (), "document_id": f"copy of {one.document_id}"})
                        for one in turn.documents
                        if one.facts
                    ),
                )
            }
        )
        for turn in sized.turns
    )
    leaked = task.lengths.model_copy(update={"lengths": (SizedItem(target_tokens=4000, tokens=4000, turns=turns),)})
    with pytest.raises(ItemFailed, match="filler only: 2 of 2 readings right"):
        run(certify_lengths(task.question, leaked, recipe=small_recipe(), model=EmbeddedModel()))


def test_a_document_that_no_longer_says_how_sure_it_is_is_found_by_a_reader() -> None:
    """What does not count is said once more as certified."""
    task = made_task()
    (sized,) = task.lengths.lengths
    turns: list[Turn] = []
    for turn in sized.turns:
        documents: list[ItemDocument] = []
        for document in turn.documents:
            again = f"\n\nThe certified register of 1 May 2040 says that {said_in(task, document.document_id)}."
            documents.append(document.model_copy(update={"text": document.text + again * (document.role == "superseded")}))
        turns.append(turn.model_copy(update={"documents": tuple(documents)}))
    changed = task.lengths.model_copy(update={"lengths": (sized.model_copy(update={"turns": tuple(turns)}),)})
    with pytest.raises(ItemFailed, match="all but filler: 0 of 2 readings right"):
        run(certify_lengths(task.question, changed, recipe=small_recipe(), model=EmbeddedModel()))


def said_in(task: MadeTask, document_id: str) -> str:
    plan = next((plan for plan in task.world.plans if plan.document_id == document_id), task.world.plans[0])
    return said_plainly(WORLD.relation(plan.statements[0].relation), plan.statements[0])


@pytest.mark.parametrize("number", [0, 1])
def test_a_value_that_is_written_over_is_not_certified(number: int) -> None:
    task = made_task()
    hop = task.question.hops[number]
    (sized,) = task.lengths.lengths
    turns: list[Turn] = []
    for turn in sized.turns:
        documents: list[ItemDocument] = []
        for document in turn.documents:
            text = document.text
            if hop.fact_id in document.facts:
                text = f"{text[: hop.start]}ZZZZ{text[hop.end :]}"
            documents.append(document.model_copy(update={"text": text}))
        turns.append(turn.model_copy(update={"documents": tuple(documents)}))
    changed = task.lengths.model_copy(update={"lengths": (sized.model_copy(update={"turns": tuple(turns)}),)})
    with pytest.raises(ItemFailed, match="The final bytes do not hold the fact"):
        run(certify_lengths(task.question, changed, recipe=small_recipe(), model=EmbeddedModel()))


def test_lengths_differ_in_filler_alone_and_a_window_holds_no_fact() -> None:
    recipe = small_recipe(lengths=(4000, 6000), eviction={"mode": "window", "window_turns": 2})
    task = run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel())).instance
    assert task.eviction == Eviction(mode="window", window_turns=2)
    short, long = ({one.document_id for one in sized.documents} for sized in task.lengths)
    assert short < long
    for sized in task.lengths:
        assert abs(sized.tokens - sized.target_tokens) <= 0.05 * sized.target_tokens
        assert not any(one.facts for turn in sized.turns[-2:] for one in turn.documents)


def test_what_is_certified_counts_before_what_is_later() -> None:
    task = made_task()
    hop = task.question.hops[0]
    later = hop.model_copy(update={"value": "Somewhere", "status": "unconfirmed", "as_of": hop.as_of})
    certified = hop.model_copy(update={"value": "Elsewhere", "status": "certified"})
    settled_by_status = settle_facts([hop.model_copy(update={"status": "plain"}), later])
    assert settled_by_status is not None
    assert settled_by_status.value == hop.value
    relations = [fact.relation for fact in task.question.hops]
    rest = [fact for fact in task.facts.facts if fact != hop]
    assert (
        follow_relations(hop.subject, relations[:1], [*rest, hop.model_copy(update={"status": "plain"}), certified])
        == "Elsewhere"
    )
    assert settle_facts([certified, certified.model_copy(update={"value": "Neither"})]) is None
