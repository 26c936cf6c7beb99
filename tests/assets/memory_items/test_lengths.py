"""Tasks are filled up to a length that the memory receives, by whole clusters, or given up."""

from collections.abc import Sequence

import pytest

from assets.memory_items.documents import ItemDocument, Turn, tokens_of
from assets.memory_items.facts import SourceDocument
from assets.memory_items.lengths import FillerRoom, usable_filler
from assets.recipe.document_tasks import Eviction
from assets.records.base import ItemFailed
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.research_tasks import made_task, make, small_recipe, worlds


def document(number: int, *, words: int, support: bool = False) -> ItemDocument:
    role = "support" if support else "filler"
    return ItemDocument(document_id=f"d{number}", title="A title", text="word " * words, role=role)


TURNS = tuple(Turn(documents=(document(number, words=40, support=True),)) for number in range(3))
ROOM = FillerRoom(Eviction(), 0.05, (1,))


def alone(numbers: Sequence[int], *, words: int) -> list[list[ItemDocument]]:
    return [[document(number, words=words + number % 50)] for number in numbers]


@pytest.mark.parametrize("target", [400, 1000, 5000])
def test_the_length_is_within_its_tolerance_whatever_the_filler(target: int) -> None:
    filler = alone(range(10, 200), words=30)
    chosen = ROOM.choose_filler(TURNS, filler, target=target)
    sized = ROOM.fill_turns(TURNS, [filler[number] for number in chosen], target=target)
    assert tokens_of(sized.turns) == sized.tokens
    assert abs(sized.tokens - target) <= 0.05 * target


def test_a_length_that_cannot_be_met_is_given_up_with_both_numbers() -> None:
    filler = alone([9], words=111)
    assert ROOM.choose_filler(TURNS, filler, target=5000) == [0]
    with pytest.raises(ItemFailed, match=r"A length of 5000 tokens, 5% more or less, cannot be met: with 1\d+ tokens"):
        ROOM.fill_turns(TURNS, filler, target=5000)


def test_a_longer_length_has_the_filler_of_the_shorter_one_in_the_same_turns() -> None:
    filler = alone(range(10, 60), words=60)
    first = ROOM.choose_filler(TURNS, filler, target=1000)
    second = ROOM.choose_filler(TURNS, filler, target=2000, before=first)
    assert set(first) < set(second)
    short = ROOM.fill_turns(TURNS, [filler[number] for number in first], target=1000)
    long = ROOM.fill_turns(TURNS, [filler[number] for number in second], target=2000)
    turn_of = {one.document_id: number for number, turn in enumerate(long.turns) for one in turn.documents}
    for number, turn in enumerate(short.turns):
        assert {turn_of[one.document_id] for one in turn.documents} == {number}


def test_filler_of_one_cluster_is_there_whole_or_not_at_all() -> None:
    """A name of a cut cluster comes up once in its task, which tells that nothing asks for it."""
    recipe = small_recipe(lengths=(5000, 8000))
    task = run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel()))
    clusters: dict[str, set[str]] = {}
    for one in task.sources.filler:
        clusters.setdefault(one.cluster, set()).add(one.document_id)
    for sized in task.lengths.lengths:
        present = {one.document_id for one in sized.documents if one.role == "filler"}
        assert present
        cut = [name for name, members in clusters.items() if members & present and not members <= present]
        assert cut == []


def test_filler_that_has_a_value_with_its_words_joined_otherwise_is_left_out() -> None:
    task = made_task()
    hop = task.question.hops[-1].model_copy(update={"value": "'keyvalue'", "options": ()})
    first = task.sources.filler[0]
    leaking = first.model_copy(update={"text": f"{first.text} It was called with 'key-value' then."})
    assert usable_filler([leaking], [hop], turns=()) == []


def test_a_cluster_that_tells_something_of_the_chain_is_left_out_whole() -> None:
    task = made_task()
    first, second, *_ = (SourceDocument(**one.model_dump()) for one in task.sources.filler)
    leaking = first.model_copy(update={"text": f"{first.text} {task.question.starts[0]} is known.", "cluster": "a"})
    groups = usable_filler(
        [
            leaking,
            second.model_copy(update={"cluster": "a"}),
            second.model_copy(update={"document_id": "other", "cluster": "b"}),
        ],
        task.question.hops,
        turns=task.turns.turns,
    )
    assert [[one.document_id for one in group] for group in groups] == [["other"]]
