"""What the embedded model gathers from a profile, and which topics suit the person."""

import re
from dataclasses import dataclass
from functools import cache

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.wording import word_set
from pipelines.embedded.bank import Topic, load_bank

# Topics that presuppose a dog, a team, a business; only a profile that speaks of them brings them in.
PRESUPPOSING = frozenset({"dog_care", "team_leadership", "side_business", "mentoring_others", "home_office_setup"})
# Everyday life in general: anybody may ask about these, so that a user's questions are not all about hobbies.
EVERYDAY = word_set(
    """decluttering gift_giving grocery_planning healthy_eating home_repairs hosting_guests household_budgeting
    keeping_in_touch movie_nights neighborhood_life reading_habit saving_for_a_goal screen_time_balance sleep_routine
    stress_relief time_management weekend_trips weeknight_cooking"""
)
NOT_EMPLOYED = re.compile(r"retired|unemployed|not in (the )?workforce|student|homemaker|no occupation|never worked")
EVERYDAY_SHARE = 0.35
FIELD = re.compile(r"^(?P<label>[A-Z][a-z ]+): (?P<value>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Person:
    """The fields of a formatted profile that decide what somebody asks about."""

    age: int
    occupation: str
    interests: str
    about: str

    @property
    def employed(self) -> bool:
        """Whether the profile names paid work."""
        return bool(self.occupation) and not NOT_EMPLOYED.search(self.occupation)


def person(profile: str) -> Person:
    """Read `label: value` lines; a profile in another form is read as one text."""
    fields = {match["label"].lower(): match["value"] for match in FIELD.finditer(profile)}
    age = re.search(r"\d+", fields.get("age", ""))
    interests = "\n".join(fields.get(label, "") for label in ("hobbies and interests", "skills and expertise"))
    return Person(
        age=int(age[0]) if age else 40,
        occupation=fields.get("occupation", "").lower(),
        interests=interests.lower(),
        about=fields.get("about", profile).lower(),
    )


def suits(topic: Topic, who: Person) -> bool:
    """Whether the topic makes sense for the person at all."""
    youngest, oldest = topic.fits.ages
    return youngest <= who.age <= oldest and (who.employed or not topic.fits.employed)


def affinity(topic: Topic, who: Person) -> float:
    """How much of the profile speaks for the topic."""
    in_interests = sum(_mentions(who.interests, word) for word in topic.fits.hobbies)
    in_about = sum(_mentions(who.about, word) for word in topic.fits.hobbies)
    at_work = any(word in who.occupation for word in topic.fits.occupations)
    return 2.0 * min(in_interests, 2) + 0.7 * min(in_about, 2) + 1.0 * at_work


def _mentions(text: str, words: str) -> bool:
    return _beginning_with(words).search(text) is not None


@cache
def _beginning_with(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(words)}")


def ranked_topics(profile: str, *, count: int, rng: SeededRandom) -> list[Topic]:
    """Topics for a person, best first: what they care about, mixed with everyday life; all that suit, when few do."""
    who = person(profile)
    open_to = [topic for topic in rng.shuffled(load_bank().topics) if suits(topic, who)]
    liking = {topic.topic: affinity(topic, who) for topic in open_to}
    liked = sorted((t for t in open_to if liking[t.topic] > 0), key=lambda t: -liking[t.topic])
    everyday = [t for t in open_to if t.topic in EVERYDAY and t not in liked[: round(count * (1 - EVERYDAY_SHARE))]]
    rest = [t for t in open_to if t.topic not in EVERYDAY and t.topic not in PRESUPPOSING]
    first = liked[: round(count * (1 - EVERYDAY_SHARE))]
    chosen = [*first, *everyday[: count - len(first)], *liked, *everyday, *rest]
    return list({topic.topic: topic for topic in chosen}.values())
