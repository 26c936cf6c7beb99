"""Interviews after every period (all questions, all states), and the paper's baselines (section 3.3)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.amemgym.dataset import UNKNOWN
from pipelines.evaluation.amemgym.questions import PromptVariant, choice_question, ordered_options, states_question
from pipelines.evaluation.contract import MemoryEvent
from pipelines.evaluation.isolated import Recalling, answer_from_memory, answer_in_conditions, ask_or_give_up
from pipelines.evaluation.reasoning import Answer, ReadableTask, gather_all
from pipelines.evaluation.records import AnswerRow, AnswersStep, AskKind, RunManifest, Status


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


async def hold_interview(asked: Interview) -> AnswersStep:
    """The answers to every question in every condition, then the state probes; all asked at the same time."""
    free = [False, True] if asked.manifest.unknown_probe else [False]
    work = [_ask_question(asked, question) for question in asked.episode.questions]
    work += [_probe(asked, names, probe, may_not_know=free_) for names, probe in _probe_sets(asked) for free_ in free]
    parts = await gather_all(work)
    seconds = tuple(one for part in parts for one in part.seconds)
    return AnswersStep(answers=tuple(row for part in parts for row in part.answers), seconds=seconds)


def _probe_sets(asked: Interview) -> list[tuple[Sequence[str], str]]:
    """The variables that are probed together, and the question that they are probed for."""
    questions, schema = asked.episode.questions, asked.episode.state_schema.choices
    if asked.manifest.probes == "question":
        return [(tuple(dict.fromkeys(question.required_info)), question.question_id) for question in questions]
    return [((name,), "") for name in schema] if asked.manifest.probes == "variable" else [(tuple(schema), "")]


@dataclass(frozen=True)
class InterviewQuestion:
    """A question as it is put at the end of a period, with its options in the order in which they are shown.

    `written`: events that the memory had been given.
    """

    episode: Episode
    question: EpisodeQuestion
    period: int
    task: ReadableTask[str]
    options: Sequence[AnswerChoice]
    written: int = 0

    def row(self, given: Answer[str]) -> AnswerRow:
        """The answer's row, judged by the option that is right at the end of the period."""
        question, period, value = self.question, self.period, given.value
        golden, names = question.golden[period], question.required_info
        return AnswerRow(
            user_id=self.episode.user_id,
            period=period,
            item=question.question_id,
            expected=golden,
            given=value or "",
            status=status_of(value, golden),
            options=len(self.options),
            shown=1 + [option.choice_id for option in self.options].index(golden),
            required=len(names),
            age=max(period - last_update_period(self.episode, name, period=period) for name in names),
            asked=self.task.task.text,
            written=self.written,
            **given.columns,
        )


def interview_question(
    episode: Episode, question: EpisodeQuestion, *, period: int, manifest: RunManifest, written: int = 0
) -> InterviewQuestion:
    """The question as the interview of this period puts it."""
    options = interview_options(episode, question, period=period, manifest=manifest)
    task = choice_question(question, options, wording=manifest.wording)
    return InterviewQuestion(episode, question, period, task, options, written)


async def _ask_question(asked: Interview, question: EpisodeQuestion) -> AnswersStep:
    """The question from the memory, in the other conditions of isolated scores, and at the budgets of the curve."""
    episode, period = asked.episode, asked.period
    put = interview_question(episode, question, period=period, manifest=asked.manifest, written=len(asked.events))
    answers = await answer_in_conditions(
        put.task,
        asked.subject,
        asked.bare,
        facts=needed_facts(episode, question, period=period),
        everything=[event.line for event in asked.events],
        manifest=asked.manifest,
    )
    return AnswersStep(answers=tuple(map(put.row, answers)), seconds=(answers[0].seconds,))


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


def unasked_rows(episode: Episode, answers: Sequence[AnswerRow], *, manifest: RunManifest, reason: str) -> list[AnswerRow]:
    """An unscored row for each question that was not asked, because the user could not be evaluated to the end."""
    asked = {(answer.period, answer.item) for answer in answers if answer.kind == "question"}
    nothing = Answer[str](None, "", 0, reason)
    return [
        interview_question(episode, question, period=period, manifest=manifest).row(nothing)
        for period in range(len(episode.periods))
        for question in episode.questions
        if (period, question.question_id) not in asked
    ]


async def _probe(asked: Interview, names: Sequence[str], probe: str, *, may_not_know: bool) -> AnswersStep:
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
    given = await answer_from_memory(task, asked.subject, tokens=manifest.tokens, kind=kind)
    values, state = given.value or {}, episode.periods[period].state
    understood: dict[str, Any] = {**given.columns, "reason": ""}
    rows = [
        AnswerRow(
            user_id=episode.user_id,
            period=period,
            item=name,
            expected=state[name],
            given=values.get(name, ""),
            status=status_of(values.get(name), state[name]),
            options=len(choices[name]),
            shown=0,
            required=1,
            age=period - last_update_period(episode, name, period=period),
            asked=task.task.text,
            probe=probe,
            **(understood if name in values else given.columns),
        )
        for name in choices
    ]
    return AnswersStep(answers=tuple(rows))


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
    given = await ask_or_give_up(task, partial(bare.answer, ()), "upper_bound")
    periods = [period for period, right in enumerate(question.golden) if right == golden]
    return [InterviewQuestion(episode, question, period, task, options).row(given) for period in periods]


async def _options_only(
    bare: Recalling, episode: Episode, question: EpisodeQuestion, *, manifest: RunManifest
) -> list[AnswerRow]:
    variant: PromptVariant = "options_only"
    options = ordered_options(question, manifest.seed, variant, episode.user_id, wording=manifest.wording)
    task = choice_question(question, options, wording=manifest.wording, variant=variant)
    given = await ask_or_give_up(task, partial(bare.answer, ()), "options_only")
    return [InterviewQuestion(episode, question, period, task, options).row(given) for period in range(len(question.golden))]
