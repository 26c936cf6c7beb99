"""Decoys: texts under labels of which the truth is known, judged by the stages' own gates to measure the gates' errors.

A labelled probe is such a text with its label; what the gate said of it is recorded as a decoy.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import attrgetter
from typing import Any, TypeVar

from assets.amemgym.answers.gates import choice_gate, choose_answers, recover_variants, recovery_gate
from assets.amemgym.answers.variants import Variant
from assets.amemgym.audits.user_parts import DECOY_DRAFT, DRAFTS_APART, AuditedQuestion, AuditedSession, AuditedUser
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.audit import Decoy
from assets.amemgym.records.question import AnswerChoice
from assets.amemgym.session_queries.drafts import QueryDraft
from assets.amemgym.session_queries.exposure_gate import exposure_gate, queries_per_call
from assets.amemgym.state_trajectory.told_states import StoryText, texts_per_call
from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, Reader, decide, independent_groups

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

    @property
    def source(self) -> str:
        """The period or question that it belongs to."""
        return self.item_id[:3]


@dataclass(frozen=True)
class LabelledAnswer:
    """An answer under the label of a variant of `question`."""

    question: AuditedQuestion
    variant: Variant
    probe: LabelledProbe


@dataclass(frozen=True)
class ProbeTrial:
    """A labelled probe at its gates, each with its reader: which text of which item it plays, and all votes on it."""

    probe: LabelledProbe
    gates: Sequence[tuple[Gate[Any], Reader[Any]]]
    item: int
    place: int
    attempt: GateAttempt


GatedProbe = tuple[LabelledProbe, Sequence[tuple[Gate[Any], Reader[Any]]]]


async def judge_decoys(user: AuditedUser) -> list[Decoy]:
    """Let items through the whole loop whose writer never hits the label; the calls are samples of their own.

    A wrong item has as many texts as its draft may be refined and drafted anew, each wrong under a label of its own: were
    one accepted, the item would be. All are read whatever becomes of the one before. A right one is a single text.
    """
    queries = [[(probe, [_exposure(user, probe)]) for probe in item] for item in query_items(user)]
    answers = [[(one.probe, _answer_gates(user, one)) for one in item] for item in answer_items(user)]
    calls = [
        _judge(user, queries, size=queries_per_call(user.recipe.gates)),
        _judge(user, answers, size=user.recipe.gates.texts_per_call),
    ]
    if user.recipe.gates.consistency:
        stories = _story_probes(user)
        calls.append(_judge(user, stories, size=texts_per_call(user.recipe), source=attrgetter("item_id")))
    return [decoy for decoys in await gather_all(*calls) for decoy in decoys]


def _story_probes(user: AuditedUser) -> list[list[GatedProbe]]:
    """Summaries of half of the users and events of the others: a call about a story shows all of it."""
    if user.rng("decoys", "stories").bernoulli(0.5):
        return [[(probe, [_summary(user, probe)]) for probe in item] for item in summary_items(user)]
    return [[(probe, [_event(user, probe)]) for probe in item] for item in event_items(user)]


async def _judge(
    user: AuditedUser,
    items: Sequence[Sequence[GatedProbe]],
    *,
    size: int,
    source: Callable[[LabelledProbe], str] = attrgetter("source"),
) -> list[Decoy]:
    """Take all items through their gates; probes of one source share no call."""
    trials = [
        _trial(probe, gates, item=item, place=place, refinements=user.recipe.gates.max_refinements)
        for item, probes in enumerate(items)
        for place, (probe, gates) in enumerate(probes)
    ]
    passed = {id(trial): True for trial in trials}
    for number in range(max((len(trial.gates) for trial in trials), default=0)):
        # The first text is shown to the later gate, too, whatever the one before says: else nobody would know how it judges.
        due = [trial for trial in trials if passed[id(trial)] or not trial.place]
        groups = independent_groups(list(_by_source(due, source).values()), size=size)
        decided = await gather_all(*(_decide(group, number, recipe=user.recipe) for group in groups))
        for group, decisions in zip(groups, decided, strict=True):
            for trial, accepted in zip(group, decisions, strict=True):
                passed[id(trial)] &= accepted
    return [_decoy(trial, accepted=passed[id(trial)]) for trial in trials]


def _trial(
    probe: LabelledProbe, gates: Sequence[tuple[Gate[Any], Reader[Any]]], *, item: int, place: int, refinements: int
) -> ProbeTrial:
    # A text may stand under several labels, which the judge is not shown: the numbers make their readings different ones.
    draft, refinement = divmod(place, refinements + 1)
    first = DECOY_DRAFT + DRAFTS_APART * item
    attempt = GateAttempt(probe.item_id, probe.text, draft=draft, refinement=refinement, samples_from=first)
    return ProbeTrial(probe, gates, item, place, attempt)


def _by_source(trials: Iterable[ProbeTrial], source: Callable[[LabelledProbe], str]) -> dict[str, list[ProbeTrial]]:
    sources: dict[str, list[ProbeTrial]] = {}
    for trial in trials:
        sources.setdefault(source(trial.probe), []).append(trial)
    return sources


async def _decide(group: Sequence[ProbeTrial], number: int, *, recipe: AMemGymRecipe) -> list[bool]:
    _, read = group[0].gates[number]
    return await decide([(trial.gates[number][0], trial.attempt) for trial in group], read, recipe=recipe)


def _decoy(trial: ProbeTrial, *, accepted: bool) -> Decoy:
    probe, votes = trial.probe, trial.attempt.records
    names = sorted({vote.gate for vote in votes})
    return Decoy(
        gate=" and ".join(gate.name for gate, _ in trial.gates),
        item=trial.item,
        place=trial.place,
        item_id=probe.item_id,
        kind=probe.kind,
        text=probe.text,
        label=probe.label,
        right=probe.right,
        accepted=accepted,
        readings={name: sum(vote.gate == name for vote in votes) for name in names},
        accepting={name: sum(vote.accepted for vote in votes if vote.gate == name) for name in names},
    )


def _exposure(user: AuditedUser, probe: LabelledProbe) -> tuple[Gate[Any], Reader[Any]]:
    draft = QueryDraft(probe.item_id, probe.text, probe.label, {})
    return exposure_gate(user.context, draft, never_written), user.read_queries


def _summary(user: AuditedUser, probe: LabelledProbe) -> tuple[Gate[Any], Reader[Any]]:
    return summary_gate(user, int(probe.item_id[1:]) - 1), user.read_stories


def summary_gate(user: AuditedUser, place: int) -> Gate[StoryText]:
    """The gate of the summary at this place of the story, as it was before the user was finished."""
    subject = StoryText(user.summaries, place, user.trajectory.periods[place + 1].state)
    return Gate("summary", {}, subject, never_written, never_written)


def _event(user: AuditedUser, probe: LabelledProbe) -> tuple[Gate[Any], Reader[Any]]:
    return event_gate(user, probe.item_id, probe.label), user.read_stories


def event_gate(user: AuditedUser, item_id: str, label: dict[str, str]) -> Gate[StoryText]:
    """The gate of the event that this session tells of."""
    subject = StoryText(list(user.events.values()), list(user.events).index(item_id))
    return Gate("event", label, subject, never_written, never_written)


async def never_written(*_: object) -> str:
    raise AssertionError("A finished text is judged and never written anew.")


def _answer_gates(user: AuditedUser, answer: LabelledAnswer) -> list[tuple[Gate[Any], Reader[Any]]]:
    """The gates of a variant whose option has the probe's text; where that is a sibling's, they change places."""
    asked, variant, text = answer.question.context, answer.variant, answer.probe.text
    gates: list[tuple[Gate[Any], Reader[Any]]] = [(recovery_gate(asked, variant), recover_variants)]
    if user.recipe.gates.reverse:
        own = answer.question.texts[asked.variants.index(variant)]
        swapped = {own: text, text: own}
        texts = [swapped.get(one, one) for one in answer.question.texts]
        gates.append((choice_gate(asked, variant, texts), choose_answers))
    return gates


def query_items(user: AuditedUser) -> list[list[LabelledProbe]]:
    """Queries with one value of their label replaced, by the one before or any other; other queries; right ones.

    A query under the label of a session of other variables is a wrong one as far as queries tell no more than they
    should, which the exposure gate has seen to.
    """
    return _session_items(user, "exposure", {item.item_id: item.session.query for item in user.session_items})


def event_items(user: AuditedUser) -> list[list[LabelledProbe]]:
    """Events under labels as those of queries; each is read in its own place, so that the story stays true."""
    return _session_items(user, "event", {item_id: event.text for item_id, event in user.events.items()})


def summary_items(user: AuditedUser) -> list[list[LabelledProbe]]:
    """Events in the place of the summaries of periods whose states have other values; right ones are the summaries.

    A right one is read beside planted ones, which may make its refusal likelier than it was at the gate.
    """
    rng = user.rng("decoys", "summary")
    right = [LabelledProbe(one.item_id, ACCEPTED, one.text, {}, right=True) for one in user.summaries if one.text]
    wrong = [
        LabelledProbe(f"t{period.index:02d}", "other_period", event.text, {})
        for item in user.session_items
        if (event := user.events.get(item.item_id))
        for period in rng.sample([one for one in user.trajectory.periods[1:] if _denies(item, one.state)], 1)
    ]
    return _items([wrong], right, rng, user=user, source=lambda probe: probe.source)


def _denies(item: AuditedSession, state: Mapping[str, str]) -> bool:
    return any(state[name] != value for name, value in item.session.exposed_states.items())


def _session_items(user: AuditedUser, gate: str, texts: Mapping[str, str]) -> list[list[LabelledProbe]]:
    """`texts` by the id of their session."""
    rng, items = user.rng("decoys", gate), [item for item in user.session_items if item.item_id in texts]
    right = [
        LabelledProbe(item.item_id, ACCEPTED, texts[item.item_id], item.session.exposed_states, right=True) for item in items
    ]
    wrong = (
        [probe for item in items for probe in _old_values(user, item, texts[item.item_id])],
        [_other_value(user, item, texts[item.item_id], rng=rng) for item in items],
        [probe for item in items for probe in _other_texts(item, items, texts, rng)],
    )
    return _items(wrong, right, rng, user=user, source=lambda probe: probe.source)


def _old_values(user: AuditedUser, item: AuditedSession, text: str) -> Iterable[LabelledProbe]:
    if item.period == 0:
        return
    before, exposed = user.trajectory.periods[item.period - 1].state, item.session.exposed_states
    for name, value in exposed.items():
        if before[name] != value:
            yield LabelledProbe(item.item_id, "old_value", text, {**exposed, name: before[name]})


def _other_value(user: AuditedUser, item: AuditedSession, text: str, *, rng: SeededRandom) -> LabelledProbe:
    exposed = item.session.exposed_states
    name = rng.choice(list(exposed))
    other = rng.choice([value for value in user.schema.choices[name] if value != exposed[name]])
    return LabelledProbe(item.item_id, "other_value", text, {**exposed, name: other})


def _other_texts(
    item: AuditedSession, items: Sequence[AuditedSession], texts: Mapping[str, str], rng: SeededRandom
) -> Iterable[LabelledProbe]:
    label = item.session.exposed_states
    others = [other for other in items if not label.keys() & other.session.exposed_states.keys()]
    if others:
        other = rng.choice(others).item_id
        yield LabelledProbe(other, "other_query", texts[other], label)


def answer_items(user: AuditedUser) -> list[list[LabelledAnswer]]:
    """Answers under the variant that differs least from their own, answers to other questions, and right ones."""
    rng = user.rng("decoys", "answers")
    pairs = [(question, choice) for question in user.questions for choice in question.answers.choices]
    right = [_labelled(question, question.variant(choice), choice.answer, ACCEPTED) for question, choice in pairs]
    wrong = (
        [_under_the_nearest(question, choice, rng) for question, choice in pairs],
        [probe for question, choice in pairs for probe in _to_other_questions(user, question, choice, rng)],
    )
    return _items(wrong, right, rng, user=user, source=lambda one: one.probe.source)


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


def _items(
    wrong: Iterable[Sequence[T]], right: Sequence[T], rng: SeededRandom, *, user: AuditedUser, source: Callable[[T], str]
) -> list[list[T]]:
    """So many wrong items as the recipe says, with texts of each kind about as many, and half as many right ones.

    Kinds take turns in an order of their own for each user, so that few per user are all kinds over the users; periods and
    questions take turns, too, and right ones are of others where there are any, so that all texts fit into one call.
    """
    rows = zip_longest(*(rng.shuffled(kind) for kind in rng.shuffled(list(wrong))))
    mixed = [probe for row in rows for probe in row if probe is not None]
    seen, ranked = Counter[str](), list[tuple[int, T]]()
    for probe in mixed:
        ranked.append((seen[source(probe)], probe))
        seen[source(probe)] += 1
    spread = [probe for _, probe in sorted(ranked, key=lambda one: one[0])]
    texts, count = user.recipe.gates.texts, user.recipe.audit.decoys
    endless = itertools.cycle(spread)
    items = [[next(endless) for _ in range(texts)] for _ in range(count if spread else 0)]
    taken, wanted = {source(probe) for item in items for probe in item}, -(-count // 2)
    apart = [probe for probe in right if source(probe) not in taken]
    return [*items, *([probe] for probe in rng.sample(apart if len(apart) >= wanted else right, wanted))]
