"""Recipes, personas, schemas and trajectories that are no larger than a test needs."""

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

from assets.amemgym.records.persona import Persona
from assets.amemgym.records.state import (
    JudgedSchema,
    SchemaQuestion,
    StateSchema,
    StateTrajectory,
    StateUpdate,
    StateVariable,
    TrajectoryPeriod,
)
from assets.recipe.amemgym import AMemGymRecipe

START = date(2020, 10, 1)
# One vote on one text a call, no probes, and little patience: each test adds the part of the gates that it is about.
PLAIN_GATES: dict[str, int | bool] = {
    "votes": 1,
    "votes_needed": 1,
    "unexposed": False,
    "reverse": False,
    "texts_per_call": 1,
    "max_refinements": 1,
    "max_redrafts": 1,
    "max_reasks": 1,
}


def persona_row(number: int, **changes: object) -> dict[str, object]:
    """A pool row; every text of a person names the person."""
    name = f"Ada Number{number}"
    texts = {
        column: f"{name} and the {column.replace('_', ' ')}."
        for column in ("persona", "professional_persona", "cultural_background", "skills_and_expertise", "sports_persona")
    }
    return {
        "uuid": f"5f0c0000-0000-4000-8000-{number:012x}",
        "arts_persona": "",
        "travel_persona": "",
        "culinary_persona": "",
        "skills_and_expertise_list": "['Triage']",
        "hobbies_and_interests": "",
        "hobbies_and_interests_list": "['Running', \"Zed's calligraphy\"]",
        "career_goals_and_ambitions": "",
        "sex": "Female",
        "age": 30 + number % 40,
        "marital_status": "never_married",
        "education_level": "some_college",
        "bachelors_field": None,
        "occupation": "night_nurse",
        "city": "León",
        "state": "GTO",
        "zipcode": "02134",
        "country": "México",
        **texts,
        **changes,
    }


def persona(number: int, **changes: object) -> Persona:
    """The persona of such a row."""
    return Persona.from_row(persona_row(number, **changes))


def small_recipe(**changes: Any) -> AMemGymRecipe:
    """One question on two variables of two choices, one period with one change."""
    fields: dict[str, Any] = {
        "variant": "small",
        "num_users": 2,
        "num_reserve": 2,
        "num_questions": 1,
        "num_choices_per_state": 2,
        "num_periods": 1,
        "num_changes_per_period": 1,
        "min_variants_per_question": 2,
        "cast": False,
        "gates": {"max_refinements": 1, "max_redrafts": 1, "max_reasks": 1},
    }
    return AMemGymRecipe.model_validate({**fields, **changes})


def trajectory_of(states: Sequence[Mapping[str, str]], *, ends: Sequence[date], user_id: str = "u") -> StateTrajectory:
    """A trajectory through these states, the first on the first date."""
    periods = [TrajectoryPeriod(index=0, start=None, end=ends[0], summary=None, updates=(), state=dict(states[0]))]
    for index, ((before, after), (start, end)) in enumerate(zip(pairwise(states), pairwise(ends), strict=True), start=1):
        updates = tuple(StateUpdate(variable=n, old=before[n], new=after[n]) for n in after if before[n] != after[n])
        periods.append(
            TrajectoryPeriod(index=index, start=start, end=end, summary="So it went.", updates=updates, state=dict(after))
        )
    return StateTrajectory(user_id=user_id, periods=tuple(periods))


def excluding(schema: StateSchema, *pairs: Mapping[str, str]) -> JudgedSchema:
    """The schema with pairs of values that exclude each other."""
    fields = {name: getattr(schema, name) for name in StateSchema.model_fields}
    return JudgedSchema(**fields, exclusive=tuple(map(dict, pairs)))


def schema_of(choices: Mapping[str, Sequence[str]], *, per_question: int = 2, user_id: str = "u") -> StateSchema:
    """A schema of these variables, and questions q01, q02, ... on each few of them in turn."""
    names = list(choices)
    variables = tuple(StateVariable(name=n, choices=tuple(choices[n]), merged_from=(n,)) for n in names)
    groups = [names[start : start + per_question] for start in range(0, len(names), per_question)]
    questions = tuple(
        SchemaQuestion(question_id=f"q{index:02d}", text=f"What about {index}?", required_info=tuple(group))
        for index, group in enumerate(groups, start=1)
    )
    return StateSchema(user_id=user_id, variables=variables, questions=questions)
