"""Writes the reply to `questions/draft`: questions on topics that suit the person, with the variables their answers need."""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.plausibility import ProfileFields, fitting_values, parse_profile, unfit_values
from pipelines.embedded.bank import QUESTION_FRAMES, Topic, Variable, load_bank
from pipelines.embedded.reader import word_set
from pipelines.embedded.task import PromptTask

MAX_QUESTIONS_PER_CONCEPT = 2  # while there are other topics
# Each group asks about one thing in several words: the kitchen, nights in a tent, animals eaten or not. Two of a group could
# contradict each other, and no text could tell the one without the other.
OVERLAPPING_TOPICS = (
    frozenset({"bread_baking", "healthy_eating", "weeknight_cooking"}),
    frozenset({"camping", "weekend_trips"}),
    frozenset({"fishing", "weeknight_cooking"}),
)
# Topics that presuppose a dog, a team, a business; only a profile that speaks of them brings them in.
PRESUPPOSING_TOPICS = frozenset({"dog_care", "team_leadership", "side_business", "mentoring_others", "home_office_setup"})
# Everyday life in general: anybody may ask about these, so that a user's questions are not all about hobbies.
EVERYDAY_TOPICS = word_set(
    """decluttering gift_giving grocery_planning healthy_eating home_repairs hosting_guests household_budgeting
    keeping_in_touch movie_nights neighborhood_life reading_habit saving_for_a_goal screen_time_balance sleep_routine
    stress_relief time_management weekend_trips weeknight_cooking"""
)
EVERYDAY_SHARE = 0.35
FRAMED_SHARE = 0.8  # of the questions are one of the frames with the topic in it


def draft(task: PromptTask) -> dict[str, Any]:
    """As many questions as asked: distinct topics first, then other phrasings of the same."""
    count = task.number(r"exactly (\d+) different questions", default=10)
    rng = task.rng("questions")
    person = parse_profile(task.text("user_profile"))
    topics = spread_concepts(ranked_topics(person, count=count, rng=rng), count=count)
    writer = QuestionWriter(
        person,
        topics,
        num_states=task.number(r"exactly (\d+) pieces", default=2),
        num_choices=task.number(r"exactly (\d+) values", default=3),
        rng=rng,
    )
    for pass_number in range(4):
        for topic in topics:
            if len(writer.questions) < count:
                writer.add(topic, pass_number=pass_number)
    return {"questions": rng.shuffled(writer.questions)}


@dataclass
class QuestionWriter:
    """Writes questions one by one; `questions` are those so far. The sizes are those that the instructions ask for."""

    person: ProfileFields
    topics: list[Topic]
    num_states: int
    num_choices: int
    rng: SeededRandom
    questions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    frames: list[str] = field(default_factory=list[str])

    def add(self, topic: Topic, *, pass_number: int) -> None:
        """Ask about a topic; each further pass takes another phrasing and begins with another variable."""
        text = self._phrase(topic)
        if text is not None:
            info = [self._info(variable) for variable in self._variables(topic, pass_number)]
            self.questions.append({"question": text, "required_info": _distinguish_names(info)})

    def _phrase(self, topic: Topic) -> str | None:
        """A question that was not asked before, framed as none was lately, so that no two sound alike."""
        used = {question["question"] for question in self.questions}
        if self.rng.bernoulli(FRAMED_SHARE):
            self.frames = self.frames or self.rng.shuffled(QUESTION_FRAMES)
            framed = topic.framed(self.frames.pop())
            if framed not in used:
                return framed
        left = [phrasing for phrasing in topic.phrasings if phrasing not in used]
        own = [phrasing for phrasing in left if phrasing in topic.questions]
        return self.rng.choice(own or left) if left else None

    def _variables(self, topic: Topic, pass_number: int) -> list[Variable]:
        own = [v for v in topic.variables if len(v.choices) >= self.num_choices]
        start = self.rng.integer_below(3) + pass_number
        chosen = [own[(start + step) % len(own)] for step in range(len(own))][: self.num_states]
        index = self.topics.index(topic)
        borrowed = [v for neighbour in (*self.topics[index + 1 :], *self.topics[:index]) for v in neighbour.variables]
        for variable in borrowed:
            is_new = variable.name not in {other.name for other in chosen}
            if is_new and len(chosen) < self.num_states and len(variable.choices) >= self.num_choices:
                chosen.append(variable)
        return chosen or list(topic.variables)[: self.num_states]

    def _info(self, variable: Variable) -> dict[str, Any]:
        unfit = unfit_values({variable.name: tuple(variable.choices)}, self.person).get(variable.name, {})
        told = fitting_values(self.person).get(variable.name)
        # Values that do not fit come last: the sizes asked for may leave no other.
        ranked = sorted(self.rng.shuffled(list(variable.choices)), key=lambda value: (value != told, value in unfit))
        sampled = set(ranked[: self.num_choices])
        return {
            "info_type": self.rng.choice(variable.asked_as),
            "info_choices": [value for value in variable.choices if value in sampled],
        }


def _distinguish_names(info: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draft names may be ambiguous between questions, never within one."""
    seen: set[str] = set()
    for item in info:
        while item["info_type"] in seen:
            item["info_type"] = f"other_{item['info_type']}"
        seen.add(item["info_type"])
    return info


def spread_concepts(topics: list[Topic], *, count: int) -> list[Topic]:
    """The topics in order; those that would overlap too much with earlier ones come behind the others."""
    first: list[Topic] = []
    later: list[Topic] = []
    concept_counts: dict[str, int] = {}
    for topic in topics:
        concept = topic.variables[2].name
        present = {other.topic for other in first}
        second_of_a_kind = any(topic.topic in group and present & group for group in OVERLAPPING_TOPICS)
        repeated = concept_counts.get(concept, 0) >= MAX_QUESTIONS_PER_CONCEPT and len(first) < count
        overlaps = second_of_a_kind or repeated
        (later if overlaps else first).append(topic)
        concept_counts[concept] = concept_counts.get(concept, 0) + (not overlaps)
    return [*first, *later]


def ranked_topics(person: ProfileFields, *, count: int, rng: SeededRandom) -> list[Topic]:
    """Topics for a person, best first: what they care about, mixed with everyday life; all that suit, when few do."""
    suitable = [topic for topic in rng.shuffled(load_bank().topics) if suits(topic, person)]
    affinities = {topic.topic: affinity(topic, person) for topic in suitable}
    liked = sorted((t for t in suitable if affinities[t.topic] > 0), key=lambda t: -affinities[t.topic])
    first = liked[: round(count * (1 - EVERYDAY_SHARE))]
    everyday = [t for t in suitable if t.topic in EVERYDAY_TOPICS and t not in first]
    rest = [t for t in suitable if t.topic not in EVERYDAY_TOPICS and t.topic not in PRESUPPOSING_TOPICS]
    chosen = [*first, *everyday[: count - len(first)], *liked, *everyday, *rest]
    return list({topic.topic: topic for topic in chosen}.values())


def suits(topic: Topic, person: ProfileFields) -> bool:
    """Whether the topic makes sense for the person at all."""
    youngest, oldest = topic.fits.ages
    return youngest <= person.age <= oldest and (person.employed or not topic.fits.employed)


def affinity(topic: Topic, person: ProfileFields) -> float:
    """How much of the profile speaks for the topic."""
    in_interests = sum(_mentions(person.interests, word) for word in topic.fits.hobbies)
    in_about = sum(_mentions(person.about, word) for word in topic.fits.hobbies)
    at_work = any(word in person.occupation for word in topic.fits.occupations)
    return 2.0 * min(in_interests, 2) + 0.7 * min(in_about, 2) + 1.0 * at_work


def _mentions(text: str, words: str) -> bool:
    return _word_start(words).search(text) is not None


@cache
def _word_start(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(words)}")
