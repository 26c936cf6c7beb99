"""The results of a run: every metric with its interval, by period, need and age; isolated scores; what it took."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import LEAST_ROOM, Estimate
from assets.reporting.intervals import UNIT, Sample, Tallies
from assets.text.words import count_tokens
from pipelines.evaluation.arms import ArmScore, arm_scores
from pipelines.evaluation.isolated import KIND_OF, IsolatedScores, MemoryRow, isolated_scores
from pipelines.evaluation.metrics.control import PermutationControl, permutation_control
from pipelines.evaluation.metrics.episodes import EpisodeFigures, episode_figures
from pipelines.evaluation.metrics.facts import FactFigures, fact_figures
from pipelines.evaluation.metrics.metrics import METRICS, TABLE, tally_answers
from pipelines.evaluation.metrics.operations import Operations, operations_of
from pipelines.evaluation.records import CALL_FAILED, OF_MEMORY, AnswerRow, DialogueTurn, ErrorRow, RunManifest
from pipelines.evaluation.spending import PricedUsage, StepUsage

ACTED = ("code_repair", "swe", "tau2", "tool_dialogue", "webarena")  # benchmarks whose answers are episodes
NOTHING = Estimate(value=None, low=None, high=None)
WIDEST = 1.0  # an interval of a memory score that is wider says nothing: it would hold chance and a perfect memory
EVIDENCE = ("evidence_recall", "evidence_precision", "right_with_evidence")  # unknown where a memory rewrites
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

    `control`: None where no question of another user was asked; `arms`: other controls, where the run has any.
    `isolated`: S, N, O, F; none for a whole agent, or where a condition was not asked; `isolated_by`: the same over documents
    by length and by needed facts. `curve`: score by budget.
    `operations`: none in results of before there were any.
    `probes_and_answers`: counts of questions by known or not, and right or not; `evidence_and_answers`: the same by how much of
    what told the needed values was recalled word for word, none where the memory rewrites most of it. `no_memory_score`: why
    there is none, else empty. `errors`: items not evaluated to the end, whose questions count as wrong.
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
    control: PermutationControl | None
    arms: tuple[ArmScore, ...] = ()
    isolated_by: tuple[IsolatedGroup, ...]
    curve: tuple[BudgetPoint, ...]
    probes_and_answers: dict[str, int]
    evidence_and_answers: dict[str, int]
    no_memory_score: str
    counts: dict[str, int]
    fidelity: Fidelity
    spending: dict[str, PricedUsage]
    operations: Operations | None = None
    lost_writes: int
    errors: tuple[ErrorRow, ...]
    episodes: tuple[EpisodeFigures, ...] = Field(default=(), exclude_if=lambda episodes: not episodes)
    facts: tuple[FactFigures, ...] = Field(default=(), exclude_if=lambda facts: not facts)


def score(
    manifest: RunManifest,
    answers: Sequence[AnswerRow],
    turns: Sequence[DialogueTurn],
    *,
    usage: StepUsage,
    errors: Sequence[ErrorRow] = (),
) -> Results:
    """Return all results of one run; a function of its rows and the seed, and of the prices for what it took."""
    sample = sample_of(answers, manifest)
    dialogues = manifest.mode != "documents"
    questions = [answer for answer in answers if answer.kind == "question"]
    found: dict[str, dict[str, Estimate]] = {"score": {}, "baseline": {}, "cost": {}}
    for entry in TABLE:
        if entry.of in ("all", "dialogues" if dialogues else "documents"):
            [found[entry.group][entry.name]] = entry.estimates(sample)
    metrics = found["score"]
    if dialogues and not all(answer.tries for answer in questions):
        # Their probes were not asked either, and those of others would flatter.
        metrics["state_recall"] = NOTHING
    words_kept = not manifest.memory.whole and gives_back_words(questions)
    if not words_kept:
        metrics |= dict.fromkeys(EVIDENCE, NOTHING)
    problem = memory_problem(metrics["memory"], found["baseline"]) if dialogues else ""
    if problem:
        metrics["memory"] = metrics["memory_of_means"] = NOTHING
    return Results(
        run_id=manifest.run_id,
        users=sample.users,
        metrics=metrics,
        baselines=found["baseline"],
        periods=_by_period(sample, without_memory=bool(problem)) if dialogues else {},
        by_required=grouped_scores(questions, lambda answer: answer.required, manifest),
        by_age=grouped_scores(questions, lambda answer: answer.age, manifest) if dialogues else {},
        costs=found["cost"],
        isolated=_isolated(answers, manifest),
        control=permutation_control(answers, seed=manifest.seed),
        arms=arm_scores(answers, manifest),
        isolated_by=() if dialogues else tuple(_isolated_groups(answers, manifest)),
        curve=_curve(answers, manifest),
        probes_and_answers=_probes_and_answers(questions),
        evidence_and_answers=_evidence_and_answers(questions) if words_kept else {},
        no_memory_score=problem,
        counts=_counts(answers),
        fidelity=fidelity_of(turns),
        spending=usage.spending,
        operations=operations_of(questions, usage),
        lost_writes=usage.lost_writes,
        errors=tuple(errors),
        episodes=episode_figures(answers) if manifest.benchmark in ACTED else (),
        facts=fact_figures(answers, users=manifest.users, seed=manifest.seed),
    )


def _by_period(sample: Sample, *, without_memory: bool) -> dict[str, tuple[Estimate, ...]]:
    """Return the metrics that are shown by period. Memory has no score in a period where its interval says nothing."""
    found = dict[str, tuple[Estimate, ...]]()
    for entry in TABLE:
        if entry.by_period:
            found[entry.name] = entry.estimates(sample, each_period=True)
    memory = list[Estimate]()
    for estimate in found["memory"]:
        memory.append(NOTHING if without_memory or _says_nothing(estimate) else estimate)
    found["memory"] = tuple(memory)
    return found


def _says_nothing(memory: Estimate) -> bool:
    return memory.low is not None and memory.high is not None and memory.high - memory.low > WIDEST


def _isolated(answers: Sequence[AnswerRow], manifest: RunManifest) -> IsolatedScores | None:
    """Return the scores at the run's own budget; None for a whole agent, which does not answer with our reasoner."""
    if manifest.memory.whole:
        return None
    # Rows at other budgets are those of the curve.
    own = [row for row in memory_rows(answers) if row.budget == manifest.tokens]
    unasked = list[str]()
    for row in answers:
        if row.kind == "question" and not row.tries:
            unasked.append(row.user_id)
    scores = isolated_scores(own, seed=manifest.seed, unasked=unasked)
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
    scores = _isolated(rows, manifest)
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
        fact_recall=sample_of(rows, manifest).estimate(METRICS["fact_recall"], within=UNIT),
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
    if _says_nothing(memory):
        return f"There is no memory score: with these users it could be anywhere from {memory.low:.2f} to {memory.high:.2f}."
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


def _probes_and_answers(questions: Sequence[AnswerRow]) -> dict[str, int]:
    found = {"known, right": 0, "known, not right": 0, "not known, right": 0, "not known, not right": 0}
    for row in questions:
        if row.known is not None:
            known = "known" if row.known else "not known"
            right = "right" if row.status == "right" else "not right"
            found[f"{known}, {right}"] += 1
    return found


def gives_back_words(questions: Sequence[AnswerRow]) -> bool:
    """Return True where nine in ten of the recalled texts hold words that were perceived, or there are none."""
    texts = rewritten = 0
    for row in questions:
        texts += len(row.memories)
        rewritten += row.rewritten
    return 10 * rewritten <= texts


def _evidence_and_answers(questions: Sequence[AnswerRow]) -> dict[str, int]:
    """Return counts of the asked questions by recalled evidence and answer."""
    found = dict[str, int]()
    for recalled in ("all", "some", "none"):
        found |= {f"{recalled}, right": 0, f"{recalled}, not right": 0}
    for row in questions:
        if row.evidence and row.tries:
            recalled = "some" if row.evidence_recalled else "none"
            if row.evidence_recalled == row.evidence:
                recalled = "all"
            right = "right" if row.status == "right" else "not right"
            found[f"{recalled}, {right}"] += 1
    return found


def tally_users(answers: Sequence[AnswerRow], *, users: Sequence[str]) -> Tallies:
    """Return the tallies of these users over as many periods as they have."""
    own = set(users)
    last = 0
    for answer in answers:
        if answer.user_id in own:
            last = max(last, answer.period)
    return tally_answers(answers, users=users, periods=1 + last)


def sample_of(answers: Sequence[AnswerRow], manifest: RunManifest) -> Sample:
    """Return the run's users, resampled by its seed."""
    return Sample.of(tally_users(answers, users=manifest.users), seed=manifest.seed)


def grouped_scores(
    questions: Sequence[AnswerRow], key: Callable[[AnswerRow], int], manifest: RunManifest
) -> dict[str, Estimate]:
    """Return overall of each group of questions, by its key as text."""
    return {str(value): _overall(group, manifest) for value, group in _groups(questions, key).items()}


def _overall(questions: Sequence[AnswerRow], manifest: RunManifest) -> Estimate:
    return sample_of(questions, manifest).estimate(METRICS["overall"], within=UNIT)


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
