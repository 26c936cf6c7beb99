"""What is asked and done on the items of a run, found by the rows of its answers, which are graded by it again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.evaluation.reasoning import Answer
from pipelines.evaluation.records import AnswerRow, DialogueTurn
from pipelines.evaluation.timeline.perceived import perceived_in, turns_by_user
from pipelines.evaluation.timeline.steps import Act, Ask, Gradable, Perceived, Timeline
from pipelines.memories.contract import MemoryEvent


@dataclass(frozen=True)
class AskedThere:
    """Something that is asked or done on an item, with what was perceived before."""

    timeline: Timeline
    gradable: Gradable
    seen: Perceived


class GradedQuestions:
    """All that is asked and done on these items, found by the rows of the answers. `turns`: those of the run."""

    def __init__(self, timelines: Sequence[Timeline], turns: Sequence[DialogueTurn] = ()) -> None:
        self._by_row = dict[tuple[object, ...], list[AskedThere]]()
        by_user = turns_by_user(turns)
        for timeline in timelines:
            events = list[MemoryEvent]()
            for step in timeline.steps:
                seen = Perceived(tuple(events))
                gradables = [step] if isinstance(step, Act) else step.questions if isinstance(step, Ask) else []
                for gradable in gradables:
                    there = AskedThere(timeline, gradable, seen)
                    for row in gradable.rows(Answer[Any](None, "", 0, "", kind=gradable.kind), Perceived()):
                        self._by_row.setdefault(_key(row), []).append(there)
                events += perceived_in(step, by_user.get(timeline.cluster, ()))

    def find(self, row: AnswerRow, *, item_id: str = "") -> AskedThere | None:
        """Return what the row answers; None: nothing.

        Of a stranger's question, which several items may ask, the one that fits: that of this item, where several do.
        """
        # A question's own row stands for those in other conditions, which have none.
        found = self._by_row.get(_key(row)) or self._by_row.get(_key(row.model_copy(update={"kind": "question"}))) or []
        if len(found) > 1:
            fitting = [there for there in found if there.gradable.grade(row, there.seen) == row]
            of_item = [there for there in fitting if there.timeline.item_id == item_id]
            found = of_item or fitting or found
        return found[0] if found else None

    def grade(self, row: AnswerRow) -> AnswerRow:
        """Return the row as it follows from the data, its reply and what was recalled; as it is where it answers nothing."""
        there = self.find(row)
        return there.gradable.grade(row, there.seen) if there else row


def _key(row: AnswerRow) -> tuple[object, ...]:
    return row.kind, row.question_key, row.probe
