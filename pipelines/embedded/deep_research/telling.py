"""Writes the replies to `dr_sources/tell` and `dr_sources/phrase`, out of sentences that suit any subject."""

from typing import Any

from assets.deep_research.world.relations import RELATIONS
from pipelines.embedded.deep_research.sentences import CLAUSES, ENDINGS, FRAMES, MIDDLES, OPENINGS, TITLES
from pipelines.embedded.task import PromptTask

FEWEST_MIDDLES, MOST_MIDDLES = 9, 12
NAMES = {relation.meaning: relation.name for relation in RELATIONS}


def tell(task: PromptTask) -> dict[str, Any]:
    """As many documents of the kind as asked for."""
    kind, count, rng = task.text("kind"), task.number(r"exactly (\d+) different documents", default=4), task.rng("tell")
    if kind not in OPENINGS:
        raise ValueError(f"{kind!r} is no kind of document that this model tells")
    documents: list[dict[str, str]] = []
    for _ in range(count):
        middles = rng.sample(MIDDLES, FEWEST_MIDDLES + rng.integer_below(MOST_MIDDLES - FEWEST_MIDDLES + 1))
        middles.insert(2 + rng.integer_below(len(middles) - 3), "{statements}")
        again = middles.index("{statements}") + 1
        middles.insert(again, "So it is with {subject} as with much else that has been around for a while.")
        text = " ".join([rng.choice(OPENINGS[kind]), *middles, rng.choice(ENDINGS)])
        documents.append({"title": rng.choice(TITLES[kind]), "text": text})
    return {"documents": documents}


def clauses(relation: str, meaning: str) -> tuple[str, ...]:
    """The wordings of a relation that this model knows."""
    return (meaning, *CLAUSES.get(relation, ()))


def phrase(task: PromptTask) -> dict[str, Any]:
    """As many sentences as asked for, different as long as there are frames and wordings."""
    meaning, count = task.text("meaning"), task.number(r"exactly (\d+) sentences", default=4)
    known = clauses(NAMES.get(meaning, ""), meaning)
    sentences = [frame.format(clause=clause) for frame in FRAMES for clause in known]
    return {"sentences": task.rng("phrase").sample(sentences, count)}
