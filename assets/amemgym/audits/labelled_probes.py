"""Labelled probes: texts of a finished user, each under a label of which it is known whether it is right."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assets.amemgym.answers.variants import Variant
from assets.amemgym.audits.user_parts import AuditedQuestion, AuditedSession, AuditedUser
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom

ACCEPTED = "accepted"


@dataclass(frozen=True)
class LabelledProbe:
    """A text under a label. `right`: it is the label that the text was accepted under."""

    item_id: str
    kind: str
    text: str
    label: dict[str, str]
    right: bool = False

    @property
    def source(self) -> str:
        """The period or question that it belongs to."""
        return self.item_id[:3]


@dataclass(frozen=True, kw_only=True)
class LabelledAnswer(LabelledProbe):
    """An answer under the label of a variant of `question`."""

    question: AuditedQuestion
    variant: Variant


AnyProbe = TypeVar("AnyProbe", bound=LabelledProbe)


def query_items(user: AuditedUser) -> list[list[LabelledProbe]]:
    """Return the drawn items, each a list of probes.

    A wrong item mixes three kinds: an old value in the label, another value in the label, the query of another session. A
    right item is one query under its own label.

    A query under the label of a session of other variables counts as wrong: the exposure gate has seen to it that a query
    tells no more than its own values.
    """
    queries: dict[str, str] = {}
    for item in user.session_items:
        queries[item.item_id] = item.session.query
    return _session_items(user, "exposure", queries)


def event_items(user: AuditedUser) -> list[list[LabelledProbe]]:
    """Return events under labels as those of queries; each is read in its own place, so that the story stays true."""
    events = {item_id: event.text for item_id, event in user.events.items()}
    return _session_items(user, "event", events)


def summary_items(user: AuditedUser) -> list[list[LabelledProbe]]:
    """Return events in the place of the summaries of periods whose states have other values; right ones are the summaries.

    A right one is read beside wrong ones, which may make its refusal likelier than it was at the gate.
    """
    rng = user.rng("decoys", "summary")
    right: list[LabelledProbe] = []
    for summary in user.summaries:
        if summary.text:
            right.append(LabelledProbe(summary.item_id, ACCEPTED, summary.text, {}, right=True))
    wrong: list[LabelledProbe] = []
    used = Counter[int]()
    for item in user.session_items:
        event = user.events.get(item.item_id)
        denying = [period.index for period in user.trajectory.periods[1:] if _denies(item, period.state)]
        if event is None or not denying:
            continue
        # Evenly, because a call takes one text for each period.
        period = min(rng.shuffled(denying), key=used.__getitem__)
        used[period] += 1
        wrong.append(LabelledProbe(f"t{period:02d}", "other_period", event.text, {}))
    return _draw_items([wrong], right, rng, user=user)


def _denies(item: AuditedSession, state: Mapping[str, str]) -> bool:
    return not item.session.exposed_states.items() <= state.items()


def _session_items(user: AuditedUser, gate: str, texts: Mapping[str, str]) -> list[list[LabelledProbe]]:
    """Return probes of `texts`, which are given by the id of their session."""
    rng = user.rng("decoys", gate)
    items = [item for item in user.session_items if item.item_id in texts]
    right: list[LabelledProbe] = []
    old_values: list[LabelledProbe] = []
    other_values: list[LabelledProbe] = []
    other_texts: list[LabelledProbe] = []
    for item in items:
        text = texts[item.item_id]
        right.append(LabelledProbe(item.item_id, ACCEPTED, text, item.session.exposed_states, right=True))
        old_values.extend(_old_values(user, item, text))
        other_values.append(_other_value(user, item, text, rng=rng))
    # In a loop of its own, because draws come from one sequence: another order would draw other probes.
    for item in items:
        other_texts.extend(_other_text(item, items, texts, rng))
    return _draw_items([old_values, other_values, other_texts], right, rng, user=user)


def _old_values(user: AuditedUser, item: AuditedSession, text: str) -> Iterator[LabelledProbe]:
    if item.period == 0:
        return
    before = user.trajectory.periods[item.period - 1].state
    exposed = item.session.exposed_states
    for name, value in exposed.items():
        if before[name] != value:
            yield LabelledProbe(item.item_id, "old_value", text, {**exposed, name: before[name]})


def _other_value(user: AuditedUser, item: AuditedSession, text: str, *, rng: SeededRandom) -> LabelledProbe:
    exposed = item.session.exposed_states
    name = rng.choice(list(exposed))
    others = [value for value in user.schema.choices[name] if value != exposed[name]]
    other = rng.choice(others)
    return LabelledProbe(item.item_id, "other_value", text, {**exposed, name: other})


def _other_text(
    item: AuditedSession, items: Sequence[AuditedSession], texts: Mapping[str, str], rng: SeededRandom
) -> Iterator[LabelledProbe]:
    """Yield the text of a session that has no variable in common with this one, where there is such a session."""
    label = item.session.exposed_states
    others = [other for other in items if label.keys().isdisjoint(other.session.exposed_states)]
    if others:
        other = rng.choice(others).item_id
        yield LabelledProbe(other, "other_query", texts[other], label)


def answer_items(user: AuditedUser) -> list[list[LabelledAnswer]]:
    """Return answers under the variant that differs least from their own, answers to other questions, and right ones."""
    rng = user.rng("decoys", "answers")
    right: list[LabelledAnswer] = []
    nearest: list[LabelledAnswer] = []
    to_others: list[LabelledAnswer] = []
    for question in user.questions:
        for choice in question.answers.choices:
            right.append(_labelled(question, question.variant(choice), choice.answer, ACCEPTED))
            nearest.append(_under_the_nearest(question, choice, rng))
    # In a loop of its own, because draws come from one sequence: another order would draw other probes.
    for question in user.questions:
        for choice in question.answers.choices:
            to_others.extend(_from_other_question(user, question, choice, rng))
    return _draw_items([nearest, to_others], right, rng, user=user)


def _under_the_nearest(question: AuditedQuestion, choice: AnswerChoice, rng: SeededRandom) -> LabelledAnswer:
    # Shuffled, because the first of several that are equally near is taken.
    others = [variant for variant in rng.shuffled(question.context.variants) if variant.values != choice.state]
    nearest = min(others, key=lambda other: other.distance(choice.state))
    return _labelled(question, nearest, choice.answer, "nearest_variant")


def _from_other_question(
    user: AuditedUser, question: AuditedQuestion, choice: AnswerChoice, rng: SeededRandom
) -> Iterator[LabelledAnswer]:
    """Yield an answer to a question of other variables under this choice's variant, where there is such a question."""
    others: list[str] = []
    for another in user.questions:
        if question.variables.isdisjoint(another.variables):
            others.extend(other.answer for other in another.answers.choices)
    if others:
        yield _labelled(question, question.variant(choice), rng.choice(others), "other_question")


def _labelled(question: AuditedQuestion, variant: Variant, text: str, kind: str) -> LabelledAnswer:
    item_id = question.context.item_id(variant)
    right = kind == ACCEPTED
    return LabelledAnswer(item_id, kind, text, variant.assignment, right, question=question, variant=variant)


def _draw_items(
    wrong: Sequence[Sequence[AnyProbe]], right: Sequence[AnyProbe], rng: SeededRandom, *, user: AuditedUser
) -> list[list[AnyProbe]]:
    """Draw as many wrong items as the recipe has and half as many right ones; `wrong` has a list for each kind.

    A wrong item has as many texts as its gates would take. Right ones have one text each, of the periods or questions with
    fewest wrong ones, so that the texts fit into few calls.
    """
    count = user.recipe.num_decoys
    mixed = _mixed(wrong, rng)
    items: list[list[AnyProbe]] = []
    taken = Counter[str]()
    if mixed:
        endless = itertools.cycle(mixed)  # a small user has fewer probes than the recipe wants
        for _ in range(count):
            item = list(itertools.islice(endless, user.recipe.gates.texts))
            items.append(item)
            taken.update(probe.source for probe in item)
    wanted = -(-count // 2)
    pool = rng.shuffled(right)
    for _ in range(min(wanted, len(pool))):
        probe = min(pool, key=lambda one: taken[one.source])
        pool.remove(probe)
        taken[probe.source] += 1
        items.append([probe])
    return items


def _mixed(kinds: Sequence[Sequence[AnyProbe]], rng: SeededRandom) -> list[AnyProbe]:
    """Return all probes so that kinds take turns, above that periods or questions do, and above that texts.

    Kinds have an order of their own for each user, so that a few probes per user are of all kinds over the users. A text
    that a judge misreads would count more than once, so it comes again only after all others.
    """
    shuffled = list(map(rng.shuffled, rng.shuffled(kinds)))
    taken = Counter[str]()
    turns = Counter[tuple[int, str]]()
    by_turn: defaultdict[tuple[int, int], list[AnyProbe]] = defaultdict(list)
    for probe in itertools.chain.from_iterable(itertools.zip_longest(*shuffled)):
        if probe is not None:
            source = (taken[probe.text], probe.source)
            by_turn[taken[probe.text], turns[source]].append(probe)
            taken[probe.text] += 1
            turns[source] += 1
    return list(itertools.chain.from_iterable(by_turn[turn] for turn in sorted(by_turn)))
