"""Decoys: texts under labels of which the truth is known, judged by the stages' own gates to measure the gates' errors.

A labelled probe is such a text with its label; what the gate said of it is recorded as a decoy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from assets.amemgym.answers.gates import choice_gate, recovery_gate
from assets.amemgym.answers.variants import Variant
from assets.amemgym.audits.user_parts import DECOY_DRAFT, AuditedQuestion, AuditedSession, AuditedUser
from assets.amemgym.records.audit import Decoy
from assets.amemgym.records.question import AnswerChoice
from assets.amemgym.session_queries.drafts import QueryDraft
from assets.amemgym.session_queries.exposure_gate import exposure_gate
from assets.engine.async_calls import gather_all
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, GateAttempt, collect_votes, enough_accept

T = TypeVar("T")
ACCEPTED = "accepted"


@dataclass(frozen=True)
class LabelledProbe:
    """A text under a label. `right`: the label is the one that the text was accepted under."""

    item_id: str
    kind: str
    text: str
    label: dict[str, str]
    right: bool = False


@dataclass(frozen=True)
class LabelledAnswer:
    """An answer under the label of a variant of `question`."""

    question: AuditedQuestion
    variant: Variant
    probe: LabelledProbe


async def judge_decoys(user: AuditedUser) -> list[Decoy]:
    """Show every labelled probe to its gate; the calls are samples of their own."""
    gates = [(_exposure(user, probe), probe) for probe in query_probes(user)]
    gates += [(recovery_gate(one.question.context, one.variant), one.probe) for one in answer_probes(user, gate="recovery")]
    if user.recipe.gates.reverse:
        gates += [(_choice(one), one.probe) for one in answer_probes(user, gate="choice")]
    return await gather_all(*(_judge(user, gate, probe, number) for number, (gate, probe) in enumerate(gates)))


async def _judge(user: AuditedUser, gate: Gate, probe: LabelledProbe, number: int) -> Decoy:
    # A text may stand under several labels, which the judge is not shown: the number makes their readings different ones.
    attempt = GateAttempt(probe.item_id, probe.text, draft=DECOY_DRAFT, refinement=number)
    votes = await collect_votes(gate, attempt, recipe=user.recipe)
    return Decoy(
        gate=gate.name,
        item_id=probe.item_id,
        kind=probe.kind,
        text=probe.text,
        label=probe.label,
        right=probe.right,
        accepted=enough_accept(votes, user.recipe.gates),
        readings=len(votes),
    )


def _exposure(user: AuditedUser, probe: LabelledProbe) -> Gate:
    async def never(*_: object) -> str:
        raise AssertionError("A decoy is judged and never written anew.")

    return exposure_gate(user.context, QueryDraft(probe.item_id, probe.text, probe.label), never)


def _choice(answer: LabelledAnswer) -> Gate:
    """The choice gate of a variant whose option has the probe's text; where that is a sibling's, they change places."""
    question, text = answer.question, answer.probe.text
    own = question.texts[question.context.variants.index(answer.variant)]
    swapped = {own: text, text: own}
    return choice_gate(question.context, answer.variant, [swapped.get(one, one) for one in question.texts])


def query_probes(user: AuditedUser) -> list[LabelledProbe]:
    """Queries with one value of their label replaced, by the one before or any other; other queries; right ones.

    A query under the label of a session of other variables is a wrong one as far as queries tell no more than they
    should, which the exposure gate has seen to.
    """
    rng, items = user.rng("decoys", "exposure"), user.session_items
    right = [
        LabelledProbe(item.item_id, ACCEPTED, item.session.query, item.session.exposed_states, right=True) for item in items
    ]
    wrong = (
        [probe for item in items for probe in _old_values(user, item)],
        [_other_value(user, item, rng) for item in items],
        [probe for item in items for probe in _other_queries(item, items, rng)],
    )
    return _mixed(wrong, right, rng, count=user.recipe.audit.decoys)


def _old_values(user: AuditedUser, item: AuditedSession) -> Iterable[LabelledProbe]:
    if item.period == 0:
        return
    before, exposed = user.trajectory.periods[item.period - 1].state, item.session.exposed_states
    for name, value in exposed.items():
        if before[name] != value:
            yield LabelledProbe(item.item_id, "old_value", item.session.query, {**exposed, name: before[name]})


def _other_value(user: AuditedUser, item: AuditedSession, rng: SeededRandom) -> LabelledProbe:
    exposed = item.session.exposed_states
    name = rng.choice(list(exposed))
    other = rng.choice([value for value in user.schema.choices[name] if value != exposed[name]])
    return LabelledProbe(item.item_id, "other_value", item.session.query, {**exposed, name: other})


def _other_queries(item: AuditedSession, items: Sequence[AuditedSession], rng: SeededRandom) -> Iterable[LabelledProbe]:
    label = item.session.exposed_states
    others = [other for other in items if not label.keys() & other.session.exposed_states.keys()]
    if others:
        yield LabelledProbe(item.item_id, "other_query", rng.choice(others).session.query, label)


def answer_probes(user: AuditedUser, *, gate: str) -> list[LabelledAnswer]:
    """Answers under the variant that differs least from their own, answers to other questions, and right ones."""
    rng = user.rng("decoys", gate)
    pairs = [(question, choice) for question in user.questions for choice in question.answers.choices]
    right = [_labelled(question, question.variant(choice), choice.answer, ACCEPTED) for question, choice in pairs]
    wrong = (
        [_under_the_nearest(question, choice, rng) for question, choice in pairs],
        [probe for question, choice in pairs for probe in _to_other_questions(user, question, choice, rng)],
    )
    return _mixed(wrong, right, rng, count=user.recipe.audit.decoys)


def _under_the_nearest(question: AuditedQuestion, choice: AnswerChoice, rng: SeededRandom) -> LabelledAnswer:
    others = [variant for variant in rng.shuffled(question.context.variants) if variant.values != choice.state]
    nearest = min(others, key=lambda other: sum(one != own for one, own in zip(other.values, choice.state, strict=True)))
    return _labelled(question, nearest, choice.answer, "nearest_variant")


def _to_other_questions(
    user: AuditedUser, question: AuditedQuestion, choice: AnswerChoice, rng: SeededRandom
) -> Iterable[LabelledAnswer]:
    own = set(question.context.question.required_info)
    others = [
        other.answer
        for another in user.questions
        if not own & set(another.context.question.required_info)
        for other in another.answers.choices
    ]
    if others:
        yield _labelled(question, question.variant(choice), rng.choice(others), "other_question")


def _labelled(question: AuditedQuestion, variant: Variant, text: str, kind: str) -> LabelledAnswer:
    item_id = f"{question.answers.question_id}-v{question.context.variants.index(variant) + 1}"
    return LabelledAnswer(question, variant, LabelledProbe(item_id, kind, text, variant.assignment, right=kind == ACCEPTED))


def _mixed(wrong: Iterable[Sequence[T]], right: Sequence[T], rng: SeededRandom, *, count: int) -> list[T]:
    """So many wrong ones in all, of each kind about as many, and half as many right ones.

    Kinds take turns in an order of their own for each user, so that few per user are all kinds over the users.
    """
    rows = zip_longest(*(rng.shuffled(kind) for kind in rng.shuffled(list(wrong))))
    mixed = [probe for row in rows for probe in row if probe is not None]
    return [*mixed[:count], *rng.sample(right, -(-count // 2))]
