"""Writes the replies to `questions/*`: questions on topics that suit the person, with the variables their answers need."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from assets.amemgym.questions import is_told
from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.plausibility import ProfileFields, exclusive_pairs, fitting_values, parse_profile, unfit_values
from pipelines.embedded.bank import QUESTION_FRAMES, Topic, Variable, distinct_topics, load_bank
from pipelines.embedded.reader import find_topic, word_set
from pipelines.embedded.task import PromptTask

MAX_QUESTIONS_PER_CONCEPT = 2  # while there are other topics
MAX_PASSES = 10  # over a person's topics: enough for the 100 questions that a recipe may ask for
# It presupposes somebody to mentor, so that only a profile that speaks of mentoring brings it in.
PRESUPPOSING_TOPIC = "mentoring_others"
# Everyday life in general: anybody may ask about these, so that a user's questions are not all about hobbies.
EVERYDAY_TOPICS = word_set(
    """decluttering home_repairs household_budgeting saving_for_a_goal screen_time_balance sleep_routine stress_relief
    time_management"""
)
EVERYDAY_SHARE = 0.35
# Where questions are to be about some areas of life only, the topics of each.
TOPICS_BY_AREA = {
    "work and duties": word_set("time_management mentoring_others"),
    "the home and the household": word_set("decluttering home_repairs houseplant_care vegetable_garden"),
    "health, sleep and sport": word_set(
        "sleep_routine stress_relief running swimming recreational_team_sport screen_time_balance"
    ),
    "money and what to buy": word_set("household_budgeting saving_for_a_goal"),
    "nature and journeys": word_set("birdwatching camping photography"),
    "family, friends and company": word_set("board_games"),
    "learning and plans": word_set("online_courses"),
    "crafts, music and other things to do at home": word_set("knitting_and_crafts bread_baking"),
}
FRAMED_SHARE = 0.8  # of the questions are one of the frames with the topic in it


def write_questions(task: PromptTask) -> dict[str, Any]:
    """Write as many questions as asked: distinct topics first, then other phrasings of the same."""
    count = task.number(r"exactly (\d+) different questions", default=10)
    writer = QuestionWriter.of(task, count=count)
    for pass_number in range(MAX_PASSES):
        for topic in writer.topics:
            if len(writer.questions) < count:
                writer.add(topic, pass_number=pass_number)
    return {"questions": writer.rng.shuffled(writer.questions)}


def redraft_questions(task: PromptTask) -> dict[str, Any]:
    """Write a question on another topic in place of each; information that the other questions need keeps its choices."""
    refused: dict[str, dict[str, Any]] = task.data("questions")
    others: dict[str, dict[str, list[str]]] = task.data("other_questions")
    asked = [*others, *(question["question"] for question in refused.values())]
    writer = QuestionWriter.of(task, count=len(asked) + len(refused))
    for infos in others.values():
        writer.known.update(infos)
    used = {topic.topic for topic in map(find_topic, asked) if topic is not None}
    for topic in [topic for topic in writer.topics if topic.topic not in used] + writer.topics:
        if len(writer.questions) < len(refused):
            writer.add(topic, pass_number=0, named=True)
    return dict(zip(refused, writer.questions, strict=False))


@dataclass
class QuestionWriter:
    """Writes questions one by one; `questions` are those so far. The sizes are those that the instructions ask for.

    `known`: the choices of information that questions elsewhere need.
    """

    profile: str
    person: ProfileFields
    topics: list[Topic]
    num_states: int
    num_choices: int
    rng: SeededRandom
    questions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    frames: list[str] = field(default_factory=list[str])
    known: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @classmethod
    def of(cls, task: PromptTask, *, count: int) -> "QuestionWriter":
        """Return a writer with as many topics for the task's person as `count` questions may need."""
        rng = task.rng("questions")
        profile = task.text("user_profile")
        person = parse_profile(profile)
        topics = _topics_in_areas(task.request)
        return cls(
            profile,
            person,
            spread_concepts(ranked_topics(person, topics, count=count, rng=rng), count=count),
            num_states=task.number(r"exactly (\d+) pieces", default=2),
            num_choices=task.number(r"exactly (\d+) values", default=3),
            rng=rng,
        )

    def add(self, topic: Topic, *, pass_number: int, named: bool = False) -> None:
        """Ask about a topic; each further pass takes another phrasing and begins with another variable.

        `named`: information has the name of its variable, not one that other questions may have, too.
        """
        text = self._new_text(topic)
        if text is not None:
            info: list[dict[str, Any]] = []
            chosen: dict[str, list[str]] = {}
            for variable in self._variables(topic, pass_number):
                name = variable.name if named else self.rng.choice(variable.asked_as)
                chosen[variable.name] = self.known.get(name) or self._choices(variable, beside=chosen)
                info.append({"info_type": name, "info_choices": chosen[variable.name]})
            self.questions.append({"question": text, "required_info": _distinguish_names(info)})

    def _new_text(self, topic: Topic) -> str | None:
        """Return a question that was not asked before, framed as none was lately, so that no two sound alike."""
        used = [question["question"] for question in self.questions]
        if self.rng.bernoulli(FRAMED_SHARE):
            self.frames = self.frames or self.rng.shuffled(QUESTION_FRAMES)
            framed = topic.fill_frame(self.frames.pop())
            if framed not in used:
                return framed
        for phrasings in (topic.questions, topic.phrasings):
            left = [phrasing for phrasing in phrasings if phrasing not in used]
            if left:
                return self.rng.choice(left)
        return None

    def _variables(self, topic: Topic, pass_number: int) -> list[Variable]:
        """Return the topic's variables that have enough choices, then such variables of its neighbours."""
        own = list(filter(self._has_enough_choices, topic.variables))
        turn = (self.rng.integer_below(3) + pass_number) % max(1, len(own))
        chosen: dict[str, Variable] = {}
        for variable in [*own[turn:], *own[:turn]][: self.num_states]:
            chosen[variable.name] = variable
        place = self.topics.index(topic)
        for neighbour in (*self.topics[place + 1 :], *self.topics[:place]):
            for variable in neighbour.variables:
                if len(chosen) < self.num_states and self._has_enough_choices(variable):
                    chosen.setdefault(variable.name, variable)
        # A size that no variable of the bank has: the gate objects, in words of its own.
        return list(chosen.values()) or list(topic.variables)[: self.num_states]

    def _has_enough_choices(self, variable: Variable) -> bool:
        return len(self._untold(variable)) >= self.num_choices

    def _untold(self, variable: Variable) -> list[str]:
        """Return the choices that do not stand in the profile."""
        return [value for value in variable.choices if not is_told(value, self.profile, language="en")]

    def _choices(self, variable: Variable, *, beside: Mapping[str, list[str]]) -> list[str]:
        unfit = unfit_values({variable.name: tuple(variable.choices)}, self.person).get(variable.name, {})
        fitting = fitting_values(self.person).get(variable.name)
        pairs = exclusive_pairs({**beside, variable.name: tuple(variable.choices)})
        clashes = Counter(pair[variable.name] for pair in pairs if variable.name in pair)
        # Values that do not fit the person or the question's other values come last: the sizes asked for may leave no other.
        untold = self._untold(variable) or list(variable.choices)
        ranked = sorted(self.rng.shuffled(untold), key=lambda value: (value != fitting, value in unfit, clashes[value]))
        sampled = ranked[: self.num_choices]
        return [value for value in variable.choices if value in sampled]


def _distinguish_names(info: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make names within a question differ; between questions they may be ambiguous, as a real model's are."""
    seen: set[str] = set()
    for item in info:
        while item["info_type"] in seen:
            item["info_type"] = f"other_{item['info_type']}"
        seen.add(item["info_type"])
    return info


def _topics_in_areas(request: str) -> list[Topic]:
    """Return the topics of the areas of life that the request names; all where it names none."""
    topics = list(load_bank().topics)
    named = re.search(r"^Areas of life: (.+)\.$", request, re.MULTILINE)
    if named is None:
        return topics
    names: set[str] = set()
    for area in named[1].split("; "):
        names.update(TOPICS_BY_AREA[area])
    return [topic for topic in topics if topic.topic in names]


def spread_concepts(topics: list[Topic], *, count: int) -> list[Topic]:
    """Return the topics in order; those with a concept that the first ones have often enough come behind the others."""
    first: list[Topic] = []
    later: list[Topic] = []
    concept_counts: Counter[str] = Counter()
    for topic in topics:
        concept = topic.variables[2].name
        if concept_counts[concept] >= MAX_QUESTIONS_PER_CONCEPT and len(first) < count:
            later.append(topic)
        else:
            first.append(topic)
            concept_counts[concept] += 1
    return [*first, *later]


def ranked_topics(person: ProfileFields, topics: Sequence[Topic], *, count: int, rng: SeededRandom) -> list[Topic]:
    """Return those of the topics that suit a person, best first: what they care about, mixed with everyday life."""
    liked: list[Topic] = []
    everyday: list[Topic] = []
    rest: list[Topic] = []
    for topic in rng.shuffled(topics):
        if not suits(topic, person):
            continue
        if affinity(topic, person) > 0:
            liked.append(topic)
        if topic.topic in EVERYDAY_TOPICS:
            everyday.append(topic)
        elif topic.topic != PRESUPPOSING_TOPIC:
            rest.append(topic)
    liked.sort(key=lambda topic: affinity(topic, person), reverse=True)
    first = liked[: round(count * (1 - EVERYDAY_SHARE))]
    others = [topic for topic in everyday if topic not in first]
    return distinct_topics([*first, *others[: count - len(first)], *liked, *everyday, *rest])


def suits(topic: Topic, person: ProfileFields) -> bool:
    """Return True when the topic makes sense for the person at all."""
    youngest, oldest = topic.fits.ages
    return youngest <= person.age <= oldest and (person.employed or not topic.fits.employed)


def affinity(topic: Topic, person: ProfileFields) -> float:
    """Weigh what in the profile speaks for the topic: what somebody likes to do more than what is told about them."""
    in_interests = _count_mentions(person.interests, topic.fits.hobbies)
    in_about = _count_mentions(person.about, topic.fits.hobbies)
    at_work = any(word in person.occupation for word in topic.fits.occupations)
    return 2.0 * min(in_interests, 2) + 0.7 * min(in_about, 2) + 1.0 * at_work


def _count_mentions(text: str, words: Sequence[str]) -> int:
    count = 0
    for word in words:
        if _word_start(word).search(text):
            count += 1
    return count


@cache
def _word_start(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(words)}")
