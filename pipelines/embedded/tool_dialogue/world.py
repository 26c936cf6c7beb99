"""The matters that companies settle with their customers, as this model writes and reads records of sessions."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from assets.memory_items.facts import RANK, UNDONE
from assets.records.answers import read_date
from assets.text.words import folded
from assets.tool_dialogue.desk import PARTS, PLACES, STANDINGS
from assets.tool_dialogue.domains import WHO, WHO_CLAUSES, all_domains, relations_of, undoing_of
from pipelines.embedded.memory_items.composing import Speech, read_grammar, sources_of
from pipelines.embedded.memory_items.known_world import PERSON, KnownWorld, ReadFact
from pipelines.embedded.memory_items.reading import FactsRead, read_world_facts

MATTERS = {name: matter for domain in all_domains().values() for name, matter in domain.matters.items()}
BY_LABEL = {matter.label: name for name, matter in MATTERS.items()}
CLAUSES = {WHO.name: WHO_CLAUSES, **{name: matter.clauses for name, matter in MATTERS.items()}}
DONE = re.compile(r'\{"(filed|undone)": [^{}]+\}')


def read_done(text: str) -> Iterator[ReadFact]:
    """Yield the matters that calls filed, and what calls undid."""
    for match in DONE.finditer(text):
        given_back: dict[str, str] = json.loads(match[0])
        day = read_date(given_back["day"])
        if day is not None and given_back["matter"] in BY_LABEL:
            relation = f"{'' if match[1] == 'filed' else UNDONE}{BY_LABEL[given_back['matter']]}"
            yield ReadFact(folded(given_back["customer"]), relation, given_back[match[1]], (RANK["certified"], day))


@lru_cache(maxsize=200)  # an agent reads the same texts before each action
def settled_facts(text: str, subject: str, relations: tuple[str, ...]) -> Mapping[str, str]:
    """Return the value of each of the subject's relations that the text settles and no call undid."""
    facts = list(read_world_facts(text))
    undone = {(fact.subject, fact.relation, folded(fact.value)) for fact in facts}
    standing = [fact for fact in facts if (fact.subject, f"{UNDONE}{fact.relation}", folded(fact.value)) not in undone]
    answering = FactsRead(standing)
    values = {relation: answering.settled_value(subject, relation) for relation in relations}
    return {relation: value for relation, value in values.items() if value is not None}


RELATIONS = [WHO, *(relation for domain in all_domains().values() for relation in relations_of(domain) if relation is not WHO)]
UNDOING = [relation for domain in all_domains().values() for relation in undoing_of(domain).values()]
RULES = read_grammar(Path(__file__).with_name("grammar.yaml"))
SPEECH = Speech(RELATIONS, CLAUSES, STANDINGS, RULES)
KNOWN = KnownWorld(
    [*RELATIONS, *UNDOING],
    CLAUSES,
    {"customer": PERSON, "person": PERSON, WHO.subject: f"(?:{'|'.join(PARTS)}) (?:{'|'.join(PLACES)})"},
    sources_of(RULES),
    shown_facts=read_done,
)
