"""An episode taken apart gives the records that it was joined from, and a recipe that it fits."""

from typing import cast

from assets.amemgym.episode_parts import fitting_counts, named_once, parts_of
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.state import StateSchema, StateTrajectory
from assets.recipe.amemgym import AMemGymRecipe
from dataset_card.amemgym.reference.data_json import episode_from_reference
from tests.dataset_card.reference.foreign_data import foreign_users
from tests.support import scenario


def test_the_parts_are_those_that_were_joined() -> None:
    episode = scenario.episode()
    parts = parts_of(episode)
    assert parts["state_trajectory"] == scenario.trajectory()
    assert parts["user_profiles"] == scenario.profile()
    assert [one.golden for one in cast(AnswerSet, parts["answers"]).questions] == [one.golden for one in episode.questions]


def test_merged_variables_are_named_once_and_options_that_contradict_themselves_are_not_judged() -> None:
    parts = parts_of(episode_from_reference(foreign_users(1)[0]))
    schema, answers = named_once(cast(StateSchema, parts["state_schema"]), cast(AnswerSet, parts["answers"]))
    required = [one.required_info for one in schema.questions]
    assert (required[0], required[3]) == (("commute",), ("sleep", "kitchen"))
    assert [len(one.choices) for one in answers.questions] == [3, 4, 4, 4]
    assert {len(choice.state) for choice in answers.questions[3].choices} == {2}


def test_the_recipe_has_the_counts_of_most_users() -> None:
    episodes = [episode_from_reference(item) for item in foreign_users(3)]
    recipe = AMemGymRecipe.model_validate({"variant": "given", **fitting_counts(episodes)})
    assert recipe.num_users == 3
    assert recipe.num_questions == 4
    assert recipe.num_periods == 3
    assert recipe.num_months_per_period == 3
    assert (recipe.num_states_per_question, recipe.num_choices_per_state, recipe.num_changes_per_period) == (2, 3, 2)
    trajectory = cast(StateTrajectory, parts_of(episodes[0])["state_trajectory"])
    assert recipe.start_date == trajectory.periods[0].end


def test_a_user_without_later_periods_has_a_recipe_too() -> None:
    item = foreign_users(1)[0]
    item["periods"] = item["periods"][:1]
    counts = fitting_counts([episode_from_reference(item)])
    assert AMemGymRecipe.model_validate({"variant": "given", **counts}).num_periods == 1
