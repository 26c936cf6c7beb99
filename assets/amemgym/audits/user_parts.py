"""One finished user as the audit sees it: its sessions and questions, and samples that no gate of the user has used."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TypeVar

from assets.amemgym.answers.variants import QuestionVariants, Variant, variants_of
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerChoice, AnswerSet, QuestionAnswers
from assets.amemgym.records.state import SchemaQuestion, Session, SessionSet, StateSchema, StateTrajectory, shared_day, without
from assets.amemgym.session_queries.drafts import QueryDraft, UserContext, session_ids
from assets.amemgym.session_queries.exposure_gate import Choices, exposure_gate, read_exposure
from assets.amemgym.state_trajectory.story_reading import StoryReader, StoryText, changes_of, read_story, summary_story
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, GateAttempt, ReadingTask
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe

# Drafts that no gates reach (`max_redrafts` ends at 5): what the audit reads has samples and orders of its own.
PAIR_DRAFT = 98
QUERY_DRAFT = 99
DECOY_DRAFT = 100
DRAFTS_APART = 10  # between two decoys: more than an item has drafts
T = TypeVar("T")


def by_source(items: Iterable[T], source: Callable[[T], Hashable]) -> list[list[T]]:
    """Return the items in a list for each source, such as a period or a question, in the order met."""
    sources: dict[Hashable, list[T]] = {}
    for item in items:
        sources.setdefault(source(item), []).append(item)
    return list(sources.values())


async def never_written(*_: object) -> str:
    """Stand where a gate expects a writer: a finished text is judged and never written anew."""
    raise AssertionError("A finished text is judged and never written anew.")


@dataclass(frozen=True)
class AuditedSession:
    """A session, by the id that its draft had in the exposure gate."""

    item_id: str
    period: int
    session: Session


@dataclass(frozen=True)
class AuditedQuestion:
    """A question with its accepted answers, and the variants that they were written for."""

    context: QuestionVariants
    answers: QuestionAnswers

    @cached_property
    def variables(self) -> frozenset[str]:
        return frozenset(self.context.question.required_info)

    def variant(self, choice: AnswerChoice) -> Variant:
        """Return the variant that a choice answers."""
        return next(variant for variant in self.context.variants if variant.values == choice.state)

    def choice_id(self, assignment: dict[str, str]) -> str | None:
        """Return the choice that answers an assignment; None for {}, which says that a judge could not tell."""
        for choice in self.answers.choices:
            if self.variant(choice).assignment == assignment:
                return choice.choice_id
        return None

    @cached_property
    def texts(self) -> list[str]:
        """The accepted answers in the order of the variants."""
        answers = {choice.state: choice.answer for choice in self.answers.choices}
        return [answers[variant.values] for variant in self.context.variants]


@dataclass(frozen=True)
class AuditedUser:
    """One user's finished parts, and what the audit's calls need."""

    profile: UserProfile
    schema: StateSchema
    trajectory: StateTrajectory
    sessions: SessionSet
    answers: AnswerSet
    recipe: AMemGymRecipe
    model: LanguageModel

    @cached_property
    def questions(self) -> tuple[AuditedQuestion, ...]:
        questions: list[AuditedQuestion] = []
        for question, answers in zip(self.schema.questions, self.answers.questions, strict=True):
            variants = self._variants(question, answers)
            context = QuestionVariants(question, self.schema, variants, self.recipe, self.model)
            questions.append(AuditedQuestion(context, answers))
        return tuple(questions)

    def _variants(self, question: SchemaQuestion, answers: QuestionAnswers) -> list[Variant]:
        """The answered variants: in the order in which generation made them, or as listed where somebody else made them."""
        made = variants_of(question, self.schema, self.trajectory, recipe=self.recipe)
        answered = {choice.state for choice in answers.choices}
        if {variant.values for variant in made} == answered:
            return made
        return [Variant(question.required_info, choice.state, choice.type) for choice in answers.choices]

    @cached_property
    def session_items(self) -> tuple[AuditedSession, ...]:
        """The sessions of all periods in order of time."""
        items: list[AuditedSession] = []
        for period in self.sessions.periods:
            item_ids = session_ids(period.index, [session.kind for session in period.sessions])
            for item_id, session in zip(item_ids, period.sessions, strict=True):
                items.append(AuditedSession(item_id, period.index, session))
        return tuple(items)

    def rng(self, *path: object) -> SeededRandom:
        """Draws of the audit for one purpose."""
        return SeededRandom(self.recipe.world_seed, self.profile.user_id, "audits", *path)

    @cached_property
    def summaries(self) -> list[GateAttempt]:
        """The summaries of all periods but the initial one, as a story to be read."""
        return summary_story(self.trajectory.periods[1:])

    @cached_property
    def events(self) -> dict[str, GateAttempt]:
        """The events of all periods in order, as a story to be read: by the id of the session that tells of each."""
        events: dict[str, GateAttempt] = {}
        for item in self.session_items:
            if item.session.event:
                events[item.item_id] = GateAttempt(item.item_id, item.session.event)
        return events

    def query_gate(self, item_id: str, query: str, *, label: dict[str, str]) -> Gate[Choices]:
        """The exposure gate of a query under this label."""
        draft = QueryDraft(item_id, query, label, {}, self.trajectory.periods[-1].end)
        return exposure_gate(self._context, draft, never_written)

    def summary_gate(self, period: int) -> Gate[StoryText]:
        """The gate of the summary of this period, which counts from 1."""
        periods = self.trajectory.periods
        days = [period.end for period in periods[1:]]
        subject = StoryText(self.summaries, period - 1, days, periods[period].state, changes_of(periods[1:]))
        return Gate("summary", {}, subject, never_written, never_written)

    def event_gate(self, item_id: str, *, label: dict[str, str]) -> Gate[StoryText]:
        """The gate of the event that this session tells of, under this label."""
        position = list(self.events).index(item_id)
        period = self.trajectory.periods[next(item.period for item in self.session_items if item.item_id == item_id)]
        unchanged = without(period.state, period.changed)
        subject = StoryText(list(self.events.values()), position, self._event_days, unchanged)
        return Gate("event", label, subject, never_written, never_written)

    @cached_property
    def _event_days(self) -> list[date | None]:
        """The days of the events, in their order."""
        days: list[date | None] = []
        for item in self.session_items:
            if item.session.event:
                days.append(shared_day(self.trajectory.periods[item.period].days, item.session.exposed_states))
        return days

    @cached_property
    def _context(self) -> UserContext:
        return UserContext(self.profile, self.schema, self.recipe, self.model)

    async def read_queries(self, tasks: Sequence[ReadingTask[Choices]]) -> list[dict[str, str]]:
        """Return what a judge reads out of queries of this user, in one call."""
        return await read_exposure(self._context, tasks)

    async def read_stories(self, tasks: Sequence[ReadingTask[StoryText]]) -> list[dict[str, str]]:
        """Return what a judge reads out of summaries or events of this user, in one call."""
        return await read_story(StoryReader(self.profile, self.schema, self.recipe, self.model), tasks)

    def judge(self, sample: int) -> str:
        """The model for this sample: the recipe's own for audits, else the gates' judges by turns."""
        own = self.recipe.audit.model
        judges = [own] if own else self.recipe.models.judge.panel
        return judges[sample % len(judges)]
