"""Stage 9: independent judges look at the finished user: decoys, ambiguity, guessability."""

from assets import surveys
from assets.answers import ANSWERS
from assets.audit_case import Case
from assets.decoys import judge_decoys
from assets.desk import together
from assets.face import Face
from assets.markdown import Row
from assets.ports import LanguageModel
from assets.probes import GUESSES, guess_answers, recover_pairs
from assets.records.answer import AnswerSet
from assets.records.audit import Decoy, Judgement, UserAudit
from assets.records.profile import UserProfile
from assets.records.recipe import Recipe
from assets.records.schema import StateSchema
from assets.records.session import SessionSet
from assets.records.trajectory import StateTrajectory
from assets.session_queries import SESSION_QUERIES
from assets.stage import stage_asset
from assets.stage_kind import Stage
from assets.state_schema import STATE_SCHEMA
from assets.state_trajectory import STATE_TRAJECTORY
from assets.user_profiles import USER_PROFILES


async def audit_user(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    sessions: SessionSet,
    answers: AnswerSet,
    *,
    recipe: Recipe,
    model: LanguageModel,
) -> UserAudit:
    """Ask all judges at once; nothing of the user changes. Raises UserFailed when an item turns out ambiguous."""
    if not recipe.audit.enabled:
        return UserAudit(user_id=profile.user_id)
    case = Case(profile, schema, trajectory, sessions, answers, recipe, model)
    made = [one for part in await together(judge_decoys(case), recover_pairs(case), guess_answers(case)) for one in part]
    return UserAudit(
        user_id=profile.user_id,
        decoys=tuple(one for one in made if isinstance(one, Decoy)),
        judgements=tuple(one for one in made if isinstance(one, Judgement)),
    )


def _rows(audit: UserAudit) -> list[Row]:
    return [
        {
            "gate": decoy.gate,
            "shown": decoy.text,
            "under the label": decoy.label,
            "which is": "right" if decoy.right else f"wrong ({decoy.kind.replace('_', ' ')})",
            "accepted": "yes" if decoy.accepted else "no",
        }
        for decoy in audit.decoys
    ]


AUDITS = Stage(
    name="audits",
    record=UserAudit,
    make=audit_user,
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY, SESSION_QUERIES, ANSWERS),
    prompts=(
        *(f"audits/{probe}" for probe in GUESSES),
        "session_queries/check_exposure",
        "answers/check",
        "answers/choose",
    ),
)
audits = stage_asset(
    AUDITS,
    Face(
        group="answers",
        description="What judges say of the finished user, in calls of their own: the check of paper section 3.1 asked again, "
        "decoys that measure the gates' errors, guesses without the state. A user with an item that nobody recovers is lost.",
        rows=_rows,
        survey=surveys.of_audits,
    ),
)
