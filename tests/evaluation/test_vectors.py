"""Memories lie in DuckDB, are found by likeness, and survive a dump unchanged."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.evaluation.assistants.vector_index import VectorIndex, shared_database

EAST, NORTH, NORTHEAST = (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)


def three_memories() -> VectorIndex:
    index = VectorIndex(shared_database())
    index.add([("2020-10-01", "east"), ("2020-10-02", "north"), ("2020-10-03", "between")], [EAST, NORTH, NORTHEAST])
    return index


def search(index: VectorIndex, vector: tuple[float, ...], limit: int = 3) -> list[str]:
    return [memory.text for memory in index.search(vector, limit=limit)]


def test_the_most_alike_come_first_and_of_equals_the_older() -> None:
    assert search(three_memories(), (0.9, 0.1)) == ["east", "between", "north"]
    assert search(three_memories(), NORTHEAST) == ["between", "east", "north"]


def test_an_empty_index_finds_nothing() -> None:
    assert search(VectorIndex(shared_database()), EAST) == []


def test_a_changed_memory_keeps_its_number_and_a_dropped_one_is_gone() -> None:
    index = three_memories()
    index.change(0, at="2021-01-01", text="west", vector=(-1.0, 0.0))
    index.drop(1)

    assert search(index, EAST) == ["between", "west"]
    assert index.search((-1.0, 0.0), limit=1)[0].number == 0


def test_numbers_are_never_given_twice() -> None:
    index = three_memories()
    index.drop(2)
    index.add([("2021-01-01", "new")], [EAST])

    assert index.search(EAST, limit=2)[1].number == 3


def test_indexes_do_not_see_each_other() -> None:
    first, second = three_memories(), VectorIndex(shared_database())
    second.add([("2020-10-01", "other")], [EAST])

    assert search(first, EAST, 1) == ["east"]
    assert search(second, EAST) == ["other"]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=20), st.floats(-10, 10, width=32), st.floats(-10, 10, width=32)), max_size=6))
def test_a_restored_index_has_the_same_dump(rows: list[tuple[str, float, float]]) -> None:
    index, copy = VectorIndex(shared_database()), VectorIndex(shared_database())
    if rows:
        index.add([("2020-10-01", text) for text, _, _ in rows], [(x, y) for _, x, y in rows])
    copy.load(index.dump())

    assert copy.dump() == index.dump()
