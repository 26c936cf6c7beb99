"""The results of a run: every metric with its interval, by period, need and age; isolated scores; what it took."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from assets.llm.usage import Usage
from assets.records.base import Record
from assets.records.estimate import LEAST_ROOM, NOTHING, Estimate
from assets.reporting.intervals import Tallies
from assets.text.words import count_tokens
from pipelines.evaluation.arms import ArmScore, arm_scores
from pipelines.evaluation.isolated import KIND_OF
from pipelines.evaluation.metrics.control import PermutationControl, permutation_control
from pipelines.evaluation.metrics.isolated_scores import IsolatedScores, MemoryRow, isolated_scores
from pipelines.evaluation.metrics.metrics import METRICS, TABLE, tally_answers
from pipelines.evaluation.metrics.operations import OWN_PURPOSES, Operations, losses_of, operations_of
from pipelines.evaluation.metrics.own import OwnFigures, own_metrics_of
from pipelines.evaluation.records import CALL_FAILED, OF_MEMORY, AnswerRow, DialogueTurn, ErrorRow, RunManifest
from pipelines.evaluation.spending import PricedUsage, StepUsage
from pipelines.memories.hosting.confinement import asks_the_run_alone

# Unknown where a memory rewrites, and nothing that `none` could have.
OF_WORDS = ("misread", "evidence_recall", "evidence_precision", "right_with_evidence")
CONDITION_OF = {kind: condition for condition, kind in KIND_OF.items()}


class Fidelity(Record):
    """Counts of the simulated user giving tracked values away, in its messages after the opening ones.

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

    `control`: None where no question of another user was asked; `arms`: what the memory's text did, and controls in its place.
    `isolated`: S, N, O, F; none for a whole agent, or where a condition was not asked; `isolated_by`: the same over documents
    by length and by needed facts. `curve`: score by budget.
    `losses`: calls of the memory that were lost, and writes that were repeated, in words; a score with any bears a mark.
    `no_memory_score`: why there is none, else empty. `own`: figures that only this kind of item has. `errors`: items not
    evaluated to the end, whose questions count as wrong.
    """

    run_id: str
    users: int
    metrics: dict[str, Estimate]
    losses: str
    baselines: dict[str, Estimate]
    periods: dict[str, tuple[Estimate, ...]]
    by_required: dict[str, Estimate]
    by_age: dict[str, Estimate]
    costs: dict[str, Estimate]
    isolated: IsolatedScores | None
    control: PermutationControl | None
    arms: tuple[ArmScore, ...] = ()
    isolated_by: tuple[IsolatedGroup, ...]
    curve: tuple[BudgetPoint, ...]
    no_memory_score: str
    counts: dict[str, int]
    fidelity: Fidelity
    spending: dict[str, PricedUsage]
    operations: Operations
    errors: tuple[ErrorRow, ...]
    own: tuple[OwnFigures, ...] = Field(default=(), exclude_if=lambda figures: not figures)

    def own_figure(self, name: str) -> float | None:
        """Return one of the own figures of all questions; None where there is none of this name."""
        for figures in self.own:
            if figures.value == "question" and name in figures.figures:
                return figures[name].value
        return None


def score(
    manifest: RunManifest,
    answers: Sequence[AnswerRow],
    turns: Sequence[DialogueTurn],
    *,
    usage: StepUsage,
    errors: Sequence[ErrorRow] = (),
) -> Results:
    """Return all results of one run; a function of its rows, and of the prices for what it took."""
    tallies = tally_users(answers, users=manifest.users)
    dialogues = manifest.mode == "dialogue"
    own = own_metrics_of(manifest.mode)
    questions = [answer for answer in answers if answer.kind == "question"]
    found: dict[str, dict[str, Estimate]] = {"score": {}, "baseline": {}, "cost": {}}
    for entry in TABLE:
        if not entry.of or manifest.mode in entry.of:
            [found[entry.group][entry.name]] = entry.estimates(tallies)
    metrics = found["score"]
    if dialogues and not all(answer.tries for answer in questions):
        # Their probes were not asked either, and those of others would flatter.
        metrics["state_recall"] = NOTHING
    words_kept = not manifest.memory.whole and manifest.memory.kind != "none" and gives_back_words(questions)
    if not words_kept:
        metrics |= dict.fromkeys(metrics.keys() & OF_WORDS, NOTHING)
    problem = memory_problem(metrics["memory"], found["baseline"]) if dialogues else ""
    if problem:
        metrics["memory"] = NOTHING
    return Results(
        run_id=manifest.run_id,
        users=len(tallies.users),
        metrics=metrics,
        losses=losses_of(usage.work),
        baselines=found["baseline"],
        periods=_by_period(tallies, metrics) if dialogues else {},
        by_required=grouped_scores(questions, lambda answer: answer.required, manifest),
        by_age=grouped_scores(questions, lambda answer: answer.age, manifest) if dialogues else {},
        costs={"memory_usd_per_1000_answers": _memory_price(manifest, usage, asked=len(questions)), **found["cost"]},
        isolated=_isolated_scores(answers, manifest),
        control=permutation_control(answers),
        arms=arm_scores(answers, manifest),
        isolated_by=() if dialogues else tuple(_isolated_groups(answers, manifest)),
        curve=_curve(answers, manifest),
        no_memory_score=problem,
        counts=_counts(answers),
        fidelity=fidelity_of(turns),
        spending=usage.spending,
        operations=operations_of(questions, usage, words_kept=words_kept, dialogues=dialogues),
        errors=tuple(errors),
        own=own.figures(answers, manifest) if own else (),
    )


def _by_period(tallies: Tallies, metrics: Mapping[str, Estimate]) -> dict[str, tuple[Estimate, ...]]:
    """Return the metrics that are shown by period and exist over all."""
    found = dict[str, tuple[Estimate, ...]]()
    for entry in TABLE:
        if entry.by_period:
            estimates = entry.estimates(tallies, each_period=True)
            if metrics.get(entry.name) == NOTHING:
                estimates = (NOTHING,) * len(estimates)
            found[entry.name] = estimates
    return found


def _memory_price(manifest: RunManifest, usage: StepUsage, *, asked: int) -> Estimate:
    """Return the list price of all that the memory caused, for a thousand questions: its own calls and embeddings.

    It is unknown where the memory may ask models by itself.
    """
    own = [usage.spending[purpose] for purpose in OWN_PURPOSES if purpose in usage.spending]
    usd = sum(own, Usage()).usd
    if usd is None or not asked or not asks_the_run_alone(manifest.boundary):
        return NOTHING
    return Estimate(value=round(1000 * usd / asked, 6), low=None, high=None)


def _isolated_scores(answers: Sequence[AnswerRow], manifest: RunManifest) -> IsolatedScores | None:
    """Return the scores at the run's own budget; None for a whole agent, which does not answer with our reasoner."""
    if manifest.memory.whole:
        return None
    # Rows at other budgets are those of the curve.
    own = [row for row in memory_rows(answers) if row.budget == manifest.tokens]
    unasked = list[str]()
    for row in answers:
        if row.kind == "question" and not row.tries:
            unasked.append(row.user_id)
    scores = isolated_scores(own, unasked=unasked)
    if scores is None or manifest.memory.kind != "none":
        return scores
    # No memory has nothing to gain over none.
    return scores.model_copy(update={"gain": NOTHING, "gain_share": NOTHING})


def _isolated_groups(answers: Sequence[AnswerRow], manifest: RunManifest) -> Iterator[IsolatedGroup]:
    """Yield the scores by length, then by needed facts."""
    for length, rows in _groups(answers, lambda row: row.length).items():
        yield from _isolated_group("length", length, rows, manifest)
    for facts, rows in _groups(answers, lambda row: row.required).items():
        yield from _isolated_group("facts", facts, rows, manifest)


def _groups(answers: Sequence[AnswerRow], key: Callable[[AnswerRow], int]) -> dict[int, list[AnswerRow]]:
    """Return the answers by this key, in its order."""
    groups = dict[int, list[AnswerRow]]()
    for answer in sorted(answers, key=key):
        groups.setdefault(key(answer), []).append(answer)
    return groups


def _isolated_group(
    by: Literal["length", "facts"], value: int, rows: Sequence[AnswerRow], manifest: RunManifest
) -> Iterator[IsolatedGroup]:
    """Return the group, or nothing where a condition was not asked."""
    scores = _isolated_scores(rows, manifest)
    if scores is None:
        return
    asked = written = recalled = 0
    for row in rows:
        if row.kind == "question" and row.tries:
            asked += 1
            written += row.written_tokens
            recalled += _tokens_of(row.memories)
    yield IsolatedGroup(
        by=by,
        value=value,
        scores=scores,
        fact_recall=tally_users(rows, users=manifest.users).estimate(METRICS["fact_recall"]),
        written_tokens=round(written / asked, 1),
        recalled_tokens=round(recalled / asked, 1),
    )


def _tokens_of(texts: Sequence[str]) -> int:
    return sum(map(count_tokens, texts))


def memory_problem(memory: Estimate, baselines: dict[str, Estimate]) -> str:
    """Return why no memory score can be given, as a sentence; "" where it can."""
    bound = baselines["upper_bound"].value
    chance = baselines["random"].value
    if bound is None or chance is None:
        return "There is no memory score: the upper bound was not asked, or could not be read."
    if bound - chance < LEAST_ROOM or memory.value is None:
        return (
            f"There is no memory score: the upper bound ({bound:.3f}) is too near to chance ({chance:.3f}) to place a memory "
            "between them."
        )
    return ""


def memory_rows(answers: Sequence[AnswerRow]) -> list[MemoryRow]:
    """Return a row for each question and budget, with what was right in which condition."""
    others = dict[tuple[object, ...], bool]()
    facts = dict[tuple[object, ...], tuple[str, ...]]()
    for row in answers:
        if row.kind in CONDITION_OF:
            others[*row.question_key, CONDITION_OF[row.kind]] = row.status == "right"
        if row.kind == "facts":
            facts[row.question_key] = row.memories
    found = list[MemoryRow]()
    for row in answers:
        if row.kind not in OF_MEMORY or not row.tries:
            continue
        memory_row = MemoryRow(
            cluster=row.user_id,
            length=row.length,
            item=row.item,
            turn=row.period,
            query=row.asked,
            written=row.written,
            budget=row.budget,
            recalled=row.memories,
            recalled_tokens=_tokens_of(row.memories),
            facts=facts.get(row.question_key, ()),
            fact_recall=row.fact_recall,
            right_with_memory=row.status == "right",
            right_with_none=others.get((*row.question_key, "none")),
            right_with_facts=others.get((*row.question_key, "facts")),
            right_with_everything=others.get((*row.question_key, "everything")),
        )
        found.append(memory_row)
    return found


def _curve(answers: Sequence[AnswerRow], manifest: RunManifest) -> tuple[BudgetPoint, ...]:
    """Return overall by budget, the run's own among them; nothing where there is only that."""
    if not manifest.curve:
        return ()
    points = list[BudgetPoint]()
    for tokens in sorted({*manifest.curve, manifest.tokens}):
        kind = "question" if tokens == manifest.tokens else "at_budget"
        rows = list[AnswerRow]()
        for row in answers:
            asked = row.kind == kind and row.budget in (tokens, 0)
            # One that was never asked counts as wrong at every budget.
            if asked or (row.kind == "question" and not row.tries):
                rows.append(row.model_copy(update={"kind": "question"}))
        points.append(BudgetPoint(tokens=tokens, overall=_overall(rows, manifest)))
    return tuple(points)


def gives_back_words(questions: Sequence[AnswerRow]) -> bool:
    """Return True where nine in ten of the recalled texts hold words that were perceived, or there are none."""
    texts = rewritten = 0
    for row in questions:
        texts += len(row.memories)
        rewritten += row.rewritten
    return 10 * rewritten <= texts


def tally_users(answers: Sequence[AnswerRow], *, users: Sequence[str]) -> Tallies:
    """Return the tallies of these users over as many periods as they have."""
    own = set(users)
    last = 0
    for answer in answers:
        if answer.user_id in own:
            last = max(last, answer.period)
    return tally_answers(answers, users=users, periods=1 + last)


def grouped_scores(
    questions: Sequence[AnswerRow], key: Callable[[AnswerRow], int], manifest: RunManifest
) -> dict[str, Estimate]:
    """Return overall of each group of questions, by its key as text."""
    return {str(value): _overall(group, manifest) for value, group in _groups(questions, key).items()}


def _overall(questions: Sequence[AnswerRow], manifest: RunManifest) -> Estimate:
    return tally_users(questions, users=manifest.users).estimate(METRICS["overall"])


def _counts(answers: Sequence[AnswerRow]) -> dict[str, int]:
    counts = Counter[str]()
    for answer in answers:
        counts[f"{answer.kind}.asked"] += 1
        counts[f"{answer.kind}.{answer.status}"] += 1
        if answer.tries > 1:
            counts[f"{answer.kind}.asked_again"] += 1
        if answer.reason.startswith(CALL_FAILED):
            counts[f"{answer.kind}.{CALL_FAILED}"] += 1
    return dict(sorted(counts.items()))


def fidelity_of(turns: Sequence[DialogueTurn]) -> Fidelity:
    """Return the fidelity of the simulated user's own messages; the opening queries are the dataset's."""
    messages = asked_again = breached = 0
    kinds = Counter[str]()
    for turn in turns:
        if turn.round > 0:
            messages += 1
            asked_again += turn.tries - 1
            breached += bool(turn.breaches)
            for breach in turn.breaches:
                kinds[breach.partition(" ")[0]] += 1
    return Fidelity(
        messages=messages,
        asked_again=asked_again,
        kept_with_breach=breached,
        breaches=dict(sorted(kinds.items())),
        score=round(1 - breached / messages, 6) if messages else None,
    )
