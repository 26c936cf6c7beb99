"""Writes the reply to `questions/draft`: questions that suit the person, with what the answers hinge on."""

from dataclasses import dataclass, field
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.persona import ranked_topics
from pipelines.embedded.bank import Topic, Variable
from pipelines.embedded.task import Task

SAME_CONCEPT_AT_MOST = 2  # questions that share a general fact, while there are other topics
# Each asks about the kitchen in its own words; two of them could contradict each other.
KITCHENS = frozenset({"bread_baking", "healthy_eating", "weeknight_cooking"})


@dataclass
class Draft:
    """The questions so far. Sizes are those that the instructions ask for."""

    topics: list[Topic]
    types: int
    values: int
    rng: SeededRandom
    questions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def add(self, topic: Topic, *, turn: int) -> None:
        """Ask about a topic; each further turn takes another phrasing and leads with another variable."""
        phrasings = (
            SeededRandom(topic.topic, self.rng.integer_below(2**32)).shuffled(topic.questions) if turn == 0 else topic.questions
        )
        used = {question["question"] for question in self.questions}
        text = next((phrasing for phrasing in phrasings if phrasing not in used), None)
        if text is not None:
            info = [self._info(variable) for variable in self._variables(topic, turn)]
            self.questions.append({"question": text, "required_info": _named_apart(info)})

    def _variables(self, topic: Topic, turn: int) -> list[Variable]:
        own = [v for v in topic.variables if len(v.choices) >= self.values]
        start = self.rng.integer_below(3) + turn
        first = [own[(start + step) % len(own)] for step in range(len(own))][: self.types]
        place = self.topics.index(topic)
        borrowed = [v for neighbour in (*self.topics[place + 1 :], *self.topics[:place]) for v in neighbour.variables]
        for variable in borrowed:
            is_new = variable.name not in {one.name for one in first}
            if is_new and len(first) < self.types and len(variable.choices) >= self.values:
                first.append(variable)
        return first or list(topic.variables)[: self.types]

    def _info(self, variable: Variable) -> dict[str, Any]:
        kept = set(self.rng.sample(list(variable.choices), self.values))
        return {
            "info_type": self.rng.choice(variable.asked_as),
            "info_choices": [value for value in variable.choices if value in kept],
        }


def _named_apart(info: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draft names may be ambiguous between questions, never within one."""
    seen: set[str] = set()
    for one in info:
        while one["info_type"] in seen:
            one["info_type"] = f"other_{one['info_type']}"
        seen.add(one["info_type"])
    return info


def draft(task: Task) -> dict[str, Any]:
    """As many questions as asked: distinct topics first, then other phrasings of the same."""
    count = task.number(r"exactly (\d+) different questions", default=10)
    rng = task.rng("questions")
    topics = spread_concepts(ranked_topics(task.text("user_profile"), count=count, rng=rng), count=count)
    made = Draft(
        topics,
        types=task.number(r"exactly (\d+) pieces", default=2),
        values=task.number(r"exactly (\d+) values", default=3),
        rng=rng,
    )
    for turn in range(4):
        for topic in topics:
            if len(made.questions) < count:
                made.add(topic, turn=turn)
    return {"questions": rng.shuffled(made.questions)}


def spread_concepts(topics: list[Topic], *, count: int) -> list[Topic]:
    """The topics in order; those that would overlap too much with earlier ones come behind the others."""
    first: list[Topic] = []
    later: list[Topic] = []
    met: dict[str, int] = {}
    for topic in topics:
        concept = topic.variables[2].name
        kitchen_again = topic.topic in KITCHENS and any(other.topic in KITCHENS for other in first)
        crowded = kitchen_again or (met.get(concept, 0) >= SAME_CONCEPT_AT_MOST and len(first) < count)
        (later if crowded else first).append(topic)
        met[concept] = met.get(concept, 0) + (not crowded)
    return [*first, *later]
