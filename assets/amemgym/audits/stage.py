"""Stage 9: from the finished user, judgements of its items in calls of their own: decoys, ambiguity, guesses."""

from collections.abc import Sequence
from itertools import chain

import dagster as dg

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.calls import AUDIT_CALLS
from assets.amemgym.audits.decoys import judge_decoys
from assets.amemgym.audits.judgements import guess_answers, read_queries_again, recover_pairs
from assets.amemgym.audits.rates import gate_error_rates, recovery_rates
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
from assets.records.estimate import with_interval
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription, Metadata, Row, markdown_table


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


def summarize_audits(audits: Sequence[UserAudit]) -> Metadata:
    """Return how often the gates erred on decoys, and how often judges recovered items, with 95 % intervals over users."""
    rows: list[Row] = []
    for rate in gate_error_rates(audits):
        if not rate.kind:
            what = f"{rate.gate}: {rate.error.replace('_', ' ')}"
            rows.append({"what": what, "of": rate.decoys, "share": with_interval(rate.share)})
    shares: dict[str, float] = {}
    for rate in recovery_rates(audits):
        if rate.user_id:
            continue
        what = f"recovered: {rate.probe.replace('_', ' ')}"
        rows.append({"what": what, "of": rate.items, "share": with_interval(rate.share)})
        if rate.share.value is not None:
            shares[rate.probe] = rate.share.value
    return {"rates": dg.MetadataValue.md(markdown_table(rows)), **shares}


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
        summary=summarize_audits,
    ),
)
