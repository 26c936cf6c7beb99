"""A gate's verdict is what enough votes say, whoever casts them, and no more votes are cast than that takes."""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, GateAttempt, ReadingTask, independent_groups, pass_gates, take_votes
from assets.recipe.policies import GatePolicy
from assets.records.base import ItemFailed
from tests.assets.llm.gate_bench import RIGHT, WRONG, Bench, passed, through
from tests.support.coroutines import run
from tests.support.small import small_recipe

TEXTS = 1000


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
    except ItemFailed:
        accepted = False
    assert accepted == (sum(votes) >= needed)


def test_as_many_judges_as_are_needed_read_at_once() -> None:
    at_work: list[int] = []
    most: list[int] = []

    class Busy(Bench):
        async def read(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
            at_work.append(tasks[0].vote.vote)
            await asyncio.sleep(0)
            most.append(len(at_work))
            at_work.remove(tasks[0].vote.vote)
            return [WRONG if tasks[0].vote.vote == 0 else RIGHT]

    attempt = through(Busy([]), policy=GatePolicy(votes=5, votes_needed=3))
    assert [record.accepted for record in attempt.records] == [False, True, True, True]
    assert max(most) == 3


def test_judge_models_take_turns_and_their_names_are_kept() -> None:
    bench = Bench([RIGHT])
    judges = {"model": "one", "further": ["two", "three"]}
    attempt = through(bench, policy=GatePolicy(votes=4, votes_needed=4), judge=judges)
    assert [vote.judge for vote in bench.votes_seen] == ["one", "two", "three", "one"]
    assert [record.judge for record in attempt.records] == ["one", "two", "three", "one"]


@dataclass(frozen=True)
class Unreliable:
    """Judges who read some texts wrongly: any of the other options, with equal chance and independent of each other."""

    wrong: float
    tells: dict[str, str]
    options: int = 4

    def gate(self, number: int) -> Gate[int]:
        bench = Bench([])
        return Gate("exposure", RIGHT, number, bench.refine, bench.redraft)

    async def read(self, tasks: Sequence[ReadingTask[int]]) -> list[dict[str, str]]:
        return [self.reading(task) for task in tasks]

    def reading(self, task: ReadingTask[int]) -> dict[str, str]:
        rng = SeededRandom("judge", task.subject, task.vote.number)
        if not rng.bernoulli(self.wrong):
            return self.tells
        others = [f"option {place}" for place in range(self.options - 2)]
        return {"diet": rng.choice([*others, RIGHT["diet"] if self.tells != RIGHT else "option"])}

    def accepted(self, votes: int, needed: int) -> float:
        """The share of texts that the gate accepts."""
        recipe = small_recipe(gates=GatePolicy(votes=votes, votes_needed=needed))
        texts = [(self.gate(number), GateAttempt(f"t{number}", "text")) for number in range(TEXTS)]
        return sum(run(take_votes([texts], self.read, size=TEXTS, of_one=TEXTS, recipe=recipe))) / TEXTS


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


@given(st.lists(st.lists(st.integers(), max_size=6), max_size=6), st.integers(1, 9))
def test_groups_hold_every_text_once_and_no_two_of_one_source(counts: list[list[int]], size: int) -> None:
    sources = [[(number, place) for place in range(len(own))] for number, own in enumerate(counts)]
    groups = independent_groups(sources, size=size)
    assert sorted(item for group in groups for item in group) == [item for source in sources for item in source]
    assert all(len({number for number, _ in group}) == len(group) <= size for group in groups)


def sizes_of_groups(*counts: int, size: int, of_one: int) -> list[int]:
    sources = [[number] * count for number, count in enumerate(counts)]
    groups = independent_groups(sources, size=size, of_one=of_one)
    assert all(Counter(group).most_common(1)[0][1] <= of_one for group in groups)
    return sorted(len(group) for group in groups)


def test_groups_are_as_few_as_the_largest_source_allows_and_about_equal() -> None:
    # The messages of a user of `base`: of the first period many, which no call may hold.
    assert sizes_of_groups(30, 7, 5, 5, 4, 6, 7, 6, 6, 6, 6, size=24, of_one=4) == [10, 10, 10, 10, 10, 12, 12, 14]
    assert sizes_of_groups(1, 1, 1, 1, 1, size=4, of_one=1) == [2, 3]
    assert sizes_of_groups(2, 2, 2, size=3, of_one=2) == [2, 2, 2]
    assert sizes_of_groups(0, size=3, of_one=1) == []


def test_texts_that_share_a_call_are_judged_each_by_its_own_target() -> None:
    calls: list[list[str]] = []

    async def read(tasks: Sequence[ReadingTask[str]]) -> list[dict[str, str]]:
        calls.append([task.item_id for task in tasks])
        return [RIGHT if task.subject == "sound" or task.vote.refinement else WRONG for task in tasks]

    bench = Bench([])
    texts = {name: GateAttempt(name, "text") for name in ("sound", "faulty", "broken")}
    gated = [[(Gate("exposure", RIGHT, name, bench.refine, bench.redraft), attempt)] for name, attempt in texts.items()]
    recipe = small_recipe(gates=GatePolicy(votes=1, votes_needed=1))
    run(pass_gates(gated, read, size=3, recipe=recipe))
    assert calls == [["sound", "faulty", "broken"], ["faulty", "broken"]]
    assert [[vote.accepted for vote in attempt.records] for attempt in texts.values()] == [[True], [False, True], [False, True]]


def test_all_gates_of_an_item_share_its_rewritings() -> None:
    policy = GatePolicy(votes=1, votes_needed=1, max_refinements=1, max_redrafts=0)
    attempt = through(Bench([WRONG, RIGHT]), policy=policy)
    second = Bench([WRONG])
    with pytest.raises(ItemFailed, match="passed the exposure gate in 3 readings"):
        run(pass_gates([[(second.gate(), attempt)]], second.read, size=1, recipe=small_recipe(gates=policy)))
