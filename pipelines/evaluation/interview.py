"""Interviews after every period (all questions, all states), and baselines with perfect memory and with none (section 3.3)."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.assistant import Assistant
from pipelines.evaluation.dataset import UNKNOWN
from pipelines.evaluation.prompting import (
    ParsedAnswer,
    PromptVariant,
    ask_assistant,
    choice_question,
    shuffled_options,
    states_question,
)
from pipelines.evaluation.records import AnswerRow, AskKind, Status
from pipelines.evaluation.spending import priced_fields

T = TypeVar("T")
WITHOUT_MEMORY: dict[AskKind, PromptVariant] = {"options_only": "options_only", "no_memory": "question"}


@dataclass(frozen=True)
class InterviewRows:
    """Rows of one ask, with the model's seconds where they were measured and belong to a question."""

    rows: list[AnswerRow]
    seconds: list[float | None] = field(default_factory=list[float | None])


async def interview(assistant: Assistant, episode: Episode, *, period: int, seed: int, unknown_probe: bool) -> InterviewRows:
    """The answers to every question, then the values of every variable; all asked at the same time.

    `seed` decides the order of the options. `unknown_probe`: probe states a second time with "don't know" allowed.
    """
    probes = [False, True] if unknown_probe else [False]
    parts = await gather_all(
        [
            *(_ask_question(assistant, episode, question, period=period, seed=seed) for question in episode.questions),
            *(_ask_states(assistant, episode, period=period, seed=seed, may_not_know=may_not_know) for may_not_know in probes),
        ]
    )
    return InterviewRows([row for part in parts for row in part.rows], [seconds for part in parts for seconds in part.seconds])


async def gather_all(work: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order. The first error ends the rest and comes out as itself, not in a group."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ask_question(
    assistant: Assistant, episode: Episode, question: EpisodeQuestion, *, period: int, seed: int
) -> InterviewRows:
    options = interview_options(episode, question, period=period, seed=seed)
    ask = choice_question(question, options)
    outcome = await ask_assistant(ask, assistant.answer)
    memories = await assistant.memories(ask.question.about)
    row = choice_row(episode, question, period=period, kind="question", options=options, outcome=outcome)
    return InterviewRows([row.model_copy(update={"memories": tuple(memories)})], [outcome.seconds])


def interview_options(episode: Episode, question: EpisodeQuestion, *, period: int, seed: int) -> list[AnswerChoice]:
    """The options in the order in which the interview of this period shows them."""
    return shuffled_options(question, seed, "question", episode.user_id, period)


def choice_row(
    episode: Episode,
    question: EpisodeQuestion,
    *,
    period: int,
    kind: AskKind,
    options: Sequence[AnswerChoice],
    outcome: ParsedAnswer[str],
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
        reason=outcome.reason,
        reply=outcome.reply,
        tries=outcome.tries,
        options=len(options),
        shown=1 + [option.choice_id for option in options].index(golden),
        required=len(question.required_info),
        age=max(period - last_update_period(episode, name, period=period) for name in question.required_info),
        **priced_fields(outcome.usage),
    )


async def _ask_states(assistant: Assistant, episode: Episode, *, period: int, seed: int, may_not_know: bool) -> InterviewRows:
    kind: AskKind = "state_or_unknown" if may_not_know else "state"
    choices = {
        name: SeededRandom(seed, kind, episode.user_id, period, name).shuffled(values)
        for name, values in episode.state_schema.choices.items()
    }
    outcome = await ask_assistant(states_question(choices, may_not_know=may_not_know), assistant.answer)
    return InterviewRows([_state_row(episode, name, period=period, kind=kind, outcome=outcome) for name in choices])


def _state_row(episode: Episode, name: str, *, period: int, kind: AskKind, outcome: ParsedAnswer[dict[str, str]]) -> AnswerRow:
    true, given = episode.periods[period].state[name], (outcome.value or {}).get(name)
    return AnswerRow(
        user_id=episode.user_id,
        period=period,
        kind=kind,
        item=name,
        expected=true,
        given=given or "",
        status=status_of(given, true),
        reason="" if given else outcome.reason,
        reply=outcome.reply,
        tries=outcome.tries,
        options=len(episode.state_schema.choices[name]),
        shown=0,
        required=1,
        age=period - last_update_period(episode, name, period=period),
        **priced_fields(outcome.usage),
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


async def ask_baselines(fresh: Assistant, episode: Episode, *, seed: int) -> list[AnswerRow]:
    """The upper bound (true state given), and the two bounds below, asked of an assistant that remembers nothing.

    A question that is the same in several periods is asked once.
    """
    parts = await gather_all(
        [
            *(_upper_bound(fresh, episode, question, seed=seed) for question in episode.questions),
            *(
                _without_memory(fresh, episode, question, kind=kind, seed=seed)
                for kind in WITHOUT_MEMORY
                for question in episode.questions
            ),
        ]
    )
    return [answer for part in parts for answer in part]


async def _upper_bound(fresh: Assistant, episode: Episode, question: EpisodeQuestion, *, seed: int) -> list[AnswerRow]:
    async def ask_with(golden: str) -> tuple[list[AnswerChoice], ParsedAnswer[str]]:
        options = shuffled_options(question, seed, "upper_bound", episode.user_id, golden)
        values = next(option.state for option in question.answer_choices if option.choice_id == golden)
        state = dict(zip(question.required_info, values, strict=True))
        spec = choice_question(question, options, variant="state_given", state=state)
        return options, await ask_assistant(spec, fresh.answer)

    distinct = list(dict.fromkeys(question.golden))
    outcomes = dict(zip(distinct, await gather_all(map(ask_with, distinct)), strict=True))
    rows: list[AnswerRow] = []
    for period, golden in enumerate(question.golden):
        options, outcome = outcomes[golden]
        rows.append(choice_row(episode, question, period=period, kind="upper_bound", options=options, outcome=outcome))
    return rows


async def _without_memory(
    fresh: Assistant, episode: Episode, question: EpisodeQuestion, *, kind: AskKind, seed: int
) -> list[AnswerRow]:
    options = shuffled_options(question, seed, kind, episode.user_id)
    outcome = await ask_assistant(choice_question(question, options, variant=WITHOUT_MEMORY[kind]), fresh.answer)
    return [
        choice_row(episode, question, period=period, kind=kind, options=options, outcome=outcome)
        for period in range(len(question.golden))
    ]
