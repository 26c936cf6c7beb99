"""Compare the users' demographics with those of the pool that they were drawn from."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from assets.amemgym.records.persona import Persona
from assets.amemgym.records.report import CoverageLine, GroupShare

COLUMNS = ("age", "sex", "education_level", "occupation", "marital_status")
# The paper's App. C.1 speaks of six groups from 18 to 85 years.
AGES = ((18, "under 18"), (30, "18-29"), (40, "30-39"), (50, "40-49"), (60, "50-59"), (70, "60-69"), (200, "70 and over"))
MOST_GROUPS = 9  # smaller ones are shown together, so that the table stays short
OTHERS = "all others"
NONE = "not told"
# Enough for two digits of the distance that 19 of 20 samples stay below.
DRAWS = 2000
USUAL = 0.95


class Share(NamedTuple):
    """A group's share of the users, and of the pool."""

    group: str
    users: float
    pool: float


def group_of(column: str, value: object) -> str:
    """Return the group that a value of the pool belongs to."""
    if column == "age" and isinstance(value, int):
        for limit, name in AGES:
            if value < limit:
                return name
    return str(value).replace("_", " ").strip() or NONE


class CoverageCounter:
    """Count the groups that users belong to."""

    def __init__(self) -> None:
        self._users = {column: Counter[str]() for column in COLUMNS}

    def add(self, user: Persona) -> None:
        for column, groups in self._users.items():
            groups[group_of(column, getattr(user, column))] += 1

    def lines(self, pool: Mapping[str, Iterable[tuple[object, int]]], *, seed: int) -> Iterator[CoverageLine]:
        """Yield a line per column. `pool` gives each column's values, and how many personas have each."""
        for column, users in self._users.items():
            if not users:
                continue
            all_people = Counter[str]()
            for value, count in pool[column]:
                all_people[group_of(column, value)] += count
            yield _line(column, users, all_people, seed=seed)


def _line(column: str, users: Counter[str], pool: Counter[str], *, seed: int) -> CoverageLine:
    shares: list[Share] = []
    difference = 0.0
    for name in _ordered(column, pool + users):
        share = Share(name, users[name] / users.total(), pool[name] / max(1, pool.total()))
        difference += abs(share.users - share.pool)
        shares.append(share)
    groups: list[GroupShare] = []
    for share in shares if column == "age" else _with_small_ones_together(shares):
        groups.append(GroupShare(group=share.group, users=round(share.users, 4), pool=round(share.pool, 4)))
    return CoverageLine(
        column=column,
        distance=round(difference / 2, 4),
        by_chance=_usual_distance(list(map(attrgetter("pool"), shares)), users=users.total(), seed=seed),
        groups=tuple(groups),
    )


def _ordered(column: str, people: Counter[str]) -> list[str]:
    """Return ages by age, all else by the number of people, then by name."""
    ages = [name for _, name in AGES if column == "age" and people[name]]
    return [*ages, *sorted(people.keys() - set(ages), key=lambda name: (-people[name], name))]


def _with_small_ones_together(shares: Sequence[Share]) -> Sequence[Share]:
    if len(shares) <= MOST_GROUPS:
        return shares
    others = Share(OTHERS, 0.0, 0.0)
    for one in shares[MOST_GROUPS - 1 :]:
        others = Share(OTHERS, others.users + one.users, others.pool + one.pool)
    return [*shares[: MOST_GROUPS - 1], others]


def _usual_distance(pool: Sequence[float], *, users: int, seed: int) -> float:
    """Return the distance from the pool that 19 of 20 uniform samples of so many users stay below."""
    import numpy as np

    chance = np.random.Generator(np.random.PCG64(seed))
    drawn = chance.multinomial(users, np.array(pool) / sum(pool), size=DRAWS) / users
    distances = np.abs(drawn - np.array(pool)).sum(axis=1) / 2
    return round(float(np.quantile(distances, USUAL)), 4)
