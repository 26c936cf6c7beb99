"""Which texts are shown to the gates under which labels, so that it is known beforehand what a gate should say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from assets.amemgym.answers.variants import Variant
from assets.amemgym.audits.case import Asked, Case, Item
from assets.amemgym.records.answer import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from assets.records.gate import GateName

T = TypeVar("T")
ACCEPTED = "accepted"


@dataclass(frozen=True)
class Plant:
    """A text under a label. `right`: the label is the one that the text was accepted under."""

    item_id: str
    kind: str
    text: str
    label: dict[str, str]
    right: bool = False


@dataclass(frozen=True)
class AnswerPlant:
    """An answer under the label of a variant of `asked`."""

    asked: Asked
    variant: Variant
    plant: Plant


def query_plants(case: Case) -> list[Plant]:
    """Queries with one value of their label replaced, by the one before or any other; other queries; right ones.

    A query under the label of a session of other variables is a wrong one as far as queries tell no more than they
    should, which the exposure gate has looked after.
    """
    rng, items = case.rng("decoys", "exposure"), case.items
    right = [Plant(item.item_id, ACCEPTED, item.session.query, item.session.exposed_states, right=True) for item in items]
    wrong = (
        [plant for item in items for plant in _old_values(case, item)],
        [_other_value(case, item, rng) for item in items],
        [plant for item in items for plant in _other_queries(item, items, rng)],
    )
    return _sampled(wrong, right, rng, count=case.recipe.audit.decoys)


def _old_values(case: Case, item: Item) -> Iterable[Plant]:
    if item.period == 0:
        return
    before, exposed = case.trajectory.periods[item.period - 1].state, item.session.exposed_states
    for name, value in exposed.items():
        if before[name] != value:
            yield Plant(item.item_id, "old_value", item.session.query, {**exposed, name: before[name]})


def _other_value(case: Case, item: Item, rng: SeededRandom) -> Plant:
    exposed = item.session.exposed_states
    name = rng.choice(list(exposed))
    other = rng.choice([value for value in case.schema.choices[name] if value != exposed[name]])
    return Plant(item.item_id, "other_value", item.session.query, {**exposed, name: other})


def _other_queries(item: Item, items: Sequence[Item], rng: SeededRandom) -> Iterable[Plant]:
    label = item.session.exposed_states
    others = [other for other in items if not label.keys() & other.session.exposed_states.keys()]
    if others:
        yield Plant(item.item_id, "other_query", rng.choice(others).session.query, label)


def answer_plants(case: Case, *, gate: GateName) -> list[AnswerPlant]:
    """Answers under the variant that differs least from their own, answers to other questions, and right ones."""
    rng = case.rng("decoys", gate)
    pairs = [(asked, choice) for asked in case.questions for choice in asked.answers.choices]
    right = [_labelled(asked, asked.variant(choice), choice.answer, ACCEPTED) for asked, choice in pairs]
    wrong = (
        [_under_the_nearest(asked, choice, rng) for asked, choice in pairs],
        [plant for asked, choice in pairs for plant in _to_other_questions(case, asked, choice, rng)],
    )
    return _sampled(wrong, right, rng, count=case.recipe.audit.decoys)


def _under_the_nearest(asked: Asked, choice: AnswerChoice, rng: SeededRandom) -> AnswerPlant:
    others = [variant for variant in rng.shuffled(asked.sheet.variants) if variant.values != choice.state]
    nearest = min(others, key=lambda other: sum(one != own for one, own in zip(other.values, choice.state, strict=True)))
    return _labelled(asked, nearest, choice.answer, "nearest_variant")


def _to_other_questions(case: Case, asked: Asked, choice: AnswerChoice, rng: SeededRandom) -> Iterable[AnswerPlant]:
    own = set(asked.sheet.question.required_info)
    others = [
        other.answer
        for question in case.questions
        if not own & set(question.sheet.question.required_info)
        for other in question.answers.choices
    ]
    if others:
        yield _labelled(asked, asked.variant(choice), rng.choice(others), "other_question")


def _labelled(asked: Asked, variant: Variant, text: str, kind: str) -> AnswerPlant:
    item_id = f"{asked.answers.question_id}-v{asked.sheet.variants.index(variant) + 1}"
    return AnswerPlant(asked, variant, Plant(item_id, kind, text, variant.assignment, right=kind == ACCEPTED))


def _sampled(wrong: Iterable[Sequence[T]], right: Sequence[T], rng: SeededRandom, *, count: int) -> list[T]:
    """So many wrong ones in all, of each kind about as many, and half as many right ones.

    Kinds take turns in an order of their own for each user, so that few per user are all kinds over the users.
    """
    rows = zip_longest(*(rng.shuffled(kind) for kind in rng.shuffled(list(wrong))))
    mixed = [plant for row in rows for plant in row if plant is not None]
    return [*mixed[:count], *rng.sample(right, -(-count // 2))]
