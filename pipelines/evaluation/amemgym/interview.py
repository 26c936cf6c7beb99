"""Interviews after every period (all questions, all states), and the paper's baselines (section 3.3)."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.amemgym.questions import choice_question, ordered_options, states_question
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.isolated import Recalling, answer_from, answer_in_conditions, recall_and_answer
from pipelines.evaluation.metrics.evidence import Evidence, PerceivedTexts
from pipelines.evaluation.reasoning import Answer, ReadableTask, gather_or_cancel, value_in_reply
from pipelines.evaluation.records import OF_MEMORY, AnswerRow, AnswersStep, RunManifest, Status
from pipelines.memories.contract import MemoryEvent, lines_of


@dataclass(frozen=True)
class Interview:
    """All that is asked about one user at the end of one period. `bare` answers from what it is given alone.

    `events`: all that was perceived so far, for the condition in which everything is laid open. `other`: another user, whose
    facts stand in the memory's place in one of the arms; `asks_other`: this user's questions are asked too, as a control.
    """

    subject: Recalling
    bare: Recalling
    episode: Episode
    period: int
    manifest: RunManifest
    events: Sequence[MemoryEvent] = ()
    other: Episode | None = None
    asks_other: bool = False

    @cached_property
    def perceived(self) -> PerceivedTexts:
        """All that was perceived, to be found in what is recalled."""
        return PerceivedTexts.of(self.events)


async def hold_interview(asked: Interview) -> AnswersStep:
    """Return the answers to every question in every condition, then the state probes; all are asked at the same time."""
    work: list[Awaitable[AnswersStep]] = []
    for question in asked.episode.questions:
        work.append(_ask_question(asked, question))
    for names, probe in _probe_sets(asked):
        work.append(_probe_states(asked, names, probe))
    if asked.other and asked.asks_other:
        for put in control_questions(asked.episode, asked.other, manifest=asked.manifest):
            work.append(_ask_control(asked, put))
    # At once, because recalling changes nothing.
    answers = list[AnswerRow]()
    seconds = list[float | None]()
    for part in await gather_or_cancel(work):
        answers += part.answers
        seconds += part.seconds
    return AnswersStep(answers=tuple(answers), seconds=tuple(seconds))


def _probe_sets(asked: Interview) -> list[tuple[Sequence[str], str]]:
    """Return the variables that are probed together, each time with the question that they are probed for."""
    if asked.manifest.probes == "none":
        return []
    sets = list[tuple[Sequence[str], str]]()
    for question in asked.episode.questions:
        # A question may require a variable twice.
        sets.append((tuple(dict.fromkeys(question.required_info)), question.question_id))
    return sets


@dataclass(frozen=True)
class InterviewQuestion:
    """A question as it is put at the end of a period, with its options in the order in which they are shown.

    `written`: events that the memory had been given; `evidence`: those that the answer takes.
    """

    episode: Episode
    question: EpisodeQuestion
    period: int
    task: ReadableTask[str]
    options: Sequence[AnswerChoice]
    written: int = 0
    evidence: Evidence | None = None

    def row(self, given: Answer[str]) -> AnswerRow:
        """Return the answer's row, judged by the option that is right at the end of the period."""
        golden = self.question.golden[self.period]
        names = self.question.required_info
        shown = [option.choice_id for option in self.options]
        evidence = self.evidence.columns(given.recalled) if self.evidence and given.kind in OF_MEMORY else {}
        oldest = min(last_update_period(self.episode, name, period=self.period) for name in names)
        return AnswerRow(
            user_id=self.episode.user_id,
            period=self.period,
            item=self.question.question_id,
            expected=golden,
            given=given.value or "",
            status=status_of(given.value, golden),
            options=len(shown),
            shown=1 + shown.index(golden),
            required=len(names),
            age=self.period - oldest,
            asked=self.task.task.text,
            written=self.written,
            **evidence,
            **given.columns,
        )


def interview_question(
    episode: Episode,
    question: EpisodeQuestion,
    *,
    period: int,
    manifest: RunManifest,
    written: int = 0,
    perceived: PerceivedTexts | None = None,
) -> InterviewQuestion:
    """Return the question as the interview of this period puts it."""
    options = interview_options(episode, question, period=period, manifest=manifest)
    task = choice_question(question, options, wording=manifest.wording, recall_query=manifest.recall_query)
    needed = [[event.text] for event in needed_events(episode, question, period=period)]
    evidence = Evidence(perceived or PerceivedTexts.of(()), needed)
    return InterviewQuestion(episode, question, period, task, options, written, evidence)


def interview_options(episode: Episode, question: EpisodeQuestion, *, period: int, manifest: RunManifest) -> list[AnswerChoice]:
    """Return the options in the order in which the interview of this period shows them."""
    return ordered_options(question, manifest.seed, "question", episode.user_id, period, wording=manifest.wording)


async def _ask_question(asked: Interview, question: EpisodeQuestion) -> AnswersStep:
    """Ask it from the memory, in the other conditions of isolated scores, and at the budgets of the curve."""
    episode = asked.episode
    put = interview_question(
        episode,
        question,
        period=asked.period,
        manifest=asked.manifest,
        written=len(asked.events),
        perceived=asked.perceived,
    )
    answers = await answer_in_conditions(
        put.task,
        asked.subject,
        asked.bare,
        texts=_texts_at_hand(asked, question),
        manifest=asked.manifest,
    )
    return AnswersStep(answers=tuple(map(put.row, answers)), seconds=(answers[0].seconds,))


def _texts_at_hand(asked: Interview, question: EpisodeQuestion) -> TextsAtHand:
    """Return the texts for the conditions; those for arms only where the run has any."""
    episode = asked.episode
    needed = needed_events(episode, question, period=asked.period)
    everything = lines_of(asked.events)
    if not asked.manifest.arms:
        return TextsAtHand(lines_of(needed), everything)
    told = {event.text for event in needed}
    another: list[MemoryEvent] = []
    if asked.other:
        place = episode.questions.index(question) % len(asked.other.questions)
        last = min(asked.period, len(asked.other.periods) - 1)
        another = needed_events(asked.other, asked.other.questions[place], period=last)
    return TextsAtHand(
        lines_of(needed),
        everything,
        others=lines_of(event for event in asked.events if event.text not in told),
        stale=lines_of(_stale_events(episode, question, period=asked.period)),
        another=lines_of(another),
        path=(asked.manifest.seed, episode.user_id, asked.period, question.question_id),
    )


def _stale_events(episode: Episode, question: EpisodeQuestion, *, period: int) -> list[MemoryEvent]:
    """Return the messages that stated the needed values when another option was last right; nothing where none ever was."""
    for earlier in range(period - 1, -1, -1):
        if question.golden[earlier] != question.golden[period]:
            return needed_events(episode, question, period=earlier)
    return []


def control_questions(own: Episode, stranger: Episode, *, manifest: RunManifest) -> list[InterviewQuestion]:
    """Return the other user's questions after the last period, without those that have the same values for both users."""
    period = len(stranger.periods) - 1
    state = own.periods[-1].state
    found = list[InterviewQuestion]()
    for question in stranger.questions:
        values = {name: stranger.periods[-1].state[name] for name in question.required_info}
        if any(state.get(name) != value for name, value in values.items()):
            found.append(interview_question(stranger, question, period=period, manifest=manifest))
    return found


async def _ask_control(asked: Interview, put: InterviewQuestion) -> AnswersStep:
    given = await recall_and_answer(put.task, asked.subject, tokens=asked.manifest.tokens, kind="permuted")
    return AnswersStep(answers=(put.row(given),))


def needed_events(episode: Episode, question: EpisodeQuestion, *, period: int) -> list[MemoryEvent]:
    """Return the messages of the user that last told the values which the question needs, the oldest first."""
    told: dict[str, MemoryEvent] = {}
    for past in episode.periods[: period + 1]:
        for session in past.sessions:
            event = MemoryEvent(session.query, "user", session.session_time)
            for name in session.exposed_states:
                if name in question.required_info:
                    told[name] = event
    # A message may have told several of the values.
    return sorted(dict.fromkeys(told.values()), key=lambda event: str(event.at))


def unasked_rows(episode: Episode, answers: Sequence[AnswerRow], *, manifest: RunManifest, reason: str) -> list[AnswerRow]:
    """Return an unscored row for each question that was not asked, because the user could not be evaluated to the end."""
    asked = {(answer.period, answer.item) for answer in answers if answer.kind == "question"}
    nothing = Answer[str](None, "", 0, reason)
    rows = list[AnswerRow]()
    for period in range(len(episode.periods)):
        for question in episode.questions:
            if (period, question.question_id) not in asked:
                rows.append(interview_question(episode, question, period=period, manifest=manifest).row(nothing))
    return rows


async def _probe_states(asked: Interview, names: Sequence[str], probe: str) -> AnswersStep:
    """Ask for the values of these variables together."""
    episode = asked.episode
    period = asked.period
    manifest = asked.manifest
    choices = dict[str, Sequence[str]]()
    for name in names:
        choices[name] = episode.state_schema.choices[name]
        if manifest.wording == "own":
            order = SeededRandom(manifest.seed, "state", episode.user_id, period, name)
            choices[name] = order.shuffled(choices[name])
    task = states_question(choices, wording=manifest.wording)
    given = await recall_and_answer(task, asked.subject, tokens=manifest.tokens, kind="state")
    values = given.value or {}
    right = episode.periods[period].state
    rows = list[AnswerRow]()
    for name in names:
        # What was wrong with the reply as a whole is not the reason of a value that could be read.
        answer = replace(given, problem="") if name in values else given
        row = AnswerRow(
            user_id=episode.user_id,
            period=period,
            item=name,
            expected=right[name],
            given=values.get(name, ""),
            status=status_of(values.get(name), right[name]),
            options=len(choices[name]),
            shown=0,
            required=1,
            age=period - last_update_period(episode, name, period=period),
            asked=task.task.text,
            probe=probe,
            **answer.columns,
        )
        rows.append(row)
    return AnswersStep(answers=tuple(rows))


def status_of(given: str | None, right: str) -> Status:
    if given is None:
        return "unscored"
    return "right" if given == right else "wrong"


def last_update_period(episode: Episode, name: str, *, period: int) -> int:
    """Return the last period up to this one in which the user told the variable: its nearest write position."""
    for index in range(period, 0, -1):
        for update in episode.periods[index].updates:
            if update.variable == name:
                return index
    return 0


async def ask_baselines(bare: Recalling, episode: Episode, *, manifest: RunManifest) -> list[AnswerRow]:
    """Ask for the upper bound (true state given), and the options alone; what several periods share is asked once."""
    asked: list[Awaitable[list[AnswerRow]]] = []
    for question in episode.questions:
        for golden in dict.fromkeys(question.golden):
            asked.append(_upper_bound(bare, episode, question, golden, manifest=manifest))
        asked.append(_options_only(bare, episode, question, manifest=manifest))
    rows = list[AnswerRow]()
    for part in await gather_or_cancel(asked):
        rows += part
    return rows


async def _upper_bound(
    bare: Recalling, episode: Episode, question: EpisodeQuestion, golden: str, *, manifest: RunManifest
) -> list[AnswerRow]:
    """Return a row for each period in which this option is the right one."""
    task, options = _upper_bound_task(episode, question, golden, manifest=manifest)
    given = await answer_from(task, bare, (), kind="upper_bound")
    rows = _row_by_period(episode, question, task, options, given)
    return [row for row in rows if row.expected == golden]


def _upper_bound_task(
    episode: Episode, question: EpisodeQuestion, golden: str, *, manifest: RunManifest
) -> tuple[ReadableTask[str], Sequence[AnswerChoice]]:
    wording = manifest.wording
    options = ordered_options(question, manifest.seed, "upper_bound", episode.user_id, golden, wording=wording)
    right = next(option for option in question.answer_choices if option.choice_id == golden)
    state = dict(zip(question.required_info, right.state, strict=True))
    return choice_question(question, options, wording=wording, variant="state_given", state=state), options


async def _options_only(
    bare: Recalling, episode: Episode, question: EpisodeQuestion, *, manifest: RunManifest
) -> list[AnswerRow]:
    task, options = _options_only_task(episode, question, manifest=manifest)
    given = await answer_from(task, bare, (), kind="options_only")
    return _row_by_period(episode, question, task, options, given)


def _options_only_task(
    episode: Episode, question: EpisodeQuestion, *, manifest: RunManifest
) -> tuple[ReadableTask[str], Sequence[AnswerChoice]]:
    wording = manifest.wording
    options = ordered_options(question, manifest.seed, "options_only", episode.user_id, wording=wording)
    return choice_question(question, options, wording=wording, variant="options_only"), options


def graded_row(episode: Episode, row: AnswerRow, *, manifest: RunManifest) -> AnswerRow:
    """Return the row as its reply is graded by the episode."""
    if row.kind == "state":
        right = episode.periods[row.period].state[row.item]
        # Of a value that another try told, or that is part of a reply which is no whole, the row is believed.
        status = status_of(row.given or None, right)
        return row.model_copy(update={"expected": right, "status": status})
    question = next(one for one in episode.questions if one.question_id == row.item)
    golden = question.golden[row.period]
    if row.kind == "upper_bound":
        task, _ = _upper_bound_task(episode, question, golden, manifest=manifest)
    elif row.kind == "options_only":
        task, _ = _options_only_task(episode, question, manifest=manifest)
    else:
        task = interview_question(episode, question, period=row.period, manifest=manifest).task
    given = value_in_reply(task, row)
    return row.model_copy(update={"expected": golden, "given": given or "", "status": status_of(given, golden)})


def _row_by_period(
    episode: Episode, question: EpisodeQuestion, task: ReadableTask[str], options: Sequence[AnswerChoice], given: Answer[str]
) -> list[AnswerRow]:
    periods = range(len(question.golden))
    return [InterviewQuestion(episode, question, period, task, options).row(given) for period in periods]
