"""One worked example for all tests, awkward on purpose; every part can be varied by keyword.

Zoë "Zed" O'Brien-Núñez has three variables over an initial period and two more. Two questions share the variable
`diet`, `training_goal` was merged from two drafted types, one event causes two updates at once, texts carry quotes,
braces, pipes, line breaks and letters from several alphabets, and one option nobody lives through.
"""

from datetime import date, datetime
from typing import Any, TypeVar

from assets.amemgym.records.episode import Episode, join_periods, join_questions
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerChoice, QuestionAnswers
from assets.amemgym.records.state import (
    SchemaQuestion,
    Session,
    StateSchema,
    StateTrajectory,
    StateUpdate,
    StateVariable,
    TrajectoryPeriod,
)
from assets.recipe.amemgym import AMemGymRecipe, PoolSpec
from assets.records.base import Record

R = TypeVar("R", bound=Record)

USER_ID = "5f0c-zoë-001"
START = date(2020, 10, 1)
DIET, GOAL, EVENINGS = "diet", "training_goal", "evenings {free}"
CHOICES = {
    DIET: ("eats everything", "vegetarian", 'vegan, but "flexible"'),
    GOAL: ("first 5 km", "half-marathon (21,1 km)", "rest & recover"),
    EVENINGS: ("{none}", "Tue | Thu", "every evening – 毎晩"),
}
STATES = (
    {DIET: "eats everything", GOAL: "first 5 km", EVENINGS: "{none}"},
    {DIET: "vegetarian", GOAL: "half-marathon (21,1 km)", EVENINGS: "{none}"},
    {DIET: "vegetarian", GOAL: "half-marathon (21,1 km)", EVENINGS: "Tue | Thu"},
)
ENDS = (START, date(2021, 1, 1), date(2021, 4, 1))
HEART_SCARE = 'Dr. Müller\'s "numbers talk" made her change both her plate\nand her plan.'


def varied(record: R, **changes: Any) -> R:
    """A copy with other fields, checked as if it were new."""
    return type(record).model_validate({**{name: getattr(record, name) for name in type(record).model_fields}, **changes})


def recipe(**changes: Any) -> AMemGymRecipe:
    """The recipe that the example could come from."""
    fields: dict[str, Any] = {
        "variant": "demo",
        "num_users": 1,
        "num_reserve": 1,
        "num_questions": 2,
        "num_periods": 2,
        "num_changes_per_period": 1,
        "min_variants_per_question": 2,
        "cast": False,
        "pool": PoolSpec(paths=("/home/zoë/pool {1}/personas.parquet",), content="ab" * 32),
    }
    return AMemGymRecipe.model_validate({**fields, **changes})


def profile(**changes: Any) -> UserProfile:
    """Zoë; one field of her profile is empty, as a pool may leave it."""
    fields: dict[str, Any] = {
        "user_id": USER_ID,
        "name": 'Zoë "Zed" O\'Brien-Núñez',
        "age": 41,
        "gender": "female",
        "marital_status": "",
        "education_level": "bachelors (C++ | {sic})",
        "occupation": "night nurse",
        "hobbies_and_interests": "running, 書道",
        "skills_and_expertise": "triage; \\LaTeX",
        "complementary_info": 'Zoë grew up in León 🙂 and says "mañana" a lot.\u2028She keeps {lists}.',
        "formatted_str": 'Name: Zoë "Zed" O\'Brien-Núñez\nAge: 41\nOccupation: night nurse',
    }
    return UserProfile.model_validate({**fields, **changes})


def schema(**changes: Any) -> StateSchema:
    """Three variables; both questions need `diet`, in different places."""
    merged = {GOAL: ("running_goal", "fitness target")}
    fields: dict[str, Any] = {
        "user_id": USER_ID,
        "variables": tuple(
            StateVariable(name=name, choices=choices, merged_from=merged.get(name, (name,)))
            for name, choices in CHOICES.items()
        ),
        "questions": (
            SchemaQuestion(question_id="q01", text='What should I cook "before" a run?', required_info=(DIET, GOAL)),
            SchemaQuestion(question_id="q02", text="Which evening suits a {tasting}?", required_info=(EVENINGS, DIET)),
        ),
    }
    return StateSchema.model_validate({**fields, **changes})


def trajectory() -> StateTrajectory:
    """Two updates in the first period, one in the second; `diet` and `training_goal` then stay."""
    periods = [TrajectoryPeriod(index=0, start=None, end=START, summary=None, updates=(), state=STATES[0])]
    summaries = ("A warning at the clinic.", "Shifts change; “she | the ward” agreed.")
    for index, summary in enumerate(summaries, start=1):
        before, after = STATES[index - 1], STATES[index]
        updates = tuple(
            StateUpdate(variable=name, old=before[name], new=after[name]) for name in after if after[name] != before[name]
        )
        periods.append(
            TrajectoryPeriod(index=index, start=ENDS[index - 1], end=ENDS[index], summary=summary, updates=updates, state=after)
        )
    return StateTrajectory(user_id=USER_ID, periods=tuple(periods))


def sessions() -> tuple[tuple[Session, ...], ...]:
    """Two initial sessions; one session whose event causes two updates; one session whose event causes one."""
    first, second, third = STATES
    return (
        (
            Session(
                session_time=datetime(2020, 9, 12, 7, 5, 9),
                event=None,
                exposed_states={GOAL: first[GOAL], DIET: first[DIET]},
                query="I eat whatever the canteen has\nand can just about jog to the corner – a plan for my first race?",
            ),
            Session(
                session_time=datetime(2020, 9, 25, 23, 59, 59),
                event=None,
                exposed_states={EVENINGS: first[EVENINGS]},
                query="Night shifts eat all my evenings. Any {quick} hobby for the mornings?",
            ),
        ),
        (
            Session(
                session_time=datetime(2020, 11, 3, 0, 0, 0),
                event=HEART_SCARE,
                exposed_states={DIET: second[DIET], GOAL: second[GOAL]},
                query='My doctor said "no more meat", and I signed up for twice the distance… where do I start?',
            ),
        ),
        (
            Session(
                session_time=datetime(2021, 2, 28, 18, 30, 0),
                event="The ward gave her Tuesdays | Thursdays off.",
                exposed_states={EVENINGS: third[EVENINGS]},
                query="With two evenings back each week, what could I learn? 書道 maybe?",
            ),
        ),
    )


def answers() -> tuple[QuestionAnswers, ...]:
    """The second option of the first question is nobody's life; the golden option stays where the state stays."""
    texts = {
        "q01-c1": "Anything light does: pasta with ham two hours before an easy jog. Keep it small.",
        "q01-c2": "A vegan bowl is enough while you rest. Add {salt}.",
        "q01-c3": "Lentils and rice the night before a long run. Skip the cream, and drink well.",
    }
    first, second, third = STATES
    return (
        QuestionAnswers(
            question_id="q01",
            choices=(
                _choice("q01-c1", (first[DIET], first[GOAL]), texts["q01-c1"]),
                _choice("q01-c2", (CHOICES[DIET][2], CHOICES[GOAL][2]), texts["q01-c2"], lived=False),
                _choice("q01-c3", (second[DIET], second[GOAL]), texts["q01-c3"]),
            ),
            golden=("q01-c1", "q01-c3", "q01-c3"),
        ),
        QuestionAnswers(
            question_id="q02",
            choices=(
                _choice("q02-c1", (third[EVENINGS], third[DIET]), "Thursday, with a cheese board; Tuesday is too early."),
                _choice("q02-c2", (first[EVENINGS], first[DIET]), 'Not for now: make it a breakfast with "everything".'),
                _choice("q02-c3", (second[EVENINGS], second[DIET]), "Not yet, so invite them to a meatless brunch."),
            ),
            golden=("q02-c2", "q02-c3", "q02-c1"),
        ),
    )


def _choice(choice_id: str, state: tuple[str, ...], answer: str, *, lived: bool = True) -> AnswerChoice:
    return AnswerChoice(choice_id=choice_id, state=state, answer=answer, type="experience" if lived else "random")


def episode(user_id: str = USER_ID, **changes: Any) -> Episode:
    """The whole user; `user_id` reaches every part."""
    own_schema = schema(user_id=user_id)
    fields: dict[str, Any] = {
        "user_id": user_id,
        "start_date": START,
        "user_profile": profile(user_id=user_id),
        "state_schema": own_schema,
        "periods": join_periods(trajectory(), sessions()),
        "questions": join_questions(own_schema, answers()),
    }
    return Episode.model_validate({**fields, **changes})
