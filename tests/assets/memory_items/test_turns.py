"""Documents that disagree arrive by one law, and no turn is empty."""

from collections import Counter

import pytest

from assets.memory_items.documents import ItemDocument
from assets.memory_items.facts import Fact
from assets.memory_items.tasks import rival_first_at
from assets.memory_items.turns import in_turns, rivals_of
from assets.recipe.deep_research import DeepResearchRecipe
from tests.support.research_tasks import small_recipe


def fact(document_id: str, value: str, *, relation: str = "seat") -> Fact:
    return Fact(
        fact_id=f"{document_id}-0",
        document_id=document_id,
        subject="A",
        relation=relation,
        value=value,
        phrase="the seat of {x}",
        kind="name",
        start=0,
        end=1,
    )


HOPS = (fact("needed", "B"), fact("next", "C", relation="mayor"))
RIVAL = fact("rival", "D")


def document(document_id: str) -> ItemDocument:
    facts = [hop.fact_id for hop in HOPS if hop.document_id == document_id]
    return ItemDocument(document_id=document_id, title="A title", text="A text.", role="sibling", facts=tuple(facts))


def turns_of(number: int, *, beside: int, rival_first: bool, recipe: DeepResearchRecipe) -> dict[str, int]:
    """Return by document the turn in which it arrives, and check that none is empty."""
    names = ["needed", "next", "rival", *(f"beside {one}" for one in range(beside))]
    turns = in_turns(
        [document(name) for name in names],
        HOPS,
        rivals=rivals_of(HOPS, [*HOPS, RIVAL]),
        rival_first=rival_first,
        recipe=recipe,
        path=("turns", number),
    )
    if beside > len(turns):
        assert all(turn.documents for turn in turns)
    return {one.document_id: place for place, turn in enumerate(turns) for one in turn.documents}


@pytest.mark.parametrize("eviction", [{}, {"mode": "window", "window_turns": 2}])
def test_what_does_not_count_comes_first_where_the_task_says_so_never_in_the_last_turns(
    eviction: dict[str, object],
) -> None:
    recipe = small_recipe(eviction=eviction, num_quiet_turns=3)
    for number in range(60):
        for rival_first in (True, False):
            turn_of = turns_of(number, beside=6, rival_first=rival_first, recipe=recipe)
            assert (turn_of["rival"] < turn_of["needed"]) == rival_first
            assert len({turn_of["needed"], turn_of["next"]}) == 2
            assert max(turn_of["rival"], turn_of["needed"]) < 5 - recipe.eviction.hidden_turns


def test_rivals_and_hops_are_in_every_turn_equally_often() -> None:
    recipe = small_recipe(num_quiet_turns=2)
    rivals, needed = Counter[int](), Counter[int]()
    for number in range(400):
        turn_of = turns_of(number, beside=4, rival_first=bool(number % 2), recipe=recipe)
        rivals[turn_of["rival"]] += 1
        needed[turn_of["needed"]] += 1
    assert set(rivals) == set(needed) == {0, 1, 2}
    assert all(abs(rivals[turn] - needed[turn]) < 40 for turn in rivals)


def test_no_turn_is_empty_where_there_are_documents_enough() -> None:
    for number in range(60):
        turns_of(number, beside=5, rival_first=False, recipe=small_recipe())


def test_of_each_two_tasks_one_has_what_does_not_count_first() -> None:
    recipe = small_recipe()
    first = [rival_first_at(position, recipe) for position in range(40)]
    assert all(first[place] != first[place + 1] for place in range(0, 40, 2))
    assert first[::2].count(True) not in (0, 20)
