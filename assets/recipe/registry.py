"""Each benchmark's record of a recipe by the benchmark's name: recipe files are read before any stage is imported."""

from assets.amemgym.recipe import AMemGymRecipe
from assets.code_qa.recipe import CodeQaRecipe
from assets.deep_research.recipe import DeepResearchRecipe
from assets.recipe.recipe import Recipe

# What a recipe that names no benchmark is of.
DEFAULT_BENCHMARK = "amemgym"
# A `Benchmark` enters its own; only one whose recipes lie in the folder of recipes has to be entered here.
RECIPE_TYPES: dict[str, type[Recipe]] = {
    DEFAULT_BENCHMARK: AMemGymRecipe,
    "deep_research": DeepResearchRecipe,
    "code_qa": CodeQaRecipe,
}
