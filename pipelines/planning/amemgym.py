"""What `amemgym plan` says of AMemGym beside its figures."""

from collections.abc import Iterator

from assets.recipe.amemgym import AMemGymRecipe
from validation.amemgym.report.gates import decoys_sentence

# What the paper says of one user of base with gpt-4.1 (App. C.2).
PAPER = "The paper's: 140 K input and 15.2 K output tokens, $0.40 with gpt-4.1 (App. C.2)."


def forecast_notes(recipe: AMemGymRecipe) -> Iterator[str]:
    """Yield sentences about how to read the forecast, and the paper's figures beside those of `base`."""
    decoys = decoys_sentence(recipe)
    if decoys:
        yield decoys
    if recipe.main_numbers == AMemGymRecipe(variant="base").main_numbers:
        yield PAPER
