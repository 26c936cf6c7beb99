"""The example user, audited by a scripted model."""

from functools import cache
from typing import Any

from assets.amemgym.answers.stage import write_answers
from assets.amemgym.audits.stage import audit_user
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.state import PeriodSessions, Session, SessionSet
from assets.recipe.amemgym import AMemGymRecipe
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import coded
from tests.support.scripted_model import Script, ScriptedModel

EXPOSURE, CHECK, CHOOSE = "session_queries/check_exposure", "answers/check", "answers/choose"


def recipe(*, seed: int = 42, **audit: Any) -> AMemGymRecipe:
    gates = {"votes": 1, "votes_needed": 1, "unexposed": False, "texts_per_call": 1}
    return scenario.recipe(gates=gates, audit=audit, min_variants_per_question=4, seed=seed)


@cache
def answered() -> AnswerSet:
    """Answers that spell their variants, where the honest judge finds them."""
    return run(write_answers(scenario.schema(), scenario.trajectory(), recipe=recipe(), model=ScriptedModel()))


def sessions() -> SessionSet:
    """The example's sessions, with queries and events that spell what they tell."""
    periods = tuple(
        PeriodSessions(index=index, sessions=tuple(map(_coded, own))) for index, own in enumerate(scenario.sessions())
    )
    return SessionSet(user_id=scenario.USER_ID, periods=periods, gate_records=())


def _coded(session: Session) -> Session:
    told = coded(session.exposed_states)
    return scenario.varied(session, query=told, event=session.event and told)


def audited(script: Script | None = None, **audit: Any) -> tuple[UserAudit, ScriptedModel]:
    model = ScriptedModel(script or {})
    parts = (scenario.profile(), scenario.schema(), scenario.trajectory(), sessions(), answered())
    return run(audit_user(*parts, recipe=recipe(**audit), model=model)), model
