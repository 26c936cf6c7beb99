"""How the users' demographics compare with those of the pool they were drawn from."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.amemgym.records.persona import Persona
from assets.amemgym.records.report import CoverageLine, GroupShare

COLUMNS = ("age", "sex", "education_level", "occupation", "marital_status")
# The paper's App. C.1 speaks of six groups from 18 to 85 years.
AGES = ((18, "under 18"), (30, "18-29"), (40, "30-39"), (50, "40-49"), (60, "50-59"), (70, "60-69"), (200, "70 and over"))
MOST_GROUPS = 9
OTHERS, NONE = "all others", "not told"
DRAWS = 2000
USUAL = 0.95


def group_of(column: str, value: object) -> str:
    """The group that a value of the pool belongs to."""
    if column == "age" and isinstance(value, int):
        return next(name for limit, name in AGES if value < limit)
    return str(value).replace("_", " ").strip() or NONE


class CoverageCounter:
    """Counts the groups that users belong to."""

    def __init__(self) -> None:
        self._users = {column: Counter[str]() for column in COLUMNS}

    def add(self, user: Persona) -> None:
        for column, groups in self._users.items():
            groups[group_of(column, getattr(user, column))] += 1

    def lines(self, pool: Mapping[str, Iterable[tuple[object, int]]], *, seed: int) -> Iterator[CoverageLine]:
        """One line per column. `pool` gives each column's values with how many personas have them."""
        for column, users in self._users.items():
            all_people = Counter[str]()
            for value, count in pool[column] if users else ():
                all_people[group_of(column, value)] += count
            if users:
                yield _line(column, users, all_people, seed=seed)


def _line(column: str, users: Counter[str], pool: Counter[str], *, seed: int) -> CoverageLine:
    names = _ordered(column, pool + users)
    shares = {name: (users[name] / users.total(), pool[name] / max(1, pool.total())) for name in names}
    return CoverageLine(
        column=column,
        distance=round(sum(abs(own - pooled) for own, pooled in shares.values()) / 2, 4),
        by_chance=_usual_distance([pooled for _, pooled in shares.values()], users=users.total(), seed=seed),
        groups=tuple(GroupShare(group=name, users=round(a, 4), pool=round(b, 4)) for name, (a, b) in _shown(column, shares)),
    )


def _ordered(column: str, people: Counter[str]) -> list[str]:
    """Ages by age, all else by the number of people, then by name."""
    ages = [name for _, name in AGES if column == "age" and people[name]]
    return [*ages, *sorted(people.keys() - set(ages), key=lambda name: (-people[name], name))]


def _shown(column: str, shares: Mapping[str, tuple[float, float]]) -> list[tuple[str, tuple[float, float]]]:
    """The groups to show, with the small ones together."""
    rows = list(shares.items())
    if column == "age" or len(rows) <= MOST_GROUPS:
        return rows
    rest = rows[MOST_GROUPS - 1 :]
    return [*rows[: MOST_GROUPS - 1], (OTHERS, (sum(a for _, (a, _) in rest), sum(b for _, (_, b) in rest)))]


def _usual_distance(pool: Sequence[float], *, users: int, seed: int) -> float:
    """What the distance of a uniform sample of so many users stays below in 19 of 20 draws."""
    import numpy as np

    chance = np.random.Generator(np.random.PCG64(seed))
    drawn = chance.multinomial(users, np.array(pool) / sum(pool), size=DRAWS) / users
    distances = np.abs(drawn - np.array(pool)).sum(axis=1) / 2
    return round(float(np.quantile(distances, USUAL)), 4)
