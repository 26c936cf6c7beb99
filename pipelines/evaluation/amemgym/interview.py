"""Interviews after every period (all questions, all states), and the paper's baselines (section 3.3)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar, cast

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import RequestFailed
from pipelines.evaluation.amemgym.dataset import UNKNOWN
from pipelines.evaluation.amemgym.questions import PromptVariant, choice_question, ordered_options, states_question
from pipelines.evaluation.contract import MemoryEvent, Task
from pipelines.evaluation.isolated import Condition, contents_of
from pipelines.evaluation.reasoning import Answer, GiveAnswer, ReadableTask, ask
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, AskKind, RunManifest, Status
from pipelines.evaluation.spending import priced_fields

T = TypeVar("T")
KIND_OF: dict[Condition, AskKind] = {"memory": "question", "none": "no_memory", "facts": "facts", "everything": "everything"}


class Recalling(Protocol):
    """What the interview asks: recalls for a query, and answers from recalled texts. A whole agent recalls nothing."""

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]: ...

    async def answer(self, recalled: Sequence[str], task: Task) -> str: ...


@dataclass(frozen=True)
class Interview:
    """What is asked about one user at the end of one period. `bare` answers from what it is given alone: for baselines.

    `events`: all that was perceived so far, for the condition in which everything is laid open.
    """

    subject: Recalling
    bare: Recalling
    episode: Episode
    period: int
    manifest: RunManifest
    events: Sequence[MemoryEvent] = ()


@dataclass(frozen=True)
class InterviewRows:
    """Rows of one ask, with the model's seconds where they were measured and belong to a question."""

    rows: list[AnswerRow]
    seconds: list[float | None] = field(default_factory=list[float | None])


async def hold_interview(asked: Interview) -> InterviewRows:
    """The answers to every question in every condition, then the state probes; all asked at the same time."""
    free = [False, True] if asked.manifest.unknown_probe else [False]
    work = [_ask_question(asked, question) for question in asked.episode.questions]
    work += [_probe(asked, names, probe, may_not_know=free_) for names, probe in _probe_sets(asked) for free_ in free]
    parts = await gather_all(work)
    return InterviewRows([row for part in parts for row in part.rows], [seconds for part in parts for seconds in part.seconds])


def _probe_sets(asked: Interview) -> list[tuple[Sequence[str], str]]:
    """The variables that are probed together, and the question that they are probed for."""
    questions, schema = asked.episode.questions, asked.episode.state_schema.choices
    if asked.manifest.probes == "question":
        return [(tuple(dict.fromkeys(question.required_info)), question.question_id) for question in questions]
    return [((name,), "") for name in schema] if asked.manifest.probes == "variable" else [(tuple(schema), "")]


async def gather_all(work: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order. The first error ends the rest and comes out as itself, not in a group."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def ask_or_give_up(task: ReadableTask[T], give_answer: GiveAnswer) -> Answer[T]:
    """The answer; none where the endpoint refuses this very request. Others go on."""
    try:
        return await ask(task, give_answer)
    except RequestFailed as failed:
        return Answer(None, "", 1, f"{CALL_FAILED}: {failed}")


async def _ask_question(asked: Interview, question: EpisodeQuestion) -> InterviewRows:
    """The question from the memory, in the other conditions of isolated scores, and at the budgets of the curve."""
    manifest, subject = asked.manifest, asked.subject
    options = interview_options(asked.episode, question, period=asked.period, manifest=manifest)
    task = choice_question(question, options, wording=manifest.wording)
    row = partial(_choice_row, asked.episode, question, period=asked.period, task=task, options=options)
    try:
        recalled = await subject.recall(task.task.query, tokens=manifest.tokens)
    except RequestFailed as failed:  # of an embedding
        return InterviewRows([row("question", Answer[str](None, "", 1, f"{CALL_FAILED}: {failed}"))], [None])
    contents = contents_of(
        recalled=recalled,
        facts=needed_facts(asked.episode, question, period=asked.period),
        everything=[event.line for event in asked.events],
        tokens=manifest.tokens,
    )

    async def in_condition(condition: Condition) -> tuple[AnswerRow, float | None]:
        texts = contents[condition]
        answering = subject if condition == "memory" else asked.bare
        outcome = await ask_or_give_up(task, partial(answering.answer, texts))
        shown = texts if condition == "memory" else ()
        return row(KIND_OF[condition], outcome, recalled=shown, budget=manifest.tokens), outcome.seconds

    async def at_budget(tokens: int) -> tuple[AnswerRow, float | None]:
        texts = await subject.recall(task.task.query, tokens=tokens)
        outcome = await ask_or_give_up(task, partial(subject.answer, texts))
        return row("at_budget", outcome, recalled=texts, budget=tokens), None

    own, *others = await gather_all(
        [
            in_condition("memory"),
            *(in_condition(cast(Condition, name)) for name in manifest.conditions),
            *map(at_budget, manifest.curve),
        ]
    )
    return InterviewRows([own[0], *(other for other, _ in others)], [own[1]])


def needed_facts(episode: Episode, question: EpisodeQuestion, *, period: int) -> list[str]:
    """The user's messages that last told the values which the question needs, the oldest first."""
    told: dict[str, MemoryEvent] = {}
    for session in (session for past in episode.periods[: period + 1] for session in past.sessions):
        event = MemoryEvent(session.query, "user", session.session_time)
        told |= {name: event for name in session.exposed_states if name in question.required_info}
    return list(dict.fromkeys(event.line for event in sorted(told.values(), key=lambda event: str(event.at))))


def interview_options(episode: Episode, question: EpisodeQuestion, *, period: int, manifest: RunManifest) -> list[AnswerChoice]:
    """The options in the order in which the interview of this period shows them."""
    return ordered_options(question, manifest.seed, "question", episode.user_id, period, wording=manifest.wording)


def _choice_row(
    episode: Episode,
    question: EpisodeQuestion,
    kind: AskKind,
    outcome: Answer[str],
    *,
    period: int,
    task: ReadableTask[str],
    options: Sequence[AnswerChoice],
    recalled: Sequence[str] = (),
    budget: int = 0,
) -> AnswerRow:
    """The row of a choice among `options` as they were shown, judged by the one that is right at the end of the period."""
    golden, given = question.golden[period], outcome.value
    return AnswerRow(
        user_id=episode.user_id,
        period=period,
        kind=kind,
        item=question.question_id,
        expected=golden,
        given=given or "",
        status=status_of(given, golden),
        reason=outcome.problem,
        reply=outcome.reply,
        tries=outcome.tries,
        options=len(options),
        shown=1 + [option.choice_id for option in options].index(golden),
        required=len(question.required_info),
        age=max(period - last_update_period(episode, name, period=period) for name in question.required_info),
        asked=task.task.text,
        memories=tuple(recalled),
        budget=budget,
        **priced_fields(outcome.usage),
    )


def unasked_rows(episode: Episode, answers: Sequence[AnswerRow], *, manifest: RunManifest, reason: str) -> list[AnswerRow]:
    """An unscored row for each question that was not asked, because the user could not be evaluated to the end."""
    asked = {(answer.period, answer.item) for answer in answers if answer.kind == "question"}
    rows = list[AnswerRow]()
    for period in range(len(episode.periods)):
        for question in episode.questions:
            if (period, question.question_id) not in asked:
                options = interview_options(episode, question, period=period, manifest=manifest)
                task = choice_question(question, options, wording=manifest.wording)
                outcome = Answer[str](None, "", 0, reason)
                rows.append(_choice_row(episode, question, "question", outcome, period=period, task=task, options=options))
    return rows


async def _probe(asked: Interview, names: Sequence[str], probe: str, *, may_not_know: bool) -> InterviewRows:
    """The values of these variables, asked together."""
    episode, period, manifest = asked.episode, asked.period, asked.manifest
    kind: AskKind = "state_or_unknown" if may_not_know else "state"
    choices = {name: episode.state_schema.choices[name] for name in names}
    if manifest.wording == "own":
        choices = {
            name: SeededRandom(manifest.seed, kind, episode.user_id, period, name).shuffled(values)
            for name, values in choices.items()
        }
    task = states_question(choices, may_not_know=may_not_know, wording=manifest.wording)
    recalled: Sequence[str] = ()
    try:
        recalled = await asked.subject.recall(task.task.query, tokens=manifest.tokens)
        outcome = await ask_or_give_up(task, partial(asked.subject.answer, recalled))
    except RequestFailed as failed:  # of an embedding
        outcome = Answer[dict[str, str]](None, "", 1, f"{CALL_FAILED}: {failed}")
    return InterviewRows(
        [
            AnswerRow(
                user_id=episode.user_id,
                period=period,
                kind=kind,
                item=name,
                expected=episode.periods[period].state[name],
                given=(given := (outcome.value or {}).get(name)) or "",
                status=status_of(given, episode.periods[period].state[name]),
                reason="" if given else outcome.problem,
                reply=outcome.reply,
                tries=outcome.tries,
                options=len(choices[name]),
                shown=0,
                required=1,
                age=period - last_update_period(episode, name, period=period),
                asked=task.task.text,
                probe=probe,
                memories=tuple(recalled),
                budget=manifest.tokens,
                **priced_fields(outcome.usage),
            )
            for name in choices
        ]
    )


def status_of(given: str | None, right: str) -> Status:
    if given is None:
        return "unscored"
    if given == UNKNOWN:
        return "unknown"
    return "right" if given == right else "wrong"


def last_update_period(episode: Episode, name: str, *, period: int) -> int:
    """The last period up to this one in which the user told the variable: its nearest write position."""
    updated = [index for index in range(1, period + 1) if any(u.variable == name for u in episode.periods[index].updates)]
    return max(updated, default=0)


async def ask_baselines(bare: Recalling, episode: Episode, *, manifest: RunManifest) -> list[AnswerRow]:
    """The upper bound (true state given), and the options alone; what is the same in several periods is asked once."""
    asks: list[Callable[[], Awaitable[list[AnswerRow]]]] = []
    for question in episode.questions:
        for golden in dict.fromkeys(question.golden):
            asks.append(partial(_upper_bound, bare, episode, question, golden, manifest=manifest))
        asks.append(partial(_options_only, bare, episode, question, manifest=manifest))
    return [row for rows in await gather_all(one() for one in asks) for row in rows]


async def _upper_bound(
    bare: Recalling, episode: Episode, question: EpisodeQuestion, golden: str, *, manifest: RunManifest
) -> list[AnswerRow]:
    """A row for each period in which this option is the right one."""
    path = manifest.seed, "upper_bound", episode.user_id, golden
    options = ordered_options(question, *path, wording=manifest.wording)
    values = next(option.state for option in question.answer_choices if option.choice_id == golden)
    state = dict(zip(question.required_info, values, strict=True))
    task = choice_question(question, options, wording=manifest.wording, variant="state_given", state=state)
    outcome = await ask_or_give_up(task, partial(bare.answer, ()))
    periods = [period for period, right in enumerate(question.golden) if right == golden]
    return [
        _choice_row(episode, question, "upper_bound", outcome, period=period, task=task, options=options) for period in periods
    ]


async def _options_only(
    bare: Recalling, episode: Episode, question: EpisodeQuestion, *, manifest: RunManifest
) -> list[AnswerRow]:
    variant: PromptVariant = "options_only"
    options = ordered_options(question, manifest.seed, variant, episode.user_id, wording=manifest.wording)
    task = choice_question(question, options, wording=manifest.wording, variant=variant)
    outcome = await ask_or_give_up(task, partial(bare.answer, ()))
    return [
        _choice_row(episode, question, variant, outcome, period=period, task=task, options=options)
        for period in range(len(question.golden))
    ]
