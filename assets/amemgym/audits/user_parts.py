"""One finished user as the audit sees it: its sessions and questions, and samples that no gate of the user has used."""

from dataclasses import dataclass
from functools import cached_property

from assets.amemgym.answers.variants import QuestionVariants, Variant, variants_of
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerChoice, AnswerSet, QuestionAnswers
from assets.amemgym.records.state import Session, SessionSet, StateSchema, StateTrajectory
from assets.amemgym.session_queries.drafts import UserContext
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import VoteContext
from assets.llm.ports import LanguageModel

# Drafts that no gates reach (`max_redrafts` ends at 5 for each): their votes have samples and orders of their own.
PAIR_DRAFT, DECOY_DRAFT = 98, 99


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
                    variants_of(question, self.schema, self.trajectory, recipe=self.recipe),
                    self.recipe,
                    self.model,
                ),
                answers,
            )
            for question, answers in zip(self.schema.questions, self.answers.questions, strict=True)
        )

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

    def vote(self, sample: int) -> VoteContext:
        """The vote for this sample of a pair."""
        return VoteContext(PAIR_DRAFT, sample, 0, self.judge(sample))

    def judge(self, sample: int) -> str:
        """The judge model for this sample: they take turns."""
        judges = self.recipe.models.judge.panel
        return judges[sample % len(judges)]
