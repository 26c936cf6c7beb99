"""One finished user as the audit sees it: its sessions and questions, and samples that no gate of the user has used."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from assets.amemgym.answers.variants import QuestionVariants, Variant, variants_of
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerChoice, AnswerSet, QuestionAnswers
from assets.amemgym.records.state import SchemaQuestion, Session, SessionSet, StateSchema, StateTrajectory
from assets.amemgym.session_queries.drafts import UserContext
from assets.amemgym.session_queries.exposure_gate import Choices, read_exposure
from assets.amemgym.state_trajectory.told_states import StoryReader, StoryText, read_story
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import GateAttempt, ReadingTask
from assets.llm.ports import LanguageModel

# Drafts that no gates reach (`max_redrafts` ends at 5): what the audit reads has samples and orders of its own.
PAIR_DRAFT, QUERY_DRAFT, DECOY_DRAFT = 98, 99, 100
DRAFTS_APART = 10  # between two decoys


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

    def variant(self, choice: AnswerChoice) -> Variant:
        """The variant that a choice answers."""
        return next(variant for variant in self.context.variants if variant.values == choice.state)

    def choice_id(self, assignment: dict[str, str]) -> str | None:
        """The choice that answers an assignment; None for {}, which says that a judge could not tell."""
        return next((one.choice_id for one in self.answers.choices if self.variant(one).assignment == assignment), None)

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
    def context(self) -> UserContext:
        """What the exposure gate's calls need."""
        return UserContext(self.profile, self.schema, self.recipe, self.model)

    @cached_property
    def questions(self) -> tuple[AuditedQuestion, ...]:
        return tuple(
            AuditedQuestion(
                QuestionVariants(
                    question,
                    self.schema,
                    self._variants(question, answers),
                    self.recipe,
                    self.model,
                ),
                answers,
            )
            for question, answers in zip(self.schema.questions, self.answers.questions, strict=True)
        )

    def _variants(self, question: SchemaQuestion, answers: QuestionAnswers) -> list[Variant]:
        """The answered variants: in the order in which generation made them, or as shown where somebody else made them."""
        made = variants_of(question, self.schema, self.trajectory, recipe=self.recipe)
        if {one.values for one in made} == {one.state for one in answers.choices}:
            return made
        return [Variant(question.required_info, one.state, one.type) for one in answers.choices]

    @cached_property
    def session_items(self) -> tuple[AuditedSession, ...]:
        """The sessions of all periods in order of time."""
        return tuple(
            AuditedSession(f"s{period.index:02d}-{number:02d}", period.index, session)
            for period in self.sessions.periods
            for number, session in enumerate(period.sessions, start=1)
        )

    def rng(self, *path: object) -> SeededRandom:
        """Draws of the audit for one purpose."""
        return SeededRandom(self.recipe.seed, self.profile.user_id, "audits", *path)

    @cached_property
    def summaries(self) -> list[GateAttempt]:
        """The summaries of all periods but the initial one, as a story to be read."""
        return [GateAttempt(f"t{period.index:02d}", period.summary or "") for period in self.trajectory.periods[1:]]

    @cached_property
    def events(self) -> dict[str, GateAttempt]:
        """The events of all periods in order, as a story to be read: by the id of the session that tells of each."""
        return {
            item.item_id: GateAttempt(item.item_id, item.session.event) for item in self.session_items if item.session.event
        }

    async def read_queries(self, tasks: Sequence[ReadingTask[Choices]]) -> list[dict[str, str]]:
        """What a judge reads out of queries of this user, in one call."""
        return await read_exposure(self.context, tasks)

    async def read_stories(self, tasks: Sequence[ReadingTask[StoryText]]) -> list[dict[str, str]]:
        """What a judge reads out of summaries or events of this user, in one call."""
        return await read_story(StoryReader(self.profile, self.schema, self.recipe, self.model), tasks)

    def judge(self, sample: int) -> str:
        """The model for this sample: the recipe's own for audits, else the gates' judges by turns."""
        judges = [self.recipe.audit.model] if self.recipe.audit.model else self.recipe.models.judge.panel
        return judges[sample % len(judges)]
