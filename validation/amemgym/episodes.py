"""What must hold of the finished episodes, judged by themselves alone."""

from collections import Counter
from collections.abc import Iterator

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.episode import Episode
from validation.rules import OneRowPerUser, Rule, SetRule, expect, invariants


def episode_has_all_questions(episode: Episode, recipe: AMemGymRecipe) -> Iterator[str]:
    """Nothing of what the recipe asks for is missing."""
    yield from expect(len(episode.questions) == recipe.num_questions, f"has {len(episode.questions)} questions")
    yield from expect(len(episode.periods) == recipe.num_periods + 1, f"has {len(episode.periods)} periods")
    yield from expect(episode.start_date == recipe.start_date, f"starts on {episode.start_date}, not {recipe.start_date}")


def updates_are_counted(episode: Episode, _: AMemGymRecipe) -> Iterator[str]:
    """The count of a variable is the number of its updates up to that period."""
    counts: Counter[str] = Counter()
    for index, period in enumerate(episode.periods):
        counts.update(update.variable for update in period.updates)
        for name in period.state:
            if (count := period.update_counts.get(name)) != counts[name]:
                yield f"period {index} counts {count} updates of {name!r}, there are {counts[name]}"


RULES = (
    Rule("complete", "Episodes have all questions and periods, from the recipe's start date.", episode_has_all_questions),
    Rule(
        "consistent",
        "References resolve, states follow from updates, sessions expose exactly the updates, and one option of each "
        "question matches each state: the golden one.",
        invariants,
    ),
    Rule("updates_counted", "Updates are counted up to each period.", updates_are_counted),
    SetRule("one_row_per_user", "Every user is there once.", OneRowPerUser),
)
