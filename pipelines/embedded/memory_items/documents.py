"""Writes documents around statements, and the sentences that state them, in the words of any benchmark over documents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import Relation
from pipelines.embedded.task import PromptTask

STATEMENTS = "{statements}"  # where the benchmark sets its statements in
PlaceStatements = Callable[[list[str], SeededRandom], None]


@dataclass(frozen=True)
class DocumentWords:
    """Sentences of which documents are made; openings and titles by the document's kind. `noun`: the prompt's word for them."""

    noun: str
    openings: Mapping[str, Sequence[str]]
    titles: Mapping[str, Sequence[str]]
    middles: Sequence[str]
    endings: Sequence[str]
    fewest_middles: int
    most_middles: int


def write_documents(task: PromptTask, words: DocumentWords, place_statements: PlaceStatements) -> dict[str, Any]:
    """Write as many documents of the kind as asked for; `place_statements` inserts `STATEMENTS` between the middles."""
    kind = task.text("kind")
    if kind not in words.openings:
        raise ValueError(f"{kind!r} is no kind of {words.noun} that this model writes")
    rng = task.rng("tell")
    documents: list[dict[str, str]] = []
    for _ in range(task.number(rf"exactly (\d+) different {words.noun}", default=4)):
        count = words.fewest_middles + rng.integer_below(words.most_middles - words.fewest_middles + 1)
        middles = rng.sample(words.middles, count)
        place_statements(middles, rng)
        text = " ".join([rng.choice(words.openings[kind]), *middles, rng.choice(words.endings)])
        documents.append({"title": rng.choice(words.titles[kind]), "text": text})
    return {"documents": documents}


def write_statements(
    task: PromptTask, relations: Sequence[Relation], clauses: Mapping[str, Sequence[str]], frames: Sequence[str]
) -> dict[str, Any]:
    """Write as many sentences as asked for, different as long as there are frames and wordings of the relation's meaning."""
    meaning = task.text("meaning")
    known = [meaning]
    for relation in relations:
        if relation.meaning == meaning:
            known.extend(clauses.get(relation.name, ()))
    sentences: list[str] = []
    for frame in frames:
        for clause in known:
            sentences.append(frame.format(clause=clause))
    return {"sentences": task.rng("phrase").sample(sentences, task.number(r"exactly (\d+) sentences", default=4))}
