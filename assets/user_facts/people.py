"""Stage `facts_people`: the users, each with a name and circumstances; matters are drafted for them."""

import hashlib
from collections.abc import Iterator

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.memory_items.world.relations import person
from assets.recipe.recipe import Unit
from assets.recipe.user_facts import UserFactsRecipe
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.user_facts.records import FactPerson

YOUNGEST = 20
OLDEST = 79
HOMES = (
    "alone in a large city",
    "with a partner in a suburb",
    "with two school children in a small town",
    "in a shared flat near a university",
    "with a teenager and a dog in a village",
    "with an old parent at the coast",
    "with a partner and a baby in a new housing estate",
    "alone on a farm",
)
DAYS = (
    "works in an office",
    "works shifts in a hospital",
    "teaches at a school",
    "runs a small shop",
    "repairs houses of others",
    "works from home for a firm far away",
    "drives through the region for work",
    "does voluntary work on many days",
)


def draw_people(recipe: UserFactsRecipe, unit: Unit) -> Iterator[tuple[int, FactPerson]]:
    """Yield the unit's users by position; a user follows from seed and position alone."""
    for position in unit.positions:
        path = (recipe.world_seed, "user facts", position)
        rng = SeededRandom(*path, "circumstances")
        age = YOUNGEST + rng.integer_below(OLDEST - YOUNGEST + 1)
        yield (
            position,
            FactPerson(
                user_id=hashlib.sha256("\x1f".join(map(str, path)).encode()).hexdigest()[:16],
                name=person(SeededRandom(*path, "name")),
                circumstances=f"{age} years old, lives {rng.choice(HOMES)}, {rng.choice(DAYS)}",
            ),
        )


FACTS_PEOPLE = Stage(
    name="facts_people",
    record=FactPerson,
    draw=draw_people,
    description=AssetDescription(
        group="people",
        description="The users: a name, and in a few words how they live, so that not all tell of the same matters. They "
        "follow from the seed and the user's position.",
        rows=preview_rows("", "user=name circumstances"),
        paper="MemGym",
    ),
)
