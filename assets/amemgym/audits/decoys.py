"""Decoys: labelled probes that the stages' own gates have judged, which measures how often the gates err."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any

from assets.amemgym.answers.gates import choice_gate, choose_answers, recover_variants, recovery_gate
from assets.amemgym.audits.labelled_probes import (
    TAKEN_OUT,
    AnyProbe,
    LabelledAnswer,
    LabelledProbe,
    answer_items,
    event_items,
    query_items,
    summary_items,
)
from assets.amemgym.audits.user_parts import DECOY_DRAFT, DRAFTS_APART, AuditedUser, by_source
from assets.amemgym.records.audit import Decoy
from assets.amemgym.session_queries.exposure_gate import QUERIES_OF_ONE_PERIOD, queries_per_call
from assets.amemgym.state_trajectory.story_reading import texts_per_call
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, Gated, Reader, take_votes
from assets.recipe.amemgym import AMemGymRecipe


@dataclass(frozen=True)
class ProbeGate:
    """A gate that a labelled probe has to pass, and the reader that asks its judges."""

    gate: Gate[Any]
    read: Reader[Any]


@dataclass
class ProbeTrial:
    """A labelled probe before its gates, as text number `place` of item `item`, with all votes on it."""

    probe: LabelledProbe
    gates: Sequence[ProbeGate]
    item: int
    place: int
    attempt: GateAttempt
    accepted: bool = True  # until a gate refuses it


async def judge_decoys(user: AuditedUser) -> list[Decoy]:
    """Run mislabelled items through the whole gate loop to measure how often one is accepted; right ones pass it alone.

    A wrong item has as many texts as its draft may be refined and drafted anew, each wrong under a label of its own: were
    one accepted, the item would be. All are read whatever becomes of the one before. A right one is a single text. The
    calls are samples of their own.
    """
    gates = user.recipe.gates
    queries = _trials(query_items(user), lambda probe: [_query_gate(user, probe)], user=user)
    answers = _trials(answer_items(user), lambda probe: _answer_gates(user, probe), user=user)
    calls = [
        _judge(
            queries,
            attrgetter("probe.source"),
            size=queries_per_call(gates),
            of_one=QUERIES_OF_ONE_PERIOD,
            recipe=user.recipe,
        ),
        _judge(answers, attrgetter("probe.source"), size=gates.texts_per_call, recipe=user.recipe),
    ]
    if gates.consistency:
        summaries = _trials(summary_items(user), lambda probe: [_summary_gate(user, probe)], user=user)
        events = _trials(event_items(user), lambda probe: [_event_gate(user, probe)], user=user)
        # A call about a story shows all of it.
        for story in (summaries, events):
            calls.append(_judge(story, attrgetter("probe.item_id"), size=texts_per_call(user.recipe), recipe=user.recipe))
    return list(chain.from_iterable(await gather_all(*calls)))


def _trials(
    items: Sequence[Sequence[AnyProbe]], gates_of: Callable[[AnyProbe], list[ProbeGate]], *, user: AuditedUser
) -> list[ProbeTrial]:
    trials: list[ProbeTrial] = []
    for item, probes in enumerate(items):
        # A text may stand under several labels, which the judge does not see: the numbers make their readings different.
        first_sample = DECOY_DRAFT + DRAFTS_APART * item
        for place, probe in enumerate(probes):
            draft, refinement = divmod(place, user.recipe.gates.max_refinements + 1)
            attempt = GateAttempt(probe.item_id, probe.text, draft=draft, refinement=refinement, samples_from=first_sample)
            trials.append(ProbeTrial(probe, gates_of(probe), item, place, attempt))
    return trials


async def _judge(
    trials: Sequence[ProbeTrial],
    source: Callable[[ProbeTrial], Hashable],
    *,
    size: int,
    of_one: int = 1,
    recipe: AMemGymRecipe,
) -> list[Decoy]:
    """Take all trials through their gates; of one source no more than `of_one` share a call."""
    most_gates = max((len(trial.gates) for trial in trials), default=0)
    for number in range(most_gates):
        # The first text of an item goes to the later gate even when it was refused: else that gate would see too few.
        due = [trial for trial in trials if trial.accepted or trial.place == 0]
        sources = by_source(due, source)
        texts: list[list[Gated[Any]]] = []
        for own in sources:
            texts.append([(trial.gates[number].gate, trial.attempt) for trial in own])
        # Nearly all are wrong, and the first vote refuses most: a second one on each would double the calls.
        read = due[0].gates[number].read
        decisions = await take_votes(texts, read, size=size, of_one=of_one, one_by_one=True, recipe=recipe)
        for trial, accepted in zip(chain.from_iterable(sources), decisions, strict=True):
            trial.accepted = trial.accepted and accepted
    return list(map(_decoy, trials))


def _decoy(trial: ProbeTrial) -> Decoy:
    probe = trial.probe
    readings = Counter[str]()
    first_readings: dict[str, bool] = {}
    for vote in sorted(trial.attempt.records, key=attrgetter("gate")):
        readings[vote.gate] += 1
        first_readings.setdefault(vote.gate, vote.accepted)
    return Decoy(
        gate=" and ".join(gate.gate.name for gate in trial.gates),
        item=trial.item,
        place=trial.place,
        item_id=probe.item_id,
        kind=probe.kind,
        text=probe.text,
        label=probe.label,
        right=probe.right,
        accepted=trial.accepted,
        readings=dict(readings),
        first_readings=first_readings,
    )


def _query_gate(user: AuditedUser, probe: LabelledProbe) -> ProbeGate:
    return ProbeGate(user.query_gate(probe.item_id, probe.text, label=probe.label), user.read_queries)


def _summary_gate(user: AuditedUser, probe: LabelledProbe) -> ProbeGate:
    period = int(probe.item_id[1:])
    return ProbeGate(user.summary_gate(period), user.read_stories)


def _event_gate(user: AuditedUser, probe: LabelledProbe) -> ProbeGate:
    return ProbeGate(user.event_gate(probe.item_id, label=probe.label), user.read_stories)


def _answer_gates(user: AuditedUser, probe: LabelledAnswer) -> list[ProbeGate]:
    """Return the gates of a variant whose option has the probe's text; where another variant has it, the two swap texts.

    Where the probe says that what is right is taken out, the judge is offered neither the situation of the text nor the answer
    to the variant.
    """
    asked = probe.question.context
    own = probe.question.texts[asked.variants.index(probe.variant)]
    swapped = {own: probe.text, probe.text: own}
    texts = [swapped.get(text, text) for text in probe.question.texts]
    if probe.kind == TAKEN_OUT:
        kept = [place for place, text in enumerate(texts) if text != own]
        asked = replace(asked, variants=[asked.variants[place] for place in kept])
        texts = [texts[place] for place in kept]
    gates = [ProbeGate(recovery_gate(asked, probe.variant), recover_variants)]
    if user.recipe.gates.reverse:
        gates.append(ProbeGate(choice_gate(asked, probe.variant, texts), choose_answers))
    return gates
