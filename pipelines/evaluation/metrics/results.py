"""The results of a run: every metric with its interval, by period, by need and by age; what the run used; how long it took."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Sample, Tallies, rounded, share
from pipelines.evaluation.metrics.metrics import BASELINES, COSTS, METRICS, PERIOD_METRICS, tally
from pipelines.evaluation.records import AnswerRow, DialogueTurn, RunManifest
from pipelines.evaluation.spending import PricedUsage, StepUsage


class Fidelity(Record):
    """How often the simulated user gave tracked values away, in its messages after the opening ones.

    `score` is the share of messages without a breach; `asked_again` counts further tries.
    """

    messages: int
    asked_again: int
    kept_with_breach: int
    breaches: dict[str, int]
    score: float | None


class Results(Record):
    """`results.json`. Estimates by name; lists run over the periods; groups are keyed by their value as text."""

    run_id: str
    metrics: dict[str, Estimate]
    baselines: dict[str, Estimate]
    periods: dict[str, tuple[Estimate, ...]]
    by_required: dict[str, Estimate]
    by_age: dict[str, Estimate]
    costs: dict[str, Estimate]
    counts: dict[str, int]
    fidelity: Fidelity
    spending: dict[str, PricedUsage]
    cut_calls: int
    failed_writes: int


def score(manifest: RunManifest, answers: Sequence[AnswerRow], turns: Sequence[DialogueTurn], *, usage: StepUsage) -> Results:
    """All results of one run; a function of its rows and the seed, and of the prices for what it took."""
    sample = sample_of(answers, manifest)
    questions = [answer for answer in answers if answer.kind == "question"]

    def by(key: Callable[[AnswerRow], int]) -> dict[str, Estimate]:
        return _grouped(questions, key, manifest)

    return Results(
        run_id=manifest.run_id,
        metrics={name: sample.estimate(metric) for name, metric in METRICS.items()},
        baselines={name: sample.estimate(metric) for name, metric in BASELINES.items()},
        periods={name: sample.estimates(metric) for name, metric in PERIOD_METRICS.items()},
        by_required=by(lambda answer: answer.required),
        by_age=by(lambda answer: answer.age),
        costs={name: sample.estimate(metric) for name, metric in COSTS.items()},
        counts=_counts(answers),
        fidelity=fidelity_of(turns),
        spending=usage.spending,
        cut_calls=usage.cut_calls,
        failed_writes=usage.failed_writes,
    )


def tally_users(answers: Sequence[AnswerRow], *, users: Sequence[str]) -> Tallies:
    """The tallies of these users over as many periods as they have."""
    own = set(users)
    return tally(
        answers, users=users, periods=1 + max((answer.period for answer in answers if answer.user_id in own), default=0)
    )


def sample_of(answers: Sequence[AnswerRow], manifest: RunManifest) -> Sample:
    """The run's users, resampled by its seed."""
    return Sample.of(tally_users(answers, users=manifest.users), seed=manifest.seed)


def _grouped(questions: Sequence[AnswerRow], key: Callable[[AnswerRow], int], manifest: RunManifest) -> dict[str, Estimate]:
    groups: dict[int, list[AnswerRow]] = {}
    for answer in questions:
        groups.setdefault(key(answer), []).append(answer)
    overall = METRICS["overall"]
    return {str(value): sample_of(group, manifest).estimate(overall) for value, group in sorted(groups.items())}


def _counts(answers: Iterable[AnswerRow]) -> dict[str, int]:
    counts = Counter(f"{answer.kind}.{status}" for answer in answers for status in ("asked", answer.status))
    again = Counter(f"{answer.kind}.asked_again" for answer in answers if answer.tries > 1)
    return dict(sorted((counts + again).items()))


def fidelity_of(turns: Sequence[DialogueTurn]) -> Fidelity:
    """Over the simulated user's own messages; the opening queries are the dataset's."""
    own = [turn for turn in turns if turn.round > 0]
    breached = sum(bool(turn.breaches) for turn in own)
    kinds = Counter(breach.partition(" ")[0] for turn in own for breach in turn.breaches)
    return Fidelity(
        messages=len(own),
        asked_again=sum(turn.tries - 1 for turn in own),
        kept_with_breach=breached,
        breaches=dict(sorted(kinds.items())),
        score=round(1 - breached / len(own), 6) if own else None,
    )


class Latency(Record):
    """`latency.json`: seconds of model time for each answer to a question, one call after another.

    `mean` has its interval over users; `median` and `slowest` (a twentieth took longer) have none. `timed` of the
    `answers` were measured; those that the reply cache answered were not.
    """

    answers: int
    timed: int
    mean: Estimate
    median: float | None
    slowest: float | None


def latency_of(users: Sequence[Sequence[float | None]], *, seed: int) -> Latency:
    """The latency over the users' answers."""
    timed = [[one for one in seconds if one is not None] for seconds in users]
    counts = {
        "seconds": np.array([[sum(seconds)] for seconds in timed], dtype=float).reshape(-1, 1),
        "answers": np.array([[len(seconds)] for seconds in timed], dtype=float).reshape(-1, 1),
    }
    sample = Sample.of(Tallies(tuple(map(str, range(len(users)))), counts), seed=seed)
    every = [one for seconds in timed for one in seconds]
    median, slowest = np.quantile(every, [0.5, 0.95]) if every else (np.nan, np.nan)
    return Latency(
        answers=sum(map(len, users)),
        timed=len(every),
        mean=sample.estimate(share("seconds", "answers")),
        median=rounded(median),
        slowest=rounded(slowest),
    )
