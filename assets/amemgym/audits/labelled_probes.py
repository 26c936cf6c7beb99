"""Labelled probes: texts of a finished user, each under a label of which it is known whether it is right."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assets.amemgym.answers.variants import Variant
from assets.amemgym.audits.user_parts import AuditedQuestion, AuditedSession, AuditedUser
from assets.engine.seeded_random import SeededRandom
from assets.recipe.amemgym import AMemGymRecipe

ACCEPTED = "accepted"
TAKEN_OUT = "taken_out"  # nothing that a judge is offered is right


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

    A wrong item mixes what a real fault would look like: the value before in the label, another value in the label, and
    messages on what is so for somebody else, or at another time, under the label that it is so for the user now. A right item
    is one query under its own label, which is empty where it is noise that restates nothing.
    """
    queries: dict[str, str] = {}
    of_others: list[LabelledProbe] = []
    for item in user.session_items:
        session = item.session
        queries[item.item_id] = session.query
        if session.mentions:
            of_others.append(LabelledProbe(item.item_id, session.kind, session.query, session.mentions))
    return _session_items(user, "exposure", queries, of_others)


def event_items(user: AuditedUser) -> list[list[LabelledProbe]]:
    """Return events under labels as those of queries; each is read in its own place, so that the story stays true."""
    events = {item_id: event.text for item_id, event in user.events.items()}
    return _session_items(user, "event", events, [])


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
        exposed = item.session.exposed_states.items()
        denying = [period.index for period in user.trajectory.periods[1:] if not exposed <= period.state.items()]
        if event is None or not denying:
            continue
        # Evenly, because a call takes one text for each period.
        period = min(rng.shuffled(denying), key=used.__getitem__)
        used[period] += 1
        wrong.append(LabelledProbe(f"t{period:02d}", "other_period", event.text, {}))
    return _draw_items([wrong], right, rng, user=user)


def _session_items(
    user: AuditedUser, gate: str, texts: Mapping[str, str], of_others: Sequence[LabelledProbe]
) -> list[list[LabelledProbe]]:
    """Return probes of `texts`, which are given by the id of their session; `of_others` are wrong ones beside them."""
    rng = user.rng("decoys", gate)
    right: list[LabelledProbe] = []
    old_values: list[LabelledProbe] = []
    other_values: list[LabelledProbe] = []
    for item in user.session_items:
        if item.item_id not in texts:
            continue
        text = texts[item.item_id]
        right.append(LabelledProbe(item.item_id, ACCEPTED, text, item.session.exposed_states, right=True))
        if item.session.exposed_states:
            old_values.extend(_old_values(user, item, text))
            other_values.append(_other_value(user, item, text, rng=rng))
    return _draw_items([old_values, other_values, of_others], right, rng, user=user)


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


def answer_items(user: AuditedUser) -> list[list[LabelledAnswer]]:
    """Return answers under the variant that differs least from their own, listed or taken out, and right ones."""
    rng = user.rng("decoys", "answers")
    right: list[LabelledAnswer] = []
    value_changed: list[LabelledAnswer] = []
    taken_out: list[LabelledAnswer] = []
    for question in user.questions:
        for choice in question.answers.choices:
            own = question.variant(choice)
            nearest = _nearest_variant(question, own, rng)
            right.append(_label_answer(question, own, choice.answer, ACCEPTED))
            value_changed.append(_label_answer(question, nearest, choice.answer, "value_changed"))
            # A judge that may not say "none" would have no right reply.
            if user.recipe.gates.cannot_tell and len(question.context.variants) > 2:
                taken_out.append(_label_answer(question, nearest, choice.answer, TAKEN_OUT))
    return _draw_items([value_changed, taken_out], right, rng, user=user)


def _nearest_variant(question: AuditedQuestion, own: Variant, rng: SeededRandom) -> Variant:
    # Shuffled, because the first of several that are equally near is taken.
    others = [variant for variant in rng.shuffled(question.context.variants) if variant != own]
    return min(others, key=lambda other: other.distance(own.values))


def _label_answer(question: AuditedQuestion, variant: Variant, text: str, kind: str) -> LabelledAnswer:
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
    mixed = _mix_probes(wrong, rng)
    items: list[list[AnyProbe]] = []
    taken = Counter[str]()
    if mixed:
        endless = itertools.cycle(mixed)  # a small user has fewer probes than the recipe wants
        for _ in range(count):
            item = list(itertools.islice(endless, user.recipe.gates.texts))
            items.append(item)
            taken.update(probe.source for probe in item)
    pool = rng.shuffled(right)
    for _ in range(min(right_decoys(user.recipe), len(pool))):
        probe = min(pool, key=lambda candidate: taken[candidate.source])
        pool.remove(probe)
        taken[probe.source] += 1
        items.append([probe])
    return items


def right_decoys(recipe: AMemGymRecipe) -> int:
    """The number of right items at every gate, of a user who has as many."""
    return math.ceil(recipe.num_decoys / 2)


def _mix_probes(kinds: Sequence[Sequence[AnyProbe]], rng: SeededRandom) -> list[AnyProbe]:
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
