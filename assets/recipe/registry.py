"""Each benchmark's record of a recipe by the benchmark's name: recipe files are read before any stage is imported."""

from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.code_qa import CodeQaRecipe
from assets.recipe.code_repair import CodeRepairRecipe
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.recipe import Recipe
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.recipe.user_facts import UserFactsRecipe

# What a recipe that names no benchmark is of.
DEFAULT_BENCHMARK = "amemgym"
# A `Benchmark` enters its own; only one whose recipes lie in the folder of recipes has to be entered here.
RECIPE_TYPES: dict[str, type[Recipe]] = {
    DEFAULT_BENCHMARK: AMemGymRecipe,
    "deep_research": DeepResearchRecipe,
    "code_qa": CodeQaRecipe,
    "code_repair": CodeRepairRecipe,
    "tool_dialogue": ToolDialogueRecipe,
    "user_facts": UserFactsRecipe,
}
