"""How varied a finished set is: questions that ask nearly the same, and people beside their pool."""

from assets.records.base import Record


class Twins(Record):
    """Two questions that ask nearly the same; `likeness` is the greater of words' and meaning's, from 0 to 1."""

    first_user: str
    first: str
    second_user: str
    second: str
    likeness: float


class Diversity(Record):
    """Near-duplicate questions. `near_within` and `near_across` are shares of questions that have a near twin.

    `meaning`: the embedding model that compared meanings, or why none did. `likeness`: how many questions have their
    nearest twin at a likeness of up to 0.1, 0.2, ... 1.
    """

    questions: int
    threshold: float
    meaning: str
    near_within: float
    near_across: float
    likeness: tuple[int, ...]
    twins: tuple[Twins, ...] = ()


class GroupShare(Record):
    """A group's share of the users and of the pool."""

    group: str
    users: float
    pool: float


class CoverageLine(Record):
    """A demographic column: `distance` is the share of users who would have to be of another group to match the pool.

    `by_chance`: the distance that a uniform sample of as many users stays below in 19 of 20 draws.
    """

    column: str
    distance: float
    by_chance: float
    groups: tuple[GroupShare, ...]
