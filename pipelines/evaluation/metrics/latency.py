"""Seconds that answers and the memory's own calls took: a run's only figures that no reply decides."""

from collections.abc import Mapping, Sequence
from typing import Annotated, get_args

import numpy as np
from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Tallies, quotient
from assets.reporting.statistic import rounded
from pipelines.evaluation.spending import MemoryCall

Seconds = Annotated[float, Field(ge=0)]


class CallSeconds(Record):
    """Seconds of one kind of call by the clock; of the `measured` calls a twentieth exceed `slowest`, a hundredth `p99`.

    `made`: calls of that kind, those that the reply cache helped included; 0 where nobody counted them. Where none was measured
    its seconds are 0.
    """

    measured: int
    made: int = 0
    mean: Seconds = 0.0
    median: Seconds
    slowest: Seconds
    p99: Seconds | None = None

    @property
    def quantiles(self) -> str:
        """Return p50 / p95 / p99; "-" where less than half was measured: the rest may be the calls that ask a model."""
        if 2 * self.measured < self.made:
            return "-"
        return " / ".join(f"{value:.3f}" for value in (self.median, self.slowest, self.p99) if value is not None)


class Latency(Record):
    """`latency.json`: seconds of the reasoner's model for each answer to a question, one call after another.

    `mean` has its interval over users; `median` and `slowest` (a twentieth took longer) have none. `timed` of the
    `answers` were measured; those that the reply cache answered were not. `memory`: its own calls, by what was called.
    """

    answers: int
    timed: int
    mean: Estimate
    median: Seconds | None
    slowest: Seconds | None
    memory: dict[MemoryCall, CallSeconds] = Field(default_factory=dict[MemoryCall, CallSeconds])

    @property
    def memory_mean(self) -> float | None:
        """Return the seconds of all calls of the memory for each answer; None where less than half of one kind was measured."""
        if not self.answers or any(2 * calls.measured < calls.made for calls in self.memory.values()):
            return None
        return sum(calls.mean * calls.made for calls in self.memory.values()) / self.answers

    @property
    def by_call(self) -> dict[str, CallSeconds]:
        """Return the seconds of an `answer` and of the memory's calls, of those that were measured."""
        found: dict[str, CallSeconds] = {call: seconds for call, seconds in self.memory.items() if seconds.measured}
        if self.median is not None and self.slowest is not None:
            found["answer"] = CallSeconds(
                measured=self.timed, made=self.answers, mean=self.mean.value or 0.0, median=self.median, slowest=self.slowest
            )
        return found


def latency_of(
    users: Sequence[Sequence[float | None]], *, memory: Mapping[MemoryCall, Sequence[float | None]] | None = None
) -> Latency:
    """Return the latency over the users' answers, and over the calls of the memory."""
    every = list[float]()
    by_user = dict[str, dict[str, float]]()
    for place, answers in enumerate(users):
        timed = [seconds for seconds in answers if seconds is not None]
        every += timed
        by_user[str(place)] = {"seconds": sum(timed), "answers": len(timed)}
    tallies = Tallies.of(by_user, names=("seconds", "answers"))
    median, slowest = map(rounded, np.quantile(every, [0.5, 0.95])) if every else (None, None)
    return Latency(
        answers=sum(map(len, users)),
        timed=len(every),
        mean=tallies.estimate(quotient("seconds", "answers", kind="amount", within=None)),
        median=median,
        slowest=slowest,
        memory=_seconds_of_calls(memory or {}),
    )


def _seconds_of_calls(memory: Mapping[MemoryCall, Sequence[float | None]]) -> dict[MemoryCall, CallSeconds]:
    found = dict[MemoryCall, CallSeconds]()
    for call in get_args(MemoryCall):
        made = memory.get(call, ())
        seconds = [value for value in made if value is not None]
        if made:
            median, slowest, p99 = (round(float(value), 6) for value in np.quantile(seconds or [0.0], [0.5, 0.95, 0.99]))
            found[call] = CallSeconds(
                measured=len(seconds),
                made=len(made),
                mean=round(float(np.mean(seconds or [0.0])), 6),
                median=median,
                slowest=slowest,
                p99=p99,
            )
    return found
