"""The plan of audits counts what they really ask: decoys, which begin with the sixth user, are most of it."""

from dataclasses import dataclass
from typing import Any

import pytest

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.stage import AUDITS, audit_user
from assets.amemgym.events import EVENTS
from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.ports import RunContext
from assets.llm.ports import ModelReply, ModelRequest
from assets.recipe.amemgym import AMemGymRecipe
from pipelines.embedded.bank import model_name
from pipelines.planning.usage import expected_usage
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.pipelines.ledger.ledger_stores import one_model
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.run_contexts import DictRecordCache, materialized
from tests.support.small import small_recipe

BEFORE = (USER_PROFILES, QUESTIONS, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS, SESSION_QUERIES, ANSWERS)


@dataclass
class CountedModel(EmbeddedModel):
    """The embedded model, and how often it was asked."""

    calls: int = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        return await super().complete(request)


def recipe(**audit: int) -> AMemGymRecipe:
    spec = {"model": model_name()}
    return small_recipe(
        num_users=1,
        num_questions=4,
        num_choices_per_state=3,
        num_periods=3,
        num_changes_per_period=3,
        min_variants_per_question=4,
        models={"writer": spec, "judge": spec, "user_simulator": spec},
        gates={},
        audit=audit,
    )


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    context = RunContext(EmbeddedModel(), ParquetSnapshots(tmp_path_factory.mktemp("parts")), DictRecordCache())
    made = materialized(context, recipe(), *BEFORE)
    return [
        next(iter(context.snapshots.read(made[one.name].ref, one.name, record=one.record).values())) for one in AUDITS.needs
    ]


@pytest.mark.parametrize("audit", [{"decoys": 0}, {"decoys": 2}, {"decoys": 10}, {"decoys": 10, "pairs": 0, "guesses": 0}])
def test_as_many_calls_are_planned_for_an_audit_as_it_takes(audit: dict[str, int], parts: list[Any]) -> None:
    model = CountedModel()
    run(audit_user(*parts, recipe=recipe(**audit), model=model))
    # Which periods and questions the decoys are of is drawn for each user; the plan deals them evenly.
    assert AUDITS.calls_per_item(recipe(**audit)) == pytest.approx(model.calls, rel=0.3, abs=2)


def test_the_sixth_user_brings_decoys_into_the_plan_unless_nothing_is_audited() -> None:
    def audits(**changes: Any) -> float:
        usage = expected_usage(AMEMGYM, one_model(**changes))
        return sum(use.calls for (stage, _), use in usage.items() if stage == "audits")

    assert audits(num_users=6) > 3 * audits(num_users=5) > 0
    assert audits(num_users=6, audit={"enabled": False}) == 0
