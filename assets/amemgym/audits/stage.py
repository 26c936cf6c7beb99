"""Stage 9: from the finished user, judgements of its items in calls of their own: decoys, ambiguity, guesses."""

from assets.amemgym import stage_summaries
from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.decoys import judge_decoys
from assets.amemgym.audits.judgements import GUESSES, guess_answers, read_queries_again, recover_pairs
from assets.amemgym.audits.user_parts import AuditedUser
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.audit import Decoy, Judgement, QueryReading, UserAudit
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.state import SessionSet, StateSchema, StateTrajectory
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import Stage
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.reporting.asset_description import AssetDescription, Row


async def audit_user(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    sessions: SessionSet,
    answers: AnswerSet,
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> UserAudit:
    """Ask all judges at once; nothing of the user changes. Raises ItemFailed where perfect memory would score too little."""
    if not recipe.audit.enabled:
        return UserAudit(user_id=profile.user_id)
    user = AuditedUser(profile, schema, trajectory, sessions, answers, recipe, model)
    parts = await gather_all(judge_decoys(user), recover_pairs(user), guess_answers(user), read_queries_again(user))
    results = [result for part in parts for result in part]
    return UserAudit(
        user_id=profile.user_id,
        decoys=tuple(result for result in results if isinstance(result, Decoy)),
        judgements=tuple(result for result in results if isinstance(result, Judgement)),
        queries=tuple(result for result in results if isinstance(result, QueryReading)),
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
        "state_trajectory/check",
        "session_queries/check_exposure",
        "answers/check",
        "answers/choose",
    ),
    version=3,
    description=AssetDescription(
        group="answers",
        description="What judges say of the finished user, in calls of their own: the check of paper section 3.1 asked again, "
        "decoys that measure the gates' errors, guesses without the state. A user on whom perfect memory would score little is "
        "replaced.",
        rows=_rows,
        summary=stage_summaries.summarize_audits,
    ),
)
