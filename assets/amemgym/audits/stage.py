"""Stage 9: from the finished user, judgements of its items in calls of their own: decoys, ambiguity, guesses."""

from itertools import chain

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.calls import AUDIT_CALLS
from assets.amemgym.audits.decoys import judge_decoys
from assets.amemgym.audits.judgements import guess_answers, read_queries_again, recover_pairs
from assets.amemgym.audits.user_parts import AuditedUser
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
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription


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
    decoys: list[Decoy] = []
    judgements: list[Judgement] = []
    queries: list[QueryReading] = []
    for result in chain.from_iterable(parts):
        if isinstance(result, Decoy):
            decoys.append(result)
        elif isinstance(result, Judgement):
            judgements.append(result)
        else:
            queries.append(result)
    return UserAudit(user_id=profile.user_id, decoys=tuple(decoys), judgements=tuple(judgements), queries=tuple(queries))


AUDITS = Stage(
    name="audits",
    record=UserAudit,
    make=audit_user,
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY, SESSION_QUERIES, ANSWERS),
    prompts=tuple(AUDIT_CALLS),
    calls=AUDIT_CALLS,
    version=5,
    description=AssetDescription(
        group="texts",
        description="What judges say of the finished user, in calls of their own: the check of paper section 3.1 asked again, "
        "decoys that measure the gates' errors, guesses without the state. A user on whom perfect memory would score little is "
        "replaced.",
        rows=preview_rows("decoys", "gate text label made=kind right accepted"),
    ),
)
