"""Writes the replies to `code_documents/tell`, `code_documents/phrase` and `code_documents/recover`."""

from typing import Any, cast

from assets.code_qa.team.relations import RELATIONS
from pipelines.embedded.code_qa.sentences import AFTER, CLAUSES, ENDINGS, FRAMES, MIDDLES, OPENINGS, TITLES
from pipelines.embedded.memory_items.reading import answer_from
from pipelines.embedded.task import PromptTask

FEWEST_MIDDLES, MOST_MIDDLES = 7, 11
NAMES = {relation.meaning: relation.name for relation in RELATIONS}


def tell(task: PromptTask) -> dict[str, Any]:
    """As many notes of the kind as asked for."""
    kind, count, rng = task.text("kind"), task.number(r"exactly (\d+) different notes", default=4), task.rng("tell")
    if kind not in OPENINGS:
        raise ValueError(f"{kind!r} is no kind of note that this model writes")
    documents: list[dict[str, str]] = []
    for _ in range(count):
        middles = rng.sample(MIDDLES, FEWEST_MIDDLES + rng.integer_below(MOST_MIDDLES - FEWEST_MIDDLES + 1))
        at = 1 + rng.integer_below(len(middles) - 2)
        middles[at:at] = ["{statements}", rng.choice(AFTER)]
        text = " ".join([rng.choice(OPENINGS[kind]), *middles, rng.choice(ENDINGS)])
        documents.append({"title": rng.choice(TITLES[kind]), "text": text})
    return {"documents": documents}


def phrase(task: PromptTask) -> dict[str, Any]:
    """As many sentences as asked for, different as long as there are frames and wordings."""
    meaning, count = task.text("meaning"), task.number(r"exactly (\d+) sentences", default=4)
    known = (meaning, *CLAUSES.get(NAMES.get(meaning, ""), ()))
    sentences = [frame.format(clause=clause) for frame in FRAMES for clause in known]
    return {"sentences": task.rng("phrase").sample(sentences, count)}


def recover(task: PromptTask) -> dict[str, str]:
    """What the note states of what is wanted."""
    note, wanted = task.text("note"), cast(dict[str, str], task.data("wanted"))
    found = {number: answer_from([note], f"What is {phrase}?") for number, phrase in wanted.items()}
    return {number: value for number, value in found.items() if value is not None}
