"""What AMemGym asks: all questions and states after every period, and the paper's baselines (section 3.3)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.amemgym.questions import choice_question, ordered_options, states_question
from pipelines.evaluation.amemgym.sample import Places
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.metrics.evidence import Evidence
from pipelines.evaluation.reasoning import Answer, ReadableTask
from pipelines.evaluation.records import OF_CONDITIONS, OF_MEMORY, AnswerRow, AskKind, RunManifest, Status
from pipelines.evaluation.timeline.steps import AskedQuestion, Json, Perceived
from pipelines.memories.contract import MemoryEvent, lines_of


@dataclass(frozen=True)
class InterviewQuestion(AskedQuestion):
    """A question as it is put at the end of a period. `other`: a user whose facts stand in the memory's place in an arm."""

    episode: Episode
    question: EpisodeQuestion
    period: int
    manifest: RunManifest
    other: Episode | None = None
    kind: AskKind = "question"

    @property
    def item(self) -> str:
        return self.question.question_id

    @cached_property
    def options(self) -> Sequence[AnswerChoice]:
        """The options in the order in which they are shown."""
        return interview_options(self.episode, self.question, period=self.period, manifest=self.manifest)

    def render(self) -> ReadableTask[str]:
        manifest = self.manifest
        return choice_question(self.question, self.options, wording=manifest.wording, recall_query=manifest.recall_query)

    def verdict(self, value: Any, *, period: int) -> dict[str, Any]:
        golden = self.question.golden[period]
        return {"expected": golden, "given": value or "", "status": status_of(value, golden)}

    def rows(self, given: Answer[str], seen: Perceived) -> list[AnswerRow]:
        return [self.row(given, seen, period=self.period)]

    def row(self, given: Answer[str], seen: Perceived, *, period: int) -> AnswerRow:
        """Return the answer's row, judged by the option that is right at the end of the period."""
        names = self.question.required_info
        evidence = dict[str, int]()
        if given.kind in OF_MEMORY:
            needed = [[event.text] for event in needed_events(self.episode, self.question, period=period)]
            evidence = Evidence(seen.texts, needed).columns(given.recalled)
        shown = [option.choice_id for option in self.options]
        oldest = min(last_update_period(self.episode, name, period=period) for name in names)
        return AnswerRow(
            user_id=self.episode.user_id,
            period=period,
            item=self.item,
            **self.verdict(given.value, period=period),
            options=len(shown),
            shown=1 + shown.index(self.question.golden[period]),
            required=len(names),
            age=period - oldest,
            asked=self.readable.task.text,
            written=0 if given.kind in OF_CONDITIONS else len(seen.events),
            **evidence,
            **given.columns,
        )

    def texts(self, seen: Perceived, *, seed: int) -> TextsAtHand:
        """Return the texts for the conditions; those for arms only where the run has any."""
        episode = self.episode
        needed = needed_events(episode, self.question, period=self.period)
        everything = lines_of(seen.events)
        if not self.manifest.arms:
            return TextsAtHand(lines_of(needed), everything)
        told = {event.text for event in needed}
        another = list[MemoryEvent]()
        if self.other:
            place = episode.questions.index(self.question) % len(self.other.questions)
            last = min(self.period, len(self.other.periods) - 1)
            another = needed_events(self.other, self.other.questions[place], period=last)
        return TextsAtHand(
            lines_of(needed),
            everything,
            others=lines_of(event for event in seen.events if event.text not in told),
            stale=lines_of(_stale_events(episode, self.question, period=self.period)),
            another=lines_of(another),
            path=(seed, episode.user_id, self.period, self.question.question_id),
        )

    @property
    def page_fields(self) -> Json:
        options = list[Json]()
        for option in self.question.answer_choices:
            options.append({"id": option.choice_id, "text": option.answer, "state": option.state})
        return {"query": self.question.query, "required": self.question.required_info, "options": options}


@dataclass(frozen=True)
class BaselineQuestion(InterviewQuestion):
    """A question to the reasoner alone, once for all of these periods: its options, or the true state in which `golden` is
    right.
    """

    periods: Sequence[int] = ()
    golden: str = ""

    @cached_property
    def options(self) -> Sequence[AnswerChoice]:
        path = [self.golden] if self.golden else []
        seed = self.manifest.seed
        return ordered_options(self.question, seed, self.kind, self.episode.user_id, *path, wording=self.manifest.wording)

    def render(self) -> ReadableTask[str]:
        wording = self.manifest.wording
        if not self.golden:
            return choice_question(self.question, self.options, wording=wording, variant="options_only")
        right = next(option for option in self.question.answer_choices if option.choice_id == self.golden)
        state = dict(zip(self.question.required_info, right.state, strict=True))
        return choice_question(self.question, self.options, wording=wording, variant="state_given", state=state)

    def rows(self, given: Answer[str], seen: Perceived) -> list[AnswerRow]:
        rows = list[AnswerRow]()
        for period in self.periods:
            if self.golden in ("", self.question.golden[period]):
                rows.append(self.row(given, seen, period=period))
        return rows


@dataclass(frozen=True)
class StateProbe(AskedQuestion):
    """The variables that a question needs, asked for together. `with_names`: those that are asked for in the same call."""

    episode: Episode
    question: EpisodeQuestion
    period: int
    manifest: RunManifest
    with_names: tuple[str, ...] = ()
    kind: AskKind = "state"

    @property
    def item(self) -> str:
        return self.question.question_id

    @property
    def shares_call(self) -> bool:
        return self.manifest.probes == "period"

    def in_one_call(self, others: Sequence[AskedQuestion]) -> "StateProbe":
        names = set(self.question.required_info)
        for other in others:
            assert isinstance(other, StateProbe)
            names.update(other.question.required_info)
        return self._with(names)

    def _with(self, names: Collection[str]) -> "StateProbe":
        """Return the same with these names in the call: the question's own in its order, more in that of the schema."""
        if len(names) == len(set(self.question.required_info)):
            return self
        return replace(self, with_names=tuple(name for name in self.episode.state_schema.choices if name in names))

    @cached_property
    def choices(self) -> Mapping[str, Sequence[str]]:
        choices = dict[str, Sequence[str]]()
        for name in self.with_names or self.question.required_info:
            choices[name] = self.episode.state_schema.choices[name]
            if self.manifest.wording == "own":
                order = SeededRandom(self.manifest.seed, "state", self.episode.user_id, self.period, name)
                choices[name] = order.shuffled(choices[name])
        return choices

    def render(self) -> ReadableTask[dict[str, str]]:
        return states_question(self.choices, wording=self.manifest.wording)

    def rows(self, given: Answer[dict[str, str]], seen: Perceived) -> list[AnswerRow]:
        values = given.value or {}
        right = self.episode.periods[self.period].state
        rows = list[AnswerRow]()
        for name in dict.fromkeys(self.question.required_info):
            # What was wrong with the reply as a whole is not the reason of a value that could be read.
            answer = replace(given, problem="") if name in values else given
            row = AnswerRow(
                user_id=self.episode.user_id,
                period=self.period,
                item=name,
                expected=right[name],
                given=values.get(name, ""),
                status=status_of(values.get(name), right[name]),
                options=len(self.choices[name]),
                shown=0,
                required=1,
                age=self.period - last_update_period(self.episode, name, period=self.period),
                asked=self.readable.task.text,
                probe=self.item,
                **answer.columns,
            )
            rows.append(row)
        return rows

    def grade(self, row: AnswerRow, seen: Perceived) -> AnswerRow:
        names = [name for name in self.episode.state_schema.choices if f'"{name}":' in row.asked]
        asked = self._with(names) if self.shares_call and row.asked else self
        return super(StateProbe, asked).grade(row, seen)

    def value_of(self, row: AnswerRow) -> dict[str, str]:
        values: dict[str, str] = super().value_of(row) or {}
        # A value that the last of two replies does not tell may stand in the first, which is not kept: the row is believed.
        believed = {row.item: row.given} if row.tries > 1 and row.given else {}
        return {**believed, **values}


def interview_options(episode: Episode, question: EpisodeQuestion, *, period: int, manifest: RunManifest) -> list[AnswerChoice]:
    """Return the options in the order in which the interview of this period shows them."""
    return ordered_options(question, manifest.seed, "question", episode.user_id, period, wording=manifest.wording)


def interview(
    episode: Episode, period: int, *, manifest: RunManifest, other: Episode | None, places: Places, of_other: Places
) -> list[AskedQuestion]:
    """Return all that is asked at the end of a period: the user's questions in these places, all states, and another user's
    questions as a control.
    """
    asked: list[AskedQuestion] = []
    for question in episode.questions:
        if (period, question.question_id) in places:
            asked.append(InterviewQuestion(episode, question, period, manifest, other))
    if manifest.is_probed:
        asked += [StateProbe(episode, question, period, manifest) for question in episode.questions]
    if other:
        asked += control_questions(episode, other, manifest=manifest, places=of_other)
    return asked


def control_questions(own: Episode, stranger: Episode, *, manifest: RunManifest, places: Places) -> Iterator[InterviewQuestion]:
    """Yield the other user's questions in these places after the last period, without those that have the same values for both
    users.
    """
    period = len(stranger.periods) - 1
    state = own.periods[-1].state
    for question in stranger.questions:
        values = {name: stranger.periods[-1].state[name] for name in question.required_info}
        if (period, question.question_id) in places and any(state.get(name) != value for name, value in values.items()):
            yield InterviewQuestion(stranger, question, period, manifest, kind="permuted")


def baseline_questions(episode: Episode, *, manifest: RunManifest, places: Places) -> Iterator[BaselineQuestion]:
    """Yield the upper bound (true state given) of each option that is right in these places, and the options alone."""
    for question in episode.questions:
        periods = sorted(period for period, item in places if item == question.question_id)
        for golden in dict.fromkeys(question.golden[period] for period in periods):
            yield BaselineQuestion(episode, question, 0, manifest, kind="upper_bound", periods=periods, golden=golden)
        if periods:
            yield BaselineQuestion(episode, question, 0, manifest, kind="options_only", periods=periods)


def _stale_events(episode: Episode, question: EpisodeQuestion, *, period: int) -> list[MemoryEvent]:
    """Return the messages that stated the needed values when another option was last right; nothing where none ever was."""
    for earlier in range(period - 1, -1, -1):
        if question.golden[earlier] != question.golden[period]:
            return needed_events(episode, question, period=earlier)
    return []


@dataclass(frozen=True)
class ToldValue:
    """A message of the user that told a value."""

    value: str
    event: MemoryEvent


def tellings(episode: Episode, name: str, *, period: int) -> list[ToldValue]:
    """Return the messages that told a variable until the end of the period, the oldest first."""
    found = list[ToldValue]()
    for past in episode.periods[: period + 1]:
        for session in past.sessions:
            if name in session.exposed_states and not session.is_noise:
                event = MemoryEvent(session.query, "user", session.session_time)
                found.append(ToldValue(session.exposed_states[name], event))
    return found


def needed_events(episode: Episode, question: EpisodeQuestion, *, period: int) -> list[MemoryEvent]:
    """Return the messages of the user that told the values which the question needs, the oldest first.

    A message that only restates a value is none of them: it would move what is needed nearer than the change lies.
    """
    told = list[MemoryEvent]()
    for name in question.required_info:
        told += [telling.event for telling in tellings(episode, name, period=period)[-1:]]
    # A message may have told several of the values.
    return sorted(dict.fromkeys(told), key=lambda event: str(event.at))


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
