"""Each benchmark's record of a recipe by the benchmark's name: recipe files are read before any stage is imported."""

from assets.entry_points import EntryPointGroup
from assets.recipe.recipe import Recipe

# What a recipe that names no benchmark is of.
DEFAULT_BENCHMARK = "amemgym"
# A `Benchmark` enters its own; only one whose recipes lie in the folder of recipes needs an entry point.
RECIPE_TYPES = EntryPointGroup[type[Recipe]]("amemgym.recipes", first=DEFAULT_BENCHMARK)
