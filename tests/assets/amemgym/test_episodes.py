"""A user's parts are joined into one episode, and parts that contradict each other give the user up."""

import pytest

from assets.amemgym.episodes import join_episode
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.state import PeriodSessions, SessionSet
from assets.records.base import ItemFailed
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.scripted_model import ScriptedModel

SESSIONS = SessionSet(
    user_id=scenario.USER_ID,
    periods=tuple(PeriodSessions(index=index, sessions=own) for index, own in enumerate(scenario.sessions())),
    gate_records=(),
)
ANSWERS = AnswerSet(user_id=scenario.USER_ID, questions=scenario.answers(), gate_records=())
AUDIT = UserAudit(user_id=scenario.USER_ID)


def joined(*, sessions: SessionSet = SESSIONS, answers: AnswerSet = ANSWERS) -> tuple[Episode, ScriptedModel]:
    model, parts = ScriptedModel(), (scenario.profile(), scenario.schema(), scenario.trajectory())
    return run(join_episode(*parts, sessions, answers, AUDIT, recipe=scenario.recipe(), model=model)), model


def test_the_examples_parts_make_the_examples_episode_without_a_call() -> None:
    episode, model = joined()
    assert episode == scenario.episode()
    assert model.requests == []


def test_parts_that_contradict_each_other_give_the_user_up() -> None:
    first, second = scenario.answers()
    wrong = ANSWERS.model_copy(update={"questions": (first.model_copy(update={"golden": first.golden[:2]}), second)})
    with pytest.raises(ItemFailed, match="contradict each other: Question q01 has 2 golden choices for 3 periods") as failed:
        joined(answers=wrong)
    assert failed.value.reason == "rule_violated"
