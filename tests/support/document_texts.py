"""What is measured of the texts of finished tasks: whether sentences recur, and how facts are told."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.memory_items.documents import PARAGRAPHS, PROMPT, ItemDocument, SizedItem, told_around
from assets.memory_items.facts import Fact
from assets.memory_items.tasks import MemoryTask
from assets.memory_items.world.occasions import Occasion
from assets.memory_items.world.relations import Relation

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
DAY = re.compile(r"\b\d{1,2} [A-Z][a-z]+ \d{4}\b")
NAME = re.compile(r"`[^`]*`|\b[A-Z]\w*(?:[-.]\w+)*(?: [A-Z]\w*)*|\b\w*\d[\w.-]*|\b[a-z]+(?:[-_.][a-z]+)+")
STATUS = re.compile(
    r"certif|confirm|register|record|file|noted?\b|entry|sheet|paper|ledger|folder|statement|card|books|list|page|inventory|agreed"
    r"|agreement|sign|propos|triage|decision|thread|talk|minutes|stand-up|comment|planning|round",
    re.IGNORECASE,
)
SHORTEST = 3  # words of a sentence that is looked at


def masked_sentences(document: ItemDocument) -> Iterator[str]:
    """Yield the sentences of a text without their names and numbers; sessions with an interpreter are no sentences."""
    for paragraph in document.text.split(PARAGRAPHS):
        if paragraph.startswith(PROMPT):
            continue
        for sentence in SENTENCE.split(paragraph):
            if len(sentence.split()) >= SHORTEST:
                yield NAME.sub("#", sentence)


def documents_by_sentence(sized: SizedItem) -> Counter[str]:
    """Return in how many of a task's documents each sentence stands."""
    documents_with = Counter[str]()
    for document in sized.documents:
        documents_with.update(set(masked_sentences(document)))
    return documents_with


def recurring_share(sized: SizedItem) -> float:
    """Return the share of a task's sentences that another document of it has as well."""
    documents_with = documents_by_sentence(sized)
    return sum(count for count in documents_with.values() if count > 1) / documents_with.total()


def hops_with_documents(tasks: Iterable[MemoryTask]) -> Iterator[tuple[Fact, ItemDocument]]:
    for task in tasks:
        documents = {document.document_id: document for document in task.lengths[0].documents}
        for hop in task.hops:
            yield hop, documents[hop.document_id]


def share_in_pattern(tasks: Iterable[MemoryTask]) -> float:
    """Return the share of needed facts that stand in a sentence with a day and a word on how sure it is."""
    held: list[bool] = []
    for hop, document in hops_with_documents(tasks):
        start = max((found.end() for found in SENTENCE.finditer(document.text, 0, hop.start)), default=0)
        following = SENTENCE.search(document.text, hop.end)
        sentence = document.text[start : following.start() if following else len(document.text)]
        held.append(bool(DAY.search(sentence) and STATUS.search(DAY.sub("", sentence))))
    return sum(held) / len(held)


def share_related(tasks: Iterable[MemoryTask]) -> float:
    """Return the share of needed facts that stand in a document that has their subject outside of their paragraph, or twice."""
    held: list[bool] = []
    for hop, document in hops_with_documents(tasks):
        rest = document.text_with_title.replace(told_around(document.text, hop.start), "")
        named = hop.subject.partition("(")[0]
        held.append(named in rest or document.text.count(named) > 1)
    return sum(held) / len(held)


def check_occasions(relations: Sequence[Relation], kinds: Sequence[str], known: Mapping[str, Sequence[Occasion]]) -> None:
    """Each fact has occasions of these kinds of documents, and what else these tell is of the same subject."""
    subjects = {relation.name: relation.subject for relation in relations}
    assert set(known) == set(subjects)
    for name, of_relation in known.items():
        for occasion in of_relation:
            assert occasion.kind in kinds
            assert {subjects[other] for other in occasion.also or ()} <= {subjects[name]}
