"""The results of a run: every metric with its interval, by period, need and age; isolated scores; what it took."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from assets.llm.text import count_tokens
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import UNIT, Sample, Tallies, rounded, share
from pipelines.evaluation.isolated import KIND_OF, IsolatedScores, MemoryRow, isolated_scores
from pipelines.evaluation.metrics.metrics import LEAST_ROOM, METRICS, TABLE, MetricEntry, tally
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, DialogueTurn, ErrorRow, RunManifest
from pipelines.evaluation.spending import PricedUsage, StepUsage

NOTHING = Estimate(value=None, low=None, high=None)
WIDEST = 1.0  # an interval of a memory score that is wider says nothing
CONDITION_OF = {kind: condition for condition, kind in KIND_OF.items()}


class Fidelity(Record):
    """How often the simulated user gave tracked values away, in its messages after the opening ones.

    `score` is the share of messages without a breach; `asked_again` counts further tries.
    """

    messages: int
    asked_again: int
    kept_with_breach: int
    breaches: dict[str, int]
    score: float | None


class BudgetPoint(Record):
    """The overall score with so many tokens of recalled text."""

    tokens: int
    overall: Estimate


class IsolatedGroup(Record):
    """Isolated scores of the questions of one length, or of one number of needed facts. Token counts are means."""

    by: Literal["length", "facts"]
    value: int
    scores: IsolatedScores
    fact_recall: Estimate
    written_tokens: float
    recalled_tokens: float


class Results(Record):
    """`results.json`. Estimates by name; lists run over the periods; groups are keyed by their value as text.

    `isolated`: S, N, O, F; none for a whole agent, or where a condition was not asked; `isolated_by`: the same over documents
    by length and by needed facts. `curve`: score against budget. `probes_and_answers`: counts of questions by known or not, and
    right or not. `no_memory_score`: why there is none, else empty. `errors`: items that could not be evaluated to the end;
    their questions count as wrong.
    """

    run_id: str
    users: int
    metrics: dict[str, Estimate]
    baselines: dict[str, Estimate]
    periods: dict[str, tuple[Estimate, ...]]
    by_required: dict[str, Estimate]
    by_age: dict[str, Estimate]
    costs: dict[str, Estimate]
    isolated: IsolatedScores | None
    isolated_by: tuple[IsolatedGroup, ...]
    curve: tuple[BudgetPoint, ...]
    probes_and_answers: dict[str, int]
    no_memory_score: str
    counts: dict[str, int]
    fidelity: Fidelity
    spending: dict[str, PricedUsage]
    lost_writes: int
    errors: tuple[ErrorRow, ...]


def score(
    manifest: RunManifest,
    answers: Sequence[AnswerRow],
    turns: Sequence[DialogueTurn],
    *,
    usage: StepUsage,
    errors: Sequence[ErrorRow] = (),
) -> Results:
    """All results of one run; a function of its rows and the seed, and of the prices for what it took."""
    sample, dialogues = sample_of(answers, manifest), manifest.mode != "documents"
    questions = [answer for answer in answers if answer.kind == "question"]
    table = [entry for entry in TABLE if entry.of in ("all", "dialogues" if dialogues else "documents")]
    by_group = {
        group: {entry.name: entry.estimates(sample)[0] for entry in table if entry.group == group}
        for group in ("score", "detail", "baseline", "cost")
    }
    metrics = {**by_group["score"], **by_group["detail"]}
    if not manifest.unknown_probe:  # nobody was asked so
        metrics |= {name: NOTHING for name in metrics if name.endswith("_if_unsure")}
    if any(not answer.tries for answer in questions):  # their probes were not asked either, and those of others would flatter
        metrics |= {name: NOTHING for name in metrics if name.startswith("state_")}
    problem = memory_problem(metrics["memory"], by_group["baseline"]) if dialogues else ""
    if problem:
        metrics |= dict.fromkeys(("memory", "memory_of_means"), NOTHING)

    def by(key: Callable[[AnswerRow], int]) -> dict[str, Estimate]:
        return _grouped(questions, key, manifest)

    return Results(
        run_id=manifest.run_id,
        users=sample.users,
        metrics=metrics,
        baselines=by_group["baseline"],
        periods={
            entry.name: _of_periods(entry, sample, without=bool(problem)) for entry in table if entry.by_period and dialogues
        },
        by_required=by(lambda answer: answer.required),
        by_age=by(lambda answer: answer.age) if dialogues else {},
        costs=by_group["cost"],
        isolated=_isolated(answers, manifest),
        isolated_by=() if dialogues else tuple(_isolated_groups(answers, manifest)),
        curve=_curve(answers, manifest),
        probes_and_answers=_probes_and_answers(questions),
        no_memory_score=problem,
        counts=_counts(answers),
        fidelity=fidelity_of(turns),
        spending=usage.spending,
        lost_writes=usage.lost_writes,
        errors=tuple(errors),
    )


def _of_periods(entry: MetricEntry, sample: Sample, *, without: bool) -> tuple[Estimate, ...]:
    """A metric by period. `without`: no memory score; nor has a period one where its interval says nothing."""
    estimates = entry.estimates(sample, each_period=True)
    if entry.name != "memory":
        return estimates
    return tuple(NOTHING if without or _says_nothing(one) else one for one in estimates)


def _says_nothing(memory: Estimate) -> bool:
    return memory.low is not None and memory.high is not None and memory.high - memory.low > WIDEST


def _isolated(answers: Sequence[AnswerRow], manifest: RunManifest) -> IsolatedScores | None:
    """The scores at the run's own budget; none for a whole agent, which does not answer with our reasoner.

    No memory has nothing to gain over none.
    """
    own = [row for row in memory_rows(answers) if row.budget == manifest.tokens]
    unasked = [row.user_id for row in answers if row.kind == "question" and not row.tries]
    scores = None if manifest.memory.whole else isolated_scores(own, seed=manifest.seed, unasked=unasked)
    if scores is None or manifest.memory.kind != "none":
        return scores
    return scores.model_copy(update={"gain": NOTHING, "gain_share": NOTHING})


def _isolated_groups(answers: Sequence[AnswerRow], manifest: RunManifest) -> Iterator[IsolatedGroup]:
    """The scores by length, then by needed facts."""
    keys: dict[Literal["length", "facts"], Callable[[AnswerRow], int]] = {
        "length": lambda row: row.length,
        "facts": lambda row: row.required,
    }
    for by, key in keys.items():
        for value in sorted(set(map(key, answers))):
            rows = [row for row in answers if key(row) == value]
            asked = [row for row in rows if row.kind == "question" and row.tries]
            scores = _isolated(rows, manifest)
            if scores is not None:
                yield IsolatedGroup(
                    by=by,
                    value=value,
                    scores=scores,
                    fact_recall=sample_of(rows, manifest).estimate(METRICS["fact_recall"], within=UNIT),
                    written_tokens=round(sum(row.written_tokens for row in asked) / len(asked), 1),
                    recalled_tokens=round(sum(count_tokens(text) for row in asked for text in row.memories) / len(asked), 1),
                )


def memory_problem(memory: Estimate, baselines: dict[str, Estimate]) -> str:
    """Why no memory score can be given, as a sentence; "" where it can."""
    bound, chance = baselines["upper_bound"].value, baselines["random"].value
    if bound is None or chance is None:
        return "There is no memory score: the upper bound was not asked, or could not be read."
    if bound - chance < LEAST_ROOM or memory.value is None:
        return (
            f"There is no memory score: the upper bound ({bound:.3f}) is too near to chance ({chance:.3f}) to place a memory "
            "between them."
        )
    if _says_nothing(memory):
        return f"There is no memory score: with these users it could be anywhere from {memory.low:.2f} to {memory.high:.2f}."
    return ""


def memory_rows(answers: Sequence[AnswerRow]) -> list[MemoryRow]:
    """A row for each question and budget, with what was right in which condition."""
    others = {(_place(row), CONDITION_OF[row.kind]): row.status == "right" for row in answers if row.kind in CONDITION_OF}
    return [
        MemoryRow(
            cluster=row.user_id,
            length=row.length,
            item=row.item,
            turn=row.period,
            query=row.asked,
            written=row.written,
            budget=row.budget,
            recalled=row.memories,
            recalled_tokens=sum(map(count_tokens, row.memories)),
            right_with_memory=row.status == "right",
            right_with_none=others.get((_place(row), "none")),
            right_with_facts=others.get((_place(row), "facts")),
            right_with_everything=others.get((_place(row), "everything")),
        )
        for row in answers
        if row.kind in ("question", "at_budget") and row.tries
    ]


def _place(row: AnswerRow) -> tuple[object, ...]:
    """What is the same for a question in all conditions."""
    return row.user_id, row.length, row.period, row.item


def _curve(answers: Sequence[AnswerRow], manifest: RunManifest) -> tuple[BudgetPoint, ...]:
    """Overall by budget, the run's own among them; nothing where there is only that."""
    points = list[BudgetPoint]()
    for tokens in sorted({*manifest.curve, manifest.tokens}) if manifest.curve else ():
        kind = "question" if tokens == manifest.tokens else "at_budget"
        rows = [
            row
            for row in answers
            if (row.kind == kind and row.budget in (tokens, 0)) or (row.kind == "question" and not row.tries)
        ]
        as_questions = [row.model_copy(update={"kind": "question"}) for row in rows]
        points.append(BudgetPoint(tokens=tokens, overall=_overall(as_questions, manifest)))
    return tuple(points)


def _probes_and_answers(questions: Sequence[AnswerRow]) -> dict[str, int]:
    found = Counter(
        f"{'known' if row.known else 'not known'}, {'right' if row.status == 'right' else 'not right'}"
        for row in questions
        if row.known is not None
    )
    return {
        f"{known}, {right}": found[f"{known}, {right}"] for known in ("known", "not known") for right in ("right", "not right")
    }


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
    return {str(value): _overall(group, manifest) for value, group in sorted(groups.items())}


def _overall(questions: Sequence[AnswerRow], manifest: RunManifest) -> Estimate:
    return sample_of(questions, manifest).estimate(METRICS["overall"], within=UNIT)


def _counts(answers: Sequence[AnswerRow]) -> dict[str, int]:
    counts = Counter(f"{answer.kind}.{status}" for answer in answers for status in ("asked", answer.status))
    again = Counter(f"{answer.kind}.asked_again" for answer in answers if answer.tries > 1)
    failed = Counter(f"{answer.kind}.{CALL_FAILED}" for answer in answers if answer.reason.startswith(CALL_FAILED))
    return dict(sorted((counts + again + failed).items()))


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
