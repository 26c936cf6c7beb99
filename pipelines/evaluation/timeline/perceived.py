"""What was perceived on the items of a run, as its tables hold it."""

from collections.abc import Iterator, Sequence
from itertools import chain

from pipelines.evaluation.records import DialogueTurn, EventRow
from pipelines.evaluation.timeline.steps import Converse, Forget, Step, Timeline, Write
from pipelines.evaluation.timeline.subjects import events_of
from pipelines.memories.contract import MemoryEvent


def perceived_in(step: Step, turns: Sequence[DialogueTurn]) -> Sequence[MemoryEvent]:
    """Return what is perceived in a step, with `turns` of its item's sessions; nothing of an episode."""
    if isinstance(step, Write):
        return step.events
    if isinstance(step, Forget):
        return [step.request]
    if isinstance(step, Converse):
        return events_of([turn for turn in turns if turn.period == step.period])
    return []


def turns_by_user(turns: Sequence[DialogueTurn]) -> dict[str, list[DialogueTurn]]:
    """Return the turns of each user, in order."""
    by_user = dict[str, list[DialogueTurn]]()
    for turn in turns:
        by_user.setdefault(turn.user_id, []).append(turn)
    return by_user


def events_of_run(timelines: Sequence[Timeline], turns: Sequence[DialogueTurn]) -> Iterator[EventRow]:
    """Yield all that was perceived on these items, each in order of time, with `turns` of their sessions. Episodes stand in the
    rows' replies.
    """
    by_user = turns_by_user(turns)
    for timeline in timelines:
        own = by_user.get(timeline.cluster, ())
        for event in chain.from_iterable(perceived_in(step, own) for step in timeline.steps):
            yield EventRow(
                cluster=timeline.cluster,
                length=timeline.length,
                text=event.text,
                kind=event.kind,
                at=str(event.at) if event.at else "",
                source=event.source,
            )
