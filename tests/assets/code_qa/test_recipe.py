"""A recipe of code questions: what is wrong in one of its packages is told with the place in the list."""

from collections import Counter

import pytest

from assets.recipe.loading import build_recipe, load_recipe
from assets.recipe.recipe import RecipeError
from pipelines.benchmarks import benchmark_of
from pipelines.planning.usage import expected_calls

WRONG: dict[str, tuple[list[object], str]] = {
    "a field of one": (
        [{"name": "click", "version": "8", "pth": "x"}],
        "there is no field 'packages.0.pth'. Did you mean 'path'?",
    ),
    "nothing where something is needed": ([{"name": "click"}], "packages.0.version is missing; give it."),
    "a text for a group": (["click"], "packages.0 is 'click', and has to be a group of fields."),
}


@pytest.mark.parametrize(("packages", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_list_of_packages_is_told_with_its_place(packages: list[object], told: str) -> None:
    with pytest.raises(RecipeError) as refused:
        build_recipe({"variant": "mine", "benchmark": "code_qa", "packages": packages})
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("variant", "calls"),
    [("code-demo", {"code_questions": 9, "code_ablation": 36}), ("sessions-demo", {"sq_ablation": 36})],
)
def test_what_a_variant_takes_is_known_before_an_item_is_made(variant: str, calls: dict[str, float]) -> None:
    benchmark = benchmark_of(load_recipe(variant))
    found = Counter[str]()
    for (stage, _), of_prompt in expected_calls(benchmark, load_recipe(variant)).items():
        found[stage] += round(of_prompt)
    assert {stage: found[stage] for stage in calls} == calls
    assert set(found) == {*calls, benchmark.asking_stages[0]}


@pytest.mark.parametrize(("num_tasks", "answered"), [(4, 420), (8, 608)])
def test_the_sessions_that_are_foreseen_follow_the_number_of_tasks(num_tasks: int, answered: int) -> None:
    """`answered`: calls of `sq_sessions` that the embedded model answered, as the ledger had them."""
    recipe = load_recipe("sessions-demo", {"num_tasks": num_tasks})
    calls = 0.0
    for (stage, _), of_prompt in expected_calls(benchmark_of(recipe), recipe).items():
        calls += num_tasks * of_prompt if stage == "sq_sessions" else 0
    assert calls == pytest.approx(answered, rel=0.15)
