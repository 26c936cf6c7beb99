"""The worked example at the gates: the votes on one draft, and a user who was given up after such a vote."""

from collections.abc import Collection, Sequence
from typing import Any

from assets.amemgym.tables import GateRecordRow
from assets.records.base import Failure, GateRecord
from dataset_card.release.rows import gate_record_columns
from tests.support.scenario import CHOICES, DIET, GOAL


def gate_records() -> tuple[GateRecord, ...]:
    """Two votes on one draft; the judge could not tell a value in the first."""
    votes = (({DIET: "vegetarian", GOAL: ""}, False), ({DIET: "vegetarian", GOAL: CHOICES[GOAL][1]}, True))
    return tuple(
        GateRecord(
            gate="exposure",
            item_id="p1-s0",
            draft=0,
            refinement=number,
            vote=0,
            judge="gpt-4.1",
            text='My doctor said "no more meat"…',
            target={DIET: "vegetarian", GOAL: CHOICES[GOAL][1]},
            reading=reading,
            accepted=accepted,
        )
        for number, (reading, accepted) in enumerate(votes)
    )


def vote_rows(
    votes: Sequence[tuple[str, Sequence[GateRecord]]], failures: Sequence[Failure], *, released: Collection[str]
) -> list[GateRecordRow]:
    """The rows that a release has of these votes, one by one."""
    return [
        GateRecordRow(**dict(zip(columns, values, strict=True)))
        for columns in gate_record_columns(votes, failures, released=released)
        for values in zip(*columns.values(), strict=True)
    ]


def failure(**changes: Any) -> Failure:
    """A user given up at the answers, with the votes that led there."""
    fields: dict[str, Any] = {
        "item_id": "5f0c-max-002",
        "position": 1,
        "stage": "answers",
        "reason": "gate_exhausted",
        "message": "Question q01: no answer was recovered.",
        "last_reply": '{"answer": "I\'m not sure | maybe"}',
        "gate_records": gate_records()[:1],
    }
    return Failure.model_validate({**fields, **changes})
