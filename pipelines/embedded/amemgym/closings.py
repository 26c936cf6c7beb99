"""Closing sentences for answers: they suit any situation, by the kind of topic, and say nothing about anybody's."""

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.wording import word_set
from pipelines.embedded.bank import Topic

ACTIVE = word_set(
    """birdwatching camping cycling fishing recreational_team_sport running strength_training swimming weekend_hiking
    weekend_trips yoga_and_stretching commuting dog_care"""
)
CRAFT = word_set(
    """bread_baking healthy_eating home_repairs houseplant_care knitting_and_crafts painting_and_drawing photography
    vegetable_garden weeknight_cooking decluttering home_office_setup grocery_planning"""
)
LEARNING = word_set(
    """career_growth family_history language_learning learning_an_instrument online_courses public_speaking reading_habit
    time_management side_business team_leadership household_budgeting saving_for_a_goal"""
)
FOR_ACTIVE = (
    "Pay attention to how it feels, and adjust from there.",
    "Repeat what worked, and drop the rest without regret.",
    "Small steps add up sooner than you might expect.",
    "Do it twice before you judge it.",
    "Note down briefly how it went.",
)
FOR_CRAFT = (
    "Change one detail at a time, so you can see what helped.",
    "Write down what you did, and the second attempt will be easier.",
    "See how it turns out before you change anything else.",
    "Mistakes are cheap here, so experiment.",
    "Good enough is fine for a start.",
)
FOR_LEARNING = (
    "Review in a month what has improved.",
    "Steady effort will show before long.",
    "Judge it by the results after some weeks.",
    "Be patient with yourself while it becomes a habit.",
    "Once that feels natural, add the next step.",
)
FOR_LIFE = (
    "See what difference it makes, and build on that.",
    "Begin small, and let it grow.",
    "If it feels right, make it a habit.",
    "Nothing has to be perfect for this to help.",
    "Adjust it until it suits you.",
)


def closings(topic: Topic | None, *, rng: SeededRandom) -> list[str]:
    """Sentences for the ends of answers to one question, in random order."""
    name = topic.topic if topic else ""
    kinds = ((ACTIVE, FOR_ACTIVE), (CRAFT, FOR_CRAFT), (LEARNING, FOR_LEARNING))
    return rng.shuffled(next((lines for topics, lines in kinds if name in topics), FOR_LIFE))
