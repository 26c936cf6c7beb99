"""What it took to pass the gates, told by gate."""

from assets.amemgym.records.question import AnswerSet
from assets.records.base import GateRecord
from assets.reporting.gate_summary import gate_rows
from tests.support import gate_votes, scenario


def vote(item_id: str, *, draft: int = 0, refinement: int = 0, accepted: bool = True) -> GateRecord:
    return GateRecord(
        gate="recovery",
        item_id=item_id,
        draft=draft,
        refinement=refinement,
        vote=0,
        judge="m",
        text="A text.",
        target={"diet": "vegan"},
        reading={"diet": "vegan"},
        accepted=accepted,
    )


def answers(user_id: str, *votes: GateRecord) -> AnswerSet:
    return AnswerSet(user_id=user_id, questions=scenario.answers(), gate_records=votes)


HARD = answers(
    "hard",
    vote("a", accepted=False),
    vote("a", refinement=2, accepted=False),
    vote("a", draft=1, accepted=False),
    vote("a", draft=1, refinement=1),
    vote("b", refinement=1),
)
EASY = answers("easy", vote("a"), vote("b"))


def test_each_gate_tells_what_its_items_took_and_whom_it_cost() -> None:
    lost = gate_votes.failure(gate_records=(vote("a", accepted=False),))
    assert gate_rows([HARD, EASY], [lost]) == [
        {
            "gate": "recovery",
            "items": 4,
            "at once": "2 (50%)",
            "refined": "1 (25%)",
            "redrafted": "1 (25%)",
            "given up": 1,
            "readings": 7,
        }
    ]


def test_a_stage_without_gates_has_nothing_to_tell() -> None:
    assert gate_rows([scenario.profile()], []) == []
