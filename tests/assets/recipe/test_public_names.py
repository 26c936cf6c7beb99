"""What is shared names models and files, and tells nothing of where they lie."""

import pytest

from assets.engine.recipe_asset import embedded_model_notice, with_embedded_model
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.recipe import RecipeError
from assets.records.public_names import file_name, shared_model
from dataset_card.card.recipe import models_by_role, shared_recipe
from tests.support import gate_votes, scenario
from tests.support.scenario import varied

PANEL = {"judge": {"model": "one", "further": ["/home/zoë/models/two.gguf", "org/three"]}}


def recipe() -> AMemGymRecipe:
    return scenario.recipe(models=PANEL)


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("gpt-4.1", "gpt-4.1"),
        ("meta/llama-3", "meta/llama-3"),
        ("/home/zoë/m.gguf", "m.gguf"),
        ("./m.gguf", "m.gguf"),
        ("~/models/m.gguf", "m.gguf"),
        ("C:\\models\\m.gguf", "m.gguf"),
    ],
)
def test_a_model_that_is_a_local_file_shows_the_files_name_only(model: str, shown: str) -> None:
    assert shared_model(model) == shown
    assert file_name(f"/data/{shown}") == shown.rpartition("/")[2]


def test_a_vote_in_a_release_names_its_judge_without_the_path() -> None:
    vote = varied(gate_votes.gate_records()[0], judge="/home/zoë/models/two.gguf")
    (row,) = gate_votes.vote_rows([("u", [vote])], [], released={"u"})
    assert row.judge == "two.gguf"


def test_all_judges_are_named_in_a_release() -> None:
    assert shared_recipe(recipe()).models.judge.panel == ("one", "two.gguf", "org/three")
    assert models_by_role(shared_recipe(recipe()))["judge"] == "one, two.gguf, org/three"


def test_the_embedded_model_stands_in_for_every_judge() -> None:
    local = scenario.recipe(models=PANEL, pool={})
    assert set(with_embedded_model(local, embedded_model="amemgym-embedded-1").models.judge.panel) == {"amemgym-embedded-1"}


def test_a_language_that_the_embedded_model_does_not_write_is_refused() -> None:
    foreign = scenario.recipe(language="de")
    with pytest.raises(RecipeError, match="language is 'de', but the embedded model writes English alone"):
        with_embedded_model(foreign, embedded_model="amemgym-embedded-1")
    assert with_embedded_model(foreign, embedded_model=None) == foreign


def test_the_models_that_the_embedded_one_stands_in_for_are_told() -> None:
    named = scenario.recipe(models={"judge": {"model": "one", "further": ["two"]}, "user_simulator": {"model": "embedded"}})
    assert "in place of gpt-4.1, one, two." in (embedded_model_notice(named.models, embedded_model="embedded") or "")


def test_nobody_is_told_of_a_stand_in_where_there_is_none() -> None:
    own = scenario.recipe(models={role: {"model": "embedded"} for role in ("writer", "judge", "user_simulator")})
    assert embedded_model_notice(own.models, embedded_model="embedded") is None
    assert embedded_model_notice(recipe().models, embedded_model=None) is None


def test_another_judge_is_another_recipe() -> None:
    assert recipe().fingerprint != scenario.recipe(models={"judge": {"model": "one"}}).fingerprint
