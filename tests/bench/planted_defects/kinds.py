"""The kinds of defects. A new kind is a function that says whether the checks raise an alarm, and one entry in `KINDS`.

Every kind is tried at the same number of sites, once with the defect and once without: alarms at the first are catches,
at the second false alarms. A site is a number; whatever a kind needs there it makes from that number.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.bench.planted_defects import calendar_and_cast, facts, messages, queries, stories, texts
from tests.bench.planted_defects.trial import Trial


@dataclass(frozen=True)
class Kind:
    """One kind of defect; `alarm` is whether the project's own checks refuse what stands at the site."""

    name: str
    alarm: Callable[[Trial], Awaitable[bool]]


KINDS: tuple[Kind, ...] = (
    *(Kind(f"query: {name}", queries.alarm_of(plant)) for name, plant in queries.PLANTS.items()),
    *(Kind(f"message: {name}", messages.alarm_of(name)) for name in messages.PLANTS),
    *(Kind(name, alarm) for name, alarm in stories.ALARMS.items()),
    *(Kind(name, alarm) for name, alarm in texts.ALARMS.items()),
    *(Kind(name, alarm) for name, alarm in calendar_and_cast.ALARMS.items()),
    *(Kind(name, alarm) for name, alarm in facts.ALARMS.items()),
)
