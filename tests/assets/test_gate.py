"""A text passes when enough readings recover its target; what was tried on the way is kept."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.chance import Chance
from assets.gate import Attempt, Gate, Trial, pass_gate, passes
from assets.records.failure import UserFailed
from assets.records.gate import GateRecord
from assets.records.gate_policy import PAPER, GatePolicy
from tests.support import run, small_recipe

TEXTS = 1000
RIGHT, WRONG, UNSURE = {"diet": "vegan"}, {"diet": "meat"}, {"diet": ""}


@dataclass
class Bench:
    """A gate whose readings come in turn; new texts say how they came about."""

    readings: Sequence[dict[str, str]]
    trials: list[Trial] = field(default_factory=list[Trial])

    def gate(self) -> Gate:
        return Gate("exposure", RIGHT, self.judge, self.refine, self.redraft)

    async def judge(self, text: str, trial: Trial) -> dict[str, str]:
        self.trials.append(trial)
        return self.readings[min(len(self.trials), len(self.readings)) - 1]

    async def refine(self, text: str, reading: dict[str, str], sample: int) -> str:
        return f"{text}, not {reading.get('diet') or 'unclear'}"

    async def redraft(self, number: int) -> str:
        return f"draft {number}"


def through(gate: Gate, *, policy: GatePolicy, **models: object) -> Attempt:
    attempt = Attempt("s01-01", "draft 0")
    run(pass_gate(gate, attempt, recipe=small_recipe(gates=policy, models=models)))
    return attempt


def passed(*readings: dict[str, str], policy: GatePolicy) -> tuple[str, list[GateRecord]]:
    attempt = through(Bench(readings).gate(), policy=policy)
    return attempt.text, attempt.records


def once(*, refinements: int = 2, redrafts: int = 1) -> GatePolicy:
    return GatePolicy(votes=1, votes_needed=1, max_refinements=refinements, max_redrafts=redrafts)


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
        ((5, 2), [WRONG, WRONG, WRONG, RIGHT, WRONG], [False, False, False, True, False]),
        ((2, 2), [WRONG, RIGHT], [False, True]),
        ((3, 1), [WRONG, RIGHT], [False, True]),
    ],
    ids=["accepted early", "accepted late", "refused early", "refused late", "all needed", "one needed"],
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
        through(bench.gate(), policy=policy)
    numbers = [trial.number for trial in bench.trials]
    assert len(set(numbers)) == len(numbers) == votes * (refinements + 1) * (redrafts + 1)


def test_as_many_judges_as_are_needed_read_at_once() -> None:
    at_work: list[int] = []
    most: list[int] = []

    async def judge(text: str, trial: Trial) -> dict[str, str]:
        at_work.append(trial.vote)
        await asyncio.sleep(0)
        most.append(len(at_work))
        at_work.remove(trial.vote)
        return WRONG if trial.vote == 0 else RIGHT

    bench = Bench([])
    gate = Gate("exposure", RIGHT, judge, bench.refine, bench.redraft)
    attempt = through(gate, policy=GatePolicy(votes=5, votes_needed=3))
    assert [record.accepted for record in attempt.records] == [False, True, True, True]
    assert max(most) == 3


def test_judge_models_take_turns_and_their_names_are_kept() -> None:
    bench = Bench([RIGHT])
    judges = {"model": "one", "further": ["two", "three"]}
    attempt = through(bench.gate(), policy=GatePolicy(votes=4, votes_needed=4), judge=judges)
    assert [trial.judge for trial in bench.trials] == ["one", "two", "three", "one"]
    assert [record.judge for record in attempt.records] == ["one", "two", "three", "one"]


def test_the_papers_policy_settles_what_makes_it_one_forced_choice() -> None:
    paper = GatePolicy.model_validate({"policy": "paper", "max_refinements": 5})
    assert {name: getattr(paper, name) for name in PAPER} == PAPER
    assert paper.max_refinements == 5
    assert GatePolicy.model_validate(paper.model_dump()) == paper


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"policy": "paper", "votes": 3}, r"gates\.policy is paper, which settles \['votes'\]; leave them out"),
        ({"policy": "paper", "reverse": True}, r"settles \['reverse'\]"),
        ({"votes": 1}, r"gates\.votes_needed is 2, but gates\.votes is only 1"),
        ({"cannot_tell": False}, r"gates\.unexposed is 3, but judges may not say that they cannot tell"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        GatePolicy.model_validate(fields)


@dataclass(frozen=True)
class Unreliable:
    """Judges who read some texts wrongly: any of the other options, with equal chance and independent of each other."""

    wrong: float
    tells: dict[str, str]
    options: int = 4

    def gate(self, number: int) -> Gate:
        async def judge(text: str, trial: Trial) -> dict[str, str]:
            chance = Chance("judge", number, trial.number)
            if not chance.happens(self.wrong):
                return self.tells
            others = [f"option {place}" for place in range(self.options - 2)]
            return {"diet": chance.chosen([*others, RIGHT["diet"] if self.tells != RIGHT else "option"])}

        bench = Bench([])
        return Gate("exposure", RIGHT, judge, bench.refine, bench.redraft)

    def accepted(self, votes: int, needed: int) -> float:
        """The share of texts that the gate accepts."""
        recipe = small_recipe(gates=GatePolicy(votes=votes, votes_needed=needed))

        async def passing() -> list[bool]:
            return [await passes(self.gate(number), Attempt(f"t{number}", "text"), recipe=recipe) for number in range(TEXTS)]

        return sum(run(passing())) / TEXTS


def binomial(votes: int, needed: int, share: float) -> float:
    return sum(math.comb(votes, hits) * share**hits * (1 - share) ** (votes - hits) for hits in range(needed, votes + 1))


@pytest.mark.parametrize("wrong", [0.15, 0.3])
@pytest.mark.parametrize(("votes", "needed"), [(1, 1), (2, 2), (3, 2)])
def test_k_of_n_votes_of_unreliable_judges_err_as_often_as_the_binomial_says(wrong: float, votes: int, needed: int) -> None:
    # A wrong text is accepted when the judges hit on the target by mistake, a right one when they do not err.
    measured = {str(tells): Unreliable(wrong, tells).accepted(votes, needed) for tells in (WRONG, RIGHT)}
    for tells, hit in ((WRONG, wrong / 3), (RIGHT, 1 - wrong)):
        truth = binomial(votes, needed, hit)
        assert abs(measured[str(tells)] - truth) < 4 * math.sqrt(truth * (1 - truth) / TEXTS)
    assert (votes, needed) == (1, 1) or measured[str(WRONG)] < 0.6 * Unreliable(wrong, WRONG).accepted(1, 1)
