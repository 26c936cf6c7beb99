"""Every rule passes a clean record and catches its own smallest defect."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pytest

from assets.records.answer import AnswerSet
from assets.records.base import StageName, UserRecord
from assets.records.event import Event, EventSet, PeriodEvents
from assets.records.persona import Persona
from assets.records.profile import UserProfile
from assets.records.question import Question, QuestionSet, RequiredInfo
from assets.records.recipe import Recipe
from assets.records.schema import StateSchema
from assets.records.session import PeriodSessions, SessionSet
from assets.records.trajectory import StateTrajectory
from tests import scenario
from tests.scenario import CHOICES, DIET, EVENINGS, GOAL, USER_ID, varied
from tests.support import persona
from validation.rules import Outcome, Rule, apply_rules
from validation.stage_rules import RULES

RECIPE = scenario.recipe()


def questions(count: int = 2, *, types: int = 2, choices: int = 3) -> QuestionSet:
    infos = [RequiredInfo(info_type=f"t{n}", info_choices=tuple(f"c{m}" for m in range(choices))) for n in range(types)]
    return QuestionSet(
        user_id=USER_ID,
        questions=tuple(
            Question(question_id=f"q{number}", text=f"What about {number}?", required_info=tuple(infos))
            for number in range(count)
        ),
    )


def schema(place: int = 0, **changes: Any) -> StateSchema:
    """The example's schema with one variable changed."""
    variables = list(scenario.schema().variables)
    variables[place] = varied(variables[place], **changes)
    return scenario.schema(variables=variables)


def shifted(days: int) -> StateTrajectory:
    """The example's trajectory from another day on."""
    periods = [
        period.model_copy(
            update={
                "start": period.start and date.fromordinal(period.start.toordinal() + days),
                "end": date.fromordinal(period.end.toordinal() + days),
            }
        )
        for period in scenario.trajectory().periods
    ]
    return StateTrajectory(user_id=USER_ID, periods=tuple(periods))


def shortened() -> StateTrajectory:
    return StateTrajectory(user_id=USER_ID, periods=scenario.trajectory().periods[:2])


def events(*groups: tuple[tuple[str, ...], ...]) -> EventSet:
    """Events by period: each a group of variables."""
    periods = [
        PeriodEvents(index=index, events=tuple(Event(states=states, text="A talk.") for states in group))
        for index, group in enumerate(groups, start=1)
    ]
    return EventSet(user_id=USER_ID, periods=tuple(periods))


def sessions(place: int = 0, **changes: Any) -> SessionSet:
    """The example's sessions with the first one of a period changed."""
    own = [list(period) for period in scenario.sessions()]
    own[place][0] = varied(own[place][0], **changes)
    periods = [PeriodSessions(index=index, sessions=tuple(period)) for index, period in enumerate(own)]
    return SessionSet(user_id=USER_ID, periods=tuple(periods), gate_records=())


def answers(**changes: Any) -> AnswerSet:
    """The example's answers with the first question changed."""
    first, second = scenario.answers()
    return AnswerSet(user_id=USER_ID, questions=(varied(first, **changes), second), gate_records=())


def answered(text: str) -> AnswerSet:
    first, *others = scenario.answers()[0].choices
    return answers(choices=(varied(first, answer=text), *others))


def profile(line: str = "", **changes: Any) -> UserProfile:
    return scenario.profile(
        formatted_str=f"Name: Zoë\n{line}Occupation: nurse\nAbout: Her nan taught her:\nNone of it ().", **changes
    )


CLEAN: Mapping[StageName, UserRecord] = {
    "personas": persona(1),
    "user_profiles": profile(),
    "questions": questions(),
    "state_schema": scenario.schema(),
    "state_trajectory": scenario.trajectory(),
    "events": events(((GOAL, DIET),), ((EVENINGS,),)),
    "session_queries": sessions(),
    "answers": answers(),
    "episodes": scenario.episode(),
}


@dataclass(frozen=True)
class Defect:
    stage: StageName
    rule: str
    record: UserRecord
    told: str
    recipe: Recipe = RECIPE


SNAKE = "very_late"
COPIED = sessions(2, exposed_states={EVENINGS: SNAKE}, query="I come home Very Late on Tuesdays.")
FOUR = {DIET: "a", GOAL: "b", "x": "c", "y": "d"}
DEFECTS = [
    Defect("personas", "no_excluded_persona", persona(1), "exclude_ids", scenario.recipe(exclude_ids=(persona(1).user_id,))),
    Defect("personas", "personas_tell_something", persona(1, persona="", professional_persona=None), "no persona text"),
    Defect("user_profiles", "no_empty_field", profile("Education: some college ()\n"), "empty field at '()'"),
    Defect("user_profiles", "no_empty_field", profile("Hobbies:\n"), "empty field at 'Hobbies:'"),
    Defect("user_profiles", "no_empty_field", profile("Hobbies: None\n"), "empty field at 'Hobbies: None'"),
    Defect("user_profiles", "no_empty_field", profile("Hobbies: nan\n"), "empty field at 'Hobbies: nan'"),
    Defect("user_profiles", "short_paragraph", profile(complementary_info="word " * 500), "has 500 words"),
    Defect("questions", "question_counts", questions(1), "has 1 questions"),
    Defect("questions", "question_counts", questions(types=3), "q0 has 3 types"),
    Defect("questions", "question_counts", questions(choices=2), "t0 has 2 choices"),
    Defect("state_schema", "types_mapped_once", schema(merged_from=("diet", "evenings {free}")), "'evenings {free}' 2 times"),
    Defect("state_schema", "types_mapped_once", schema(1, merged_from=("running_goal",)), "maps 3 drafted types, there are 4"),
    Defect("state_schema", "choice_counts", schema(choices=CHOICES[DIET][:2]), "diet has 2 choices"),
    Defect("state_trajectory", "period_dates", shifted(1), "does not begin on the start date"),
    Defect("state_trajectory", "period_dates", shifted(1), "period 2 has the dates"),
    Defect("state_trajectory", "period_dates", shortened(), "has 2 periods"),
    Defect(
        "state_trajectory",
        "changes_per_period",
        scenario.trajectory(),
        "period 2 has 1 updates",
        scenario.recipe(num_changes_per_period=3),
    ),
    Defect("events", "events_per_period", events(((GOAL, DIET),)), "has events for the periods [1]"),
    Defect("events", "events_per_period", events((), ((EVENINGS,),)), "period 1 has no event"),
    Defect("events", "events_per_period", events(((GOAL,), (DIET, GOAL)), ((EVENINGS,),)), "two events for ['training_goal']"),
    Defect("session_queries", "few_states_each", sessions(exposed_states=FOUR), "exposes 4 states"),
    Defect("session_queries", "inside_period", sessions(1, session_time=datetime(2021, 1, 1, 8)), "outside period 1"),
    Defect("session_queries", "inside_period", sessions(1, session_time=datetime(2020, 10, 1, 8)), "outside period 1"),
    Defect("session_queries", "no_copied_value", COPIED, "spells 'very_late'"),
    Defect("answers", "enough_options", answers(), "q01 has 3 options", scenario.recipe(min_variants_per_question=4)),
    Defect("answers", "enough_options", answers(golden=("q01-c1", "q01-c3")), "q01 has 2 golden choices"),
    Defect("answers", "a_few_sentences", answered("Rest"), "q01-c1 has 0 sentences"),
    Defect("answers", "a_few_sentences", answered("Go. " * 5), "q01-c1 has 5 sentences"),
    Defect("episodes", "complete", scenario.episode(questions=scenario.episode().questions[:1]), "has 1 questions"),
    Defect("episodes", "complete", scenario.episode(), "has 3 periods", scenario.recipe(num_periods=3)),
]


def outcomes(stage: StageName, record: UserRecord, recipe: Recipe = RECIPE) -> dict[str, Outcome]:
    return {outcome.rule.name: outcome for outcome in apply_rules(RULES[stage], [record], recipe=recipe)}


@pytest.mark.parametrize("stage", CLEAN)
def test_a_clean_record_passes_all_rules_of_its_stage(stage: StageName) -> None:
    assert {name: outcome.violations for name, outcome in outcomes(stage, CLEAN[stage]).items()} == dict.fromkeys(
        (rule.name for rule in RULES[stage]), ()
    )


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: f"{defect.rule}: {defect.told}")
def test_a_rule_catches_its_smallest_defect(defect: Defect) -> None:
    outcome = outcomes(defect.stage, defect.record, defect.recipe)[defect.rule]
    assert not outcome.passed
    assert any(defect.told in violation.message for violation in outcome.violations)
    assert {violation.user_id for violation in outcome.violations} == {defect.record.user_id}


def test_no_variable_may_change_more_often_than_the_recipe_allows() -> None:
    periods = list(scenario.trajectory().periods)
    again = periods[2].model_copy(update={"updates": (*periods[2].updates, *periods[1].updates)})
    trajectory = StateTrajectory.model_construct(user_id=USER_ID, periods=(*periods[:2], again))
    outcome = outcomes("state_trajectory", trajectory, scenario.recipe(max_changes_per_state=1))["changes_per_variable"]
    assert [violation.message for violation in outcome.violations] == ["diet changes 2 times", "training_goal changes 2 times"]


def test_every_rule_of_every_stage_has_a_defect_here() -> None:
    tested = {(defect.stage, defect.rule) for defect in DEFECTS} | {("state_trajectory", "changes_per_variable")}
    assert tested == {(stage, rule.name) for stage, rules in RULES.items() for rule in rules}


@pytest.mark.parametrize("stage", CLEAN)
def test_rules_have_names_of_their_own_and_a_sentence(stage: StageName) -> None:
    assert len({rule.name for rule in RULES[stage]}) == len(RULES[stage])
    assert all(rule.truth.endswith(".") for rule in RULES[stage])


def test_sentences_of_another_script_are_counted_too() -> None:
    for text in ("先热身。再慢跑。", "¿Correr? ¡Sí! Hoy.", "Run 2.5 km, e.g. today. Then rest."):
        assert outcomes("answers", answered(text))["a_few_sentences"].passed


def test_all_users_are_counted_and_each_violation_names_its_own() -> None:
    def find(record: Persona, _: Recipe) -> list[str]:
        return ["is odd"] if record.age % 2 else []

    rule = Rule("even_age", "Ages are even.", find)
    (outcome,) = apply_rules([rule], [persona(1), persona(2), persona(3)], recipe=RECIPE)
    assert (outcome.users, outcome.passed) == (3, False)
    assert [violation.user_id for violation in outcome.violations] == [persona(1).user_id, persona(3).user_id]


def test_a_rule_over_nobody_passes() -> None:
    (outcome, *_) = apply_rules(RULES["personas"], [], recipe=RECIPE)
    assert (outcome.users, outcome.passed) == (0, True)
