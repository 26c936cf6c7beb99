"""The last sentence of an answer, by its topic."""

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.bank import Topic
from pipelines.embedded.reader import word_set

# Closing sentences of answers, by the kind of topic. They suit any situation and say nothing about anybody's.
ACTIVE_TOPICS = word_set("birdwatching camping recreational_team_sport running swimming")
CRAFT_TOPICS = word_set(
    "bread_baking decluttering home_repairs houseplant_care knitting_and_crafts photography vegetable_garden"
)
LEARNING_TOPICS = word_set("household_budgeting online_courses saving_for_a_goal time_management")
ACTIVE_CLOSINGS = (
    "Pay attention to how it feels, and adjust from there.",
    "Repeat what worked, and drop the rest without regret.",
    "Small steps add up sooner than you might expect.",
    "Do it twice before you judge it.",
    "Note down briefly how it went.",
)
CRAFT_CLOSINGS = (
    "Change one detail at a time, so you can see what helped.",
    "Write down what you did, and the second attempt will be easier.",
    "See how it turns out before you change anything else.",
    "Mistakes are cheap here, so experiment.",
    "Good enough is fine for a start.",
)
LEARNING_CLOSINGS = (
    "Review in a month what has improved.",
    "Steady effort will show before long.",
    "Judge it by the results after some weeks.",
    "Be patient with yourself while it becomes a habit.",
    "Once that feels natural, add the next step.",
)
OTHER_CLOSINGS = (
    "See what difference it makes, and build on that.",
    "Begin small, and let it grow.",
    "If it feels right, make it a habit.",
    "Nothing has to be perfect for this to help.",
    "Adjust it until it suits you.",
)


def closing_sentences(topic: Topic | None, *, rng: SeededRandom) -> list[str]:
    """Return sentences for the ends of answers to one question, in random order."""
    name = topic.topic if topic else ""
    closings = OTHER_CLOSINGS
    if name in ACTIVE_TOPICS:
        closings = ACTIVE_CLOSINGS
    elif name in CRAFT_TOPICS:
        closings = CRAFT_CLOSINGS
    elif name in LEARNING_TOPICS:
        closings = LEARNING_CLOSINGS
    return rng.shuffled(closings)
