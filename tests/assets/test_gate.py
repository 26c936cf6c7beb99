"""A text passes when enough readings recover its target; what was tried on the way is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.gate import Gate, Trial, pass_gate
from assets.records.failure import UserFailed
from assets.records.gate import GateRecord
from assets.records.recipe import GatePolicy
from tests.support import run

RIGHT, WRONG, UNSURE = {"diet": "vegan"}, {"diet": "meat"}, {"diet": ""}


@dataclass
class Bench:
    """A gate whose readings come in turn; new texts say how they came about."""

    readings: Sequence[dict[str, str]]
    trials: list[Trial] = field(default_factory=list[Trial])

    def gate(self) -> Gate:
        return Gate(name="exposure", item_id="s01-01", target=RIGHT, judge=self.judge, refine=self.refine, redraft=self.redraft)

    async def judge(self, text: str, trial: Trial) -> dict[str, str]:
        self.trials.append(trial)
        return self.readings[min(len(self.trials), len(self.readings)) - 1]

    async def refine(self, text: str, reading: dict[str, str], trial: Trial) -> str:
        return f"{text}, not {reading.get('diet') or 'unclear'}"

    async def redraft(self, number: int) -> str:
        return f"draft {number}"


def passed(*readings: dict[str, str], policy: GatePolicy) -> tuple[str, list[GateRecord]]:
    return run(pass_gate(Bench(readings).gate(), "draft 0", policy=policy))


def once(*, refinements: int = 2, redrafts: int = 1) -> GatePolicy:
    return GatePolicy(max_refinements=refinements, max_redrafts=redrafts)


def test_a_text_that_tells_its_target_is_accepted_at_once() -> None:
    text, records = passed(RIGHT, policy=once())
    assert text == "draft 0"
    assert [(record.text, record.target, record.reading, record.accepted) for record in records] == [(text, RIGHT, RIGHT, True)]


def test_a_misread_text_is_refined_with_what_was_read() -> None:
    text, records = passed(WRONG, UNSURE, RIGHT, policy=once())
    assert text == "draft 0, not meat, not unclear"
    assert [(record.refinement, record.accepted) for record in records] == [(0, False), (1, False), (2, True)]


def test_when_refinements_are_used_up_a_new_draft_is_written() -> None:
    text, records = passed(WRONG, WRONG, RIGHT, policy=once(refinements=1))
    assert text == "draft 1"
    assert [(record.draft, record.refinement) for record in records] == [(0, 0), (0, 1), (1, 0)]


def test_a_user_is_given_up_with_all_records_when_everything_is_used_up() -> None:
    with pytest.raises(UserFailed, match=r"No draft of s01-01 passed the exposure gate in 4 readings") as failed:
        passed(WRONG, policy=once(refinements=1, redrafts=1))
    assert failed.value.reason == "gate_exhausted"
    assert failed.value.last_reply == "draft 1, not meat"
    assert [record.text for record in failed.value.gate_records] == [
        "draft 0",
        "draft 0, not meat",
        "draft 1",
        "draft 1, not meat",
    ]


@pytest.mark.parametrize(
    ("votes", "readings", "accepted"),
    [
        ((3, 2), [RIGHT, RIGHT], [True, True]),
        ((3, 2), [WRONG, RIGHT, RIGHT], [False, True, True]),
        ((3, 2), [WRONG, WRONG], [False, False]),
        ((2, 2), [WRONG], [False]),
        ((3, 1), [RIGHT], [True]),
    ],
    ids=["accepted early", "accepted late", "refused early", "all needed", "one needed"],
)
def test_voting_stops_when_it_is_decided(votes: tuple[int, int], readings: list[dict[str, str]], accepted: list[bool]) -> None:
    policy = GatePolicy(votes=votes[0], votes_needed=votes[1], max_refinements=0, max_redrafts=1)
    _, records = passed(*readings, RIGHT, policy=policy)
    assert [record.accepted for record in records if record.draft == 0] == accepted


@given(
    st.lists(st.booleans(), min_size=1, max_size=7).flatmap(lambda votes: st.tuples(st.just(votes), st.integers(1, len(votes))))
)
def test_stopping_early_never_changes_the_verdict(case: tuple[list[bool], int]) -> None:
    votes, needed = case
    policy = GatePolicy(votes=len(votes), votes_needed=needed, max_refinements=0, max_redrafts=0)
    try:
        passed(*(RIGHT if vote else WRONG for vote in votes), policy=policy)
        accepted = True
    except UserFailed:
        accepted = False
    assert accepted == (sum(votes) >= needed)


def test_a_reading_must_recover_the_target_exactly() -> None:
    _, records = passed({**RIGHT, "mood": "low"}, {}, RIGHT, policy=once())
    assert [record.accepted for record in records] == [False, False, True]


@settings(max_examples=20)
@given(st.integers(0, 20), st.integers(0, 5), st.integers(1, 4))
def test_every_trial_of_an_item_has_a_number_of_its_own(refinements: int, redrafts: int, votes: int) -> None:
    policy = GatePolicy(votes=votes, votes_needed=1, max_refinements=refinements, max_redrafts=redrafts)
    bench = Bench([WRONG])
    with pytest.raises(UserFailed):
        run(pass_gate(bench.gate(), "draft 0", policy=policy))
    numbers = [trial.number for trial in bench.trials]
    assert len(set(numbers)) == len(numbers) == votes * (refinements + 1) * (redrafts + 1)
