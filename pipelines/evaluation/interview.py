"""Interviews after every period (all questions, all states), and baselines with perfect memory and with none (section 3.3)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from assets.amemgym.records.answer import AnswerChoice
from assets.amemgym.records.episode import Episode, EpisodeQuestion
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
class Interview:
    """Who is asked about, when, and by which seed the options stand where."""

    episode: Episode
    period: int
    seed: int
    unknown_probe: bool


@dataclass(frozen=True)
class InterviewRows:
    """Rows of one ask, with the model's seconds where they were measured and belong to a question."""

    rows: list[AnswerRow]
    seconds: list[float | None] = field(default_factory=list[float | None])


async def interview(assistant: Assistant, asked: Interview) -> InterviewRows:
    """The answers to every question, then the values of every variable; all asked at the same time."""
    probes = [False, True] if asked.unknown_probe else [False]
    parts = await gather_all(
        [
            *(_ask_question(assistant, asked, question) for question in asked.episode.questions),
            *(_ask_states(assistant, asked, may_not_know=may_not_know) for may_not_know in probes),
        ]
    )
    return InterviewRows([row for part in parts for row in part.rows], [one for part in parts for one in part.seconds])


async def gather_all(work: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order. The first error ends the rest and comes out as itself, not in a group."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ask_question(assistant: Assistant, asked: Interview, question: EpisodeQuestion) -> InterviewRows:
    options = shown_options(asked.episode, question, period=asked.period, seed=asked.seed)
    ask = choice_question(question, options)
    outcome = await ask_assistant(ask, assistant.answer)
    memories = await assistant.memories(ask.question.about)
    row = choice_row(asked.episode, question, period=asked.period, kind="question", seen=Seen(options, outcome))
    return InterviewRows([row.model_copy(update={"memories": tuple(memories)})], [outcome.seconds])


def shown_options(episode: Episode, question: EpisodeQuestion, *, period: int, seed: int) -> list[AnswerChoice]:
    """The options in the order in which the interview of this period shows them."""
    return shuffled_options(question, seed, "question", episode.user_id, period)


@dataclass(frozen=True)
class Seen:
    """The options as they were shown, and what came of it."""

    options: Sequence[AnswerChoice]
    outcome: ParsedAnswer[str]


def choice_row(episode: Episode, question: EpisodeQuestion, *, period: int, kind: AskKind, seen: Seen) -> AnswerRow:
    """The row of a choice, judged by the option that is right at the end of the period."""
    golden, given = question.golden[period], seen.outcome.value
    return AnswerRow(
        user_id=episode.user_id,
        period=period,
        kind=kind,
        item=question.question_id,
        expected=golden,
        given=given or "",
        status=status_of(given, golden),
        reason=seen.outcome.reason,
        reply=seen.outcome.reply,
        tries=seen.outcome.tries,
        options=len(seen.options),
        shown=1 + [option.choice_id for option in seen.options].index(golden),
        required=len(question.required_info),
        age=max(period - last_update_period(episode, name, period=period) for name in question.required_info),
        **priced_fields(seen.outcome.usage),
    )


async def _ask_states(assistant: Assistant, asked: Interview, *, may_not_know: bool) -> InterviewRows:
    kind: AskKind = "state_or_unknown" if may_not_know else "state"
    episode, period = asked.episode, asked.period
    choices = {
        name: SeededRandom(asked.seed, kind, episode.user_id, period, name).shuffled(values)
        for name, values in episode.state_schema.choices.items()
    }
    outcome = await ask_assistant(states_question(choices, may_not_know=may_not_know), assistant.answer)
    return InterviewRows([_state_row(asked, name, kind=kind, outcome=outcome) for name in choices])


def _state_row(asked: Interview, name: str, *, kind: AskKind, outcome: ParsedAnswer[dict[str, str]]) -> AnswerRow:
    true, given = asked.episode.periods[asked.period].state[name], (outcome.value or {}).get(name)
    return AnswerRow(
        user_id=asked.episode.user_id,
        period=asked.period,
        kind=kind,
        item=name,
        expected=true,
        given=given or "",
        status=status_of(given, true),
        reason="" if given else outcome.reason,
        reply=outcome.reply,
        tries=outcome.tries,
        options=len(asked.episode.state_schema.choices[name]),
        shown=0,
        required=1,
        age=asked.period - last_update_period(asked.episode, name, period=asked.period),
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
    told = [index for index in range(1, period + 1) if any(u.variable == name for u in episode.periods[index].updates)]
    return max(told, default=0)


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
    lived = list(dict.fromkeys(question.golden))

    async def seen_with(golden: str) -> Seen:
        options = shuffled_options(question, seed, "upper_bound", episode.user_id, golden)
        values = next(option.state for option in question.answer_choices if option.choice_id == golden)
        state = dict(zip(question.required_info, values, strict=True))
        return Seen(
            options, await ask_assistant(choice_question(question, options, variant="state_given", state=state), fresh.answer)
        )

    seen = dict(zip(lived, await gather_all([seen_with(golden) for golden in lived]), strict=True))
    return _every_period(episode, question, kind="upper_bound", seen=lambda golden: seen[golden])


async def _without_memory(
    fresh: Assistant, episode: Episode, question: EpisodeQuestion, *, kind: AskKind, seed: int
) -> list[AnswerRow]:
    options = shuffled_options(question, seed, kind, episode.user_id)
    outcome: ParsedAnswer[str] = await ask_assistant(
        choice_question(question, options, variant=WITHOUT_MEMORY[kind]), fresh.answer
    )
    return _every_period(episode, question, kind=kind, seen=lambda golden: Seen(options, outcome))


def _every_period(
    episode: Episode, question: EpisodeQuestion, *, kind: AskKind, seen: Callable[[str], Seen]
) -> list[AnswerRow]:
    return [
        choice_row(episode, question, period=period, kind=kind, seen=seen(golden))
        for period, golden in enumerate(question.golden)
    ]
