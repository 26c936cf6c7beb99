"""The matters that companies settle with their customers, as this model reads records of sessions."""

import re
from collections.abc import Iterator

from assets.memory_items.facts import RANK
from assets.records.answers import read_date
from assets.text.words import folded
from assets.tool_dialogue.desk import AS_OF, FILED, PARTS, PLACES
from assets.tool_dialogue.domains import WHO, WHO_CLAUSES, all_domains, relations_of
from pipelines.embedded.memory_items.known_world import PERSON, KnownWorld, ReadFact

MATTERS = {name: matter for domain in all_domains().values() for name, matter in domain.matters.items()}
BY_LABEL = {matter.label: name for name, matter in MATTERS.items()}
FILED_PATTERN = re.compile(
    re.sub(r"\\{(\w+)\\}", r'(?P<\1>[^"]+)', re.escape(FILED.replace("{{", "").replace("}}", ""))) + r'(?P<value>[^"]+)"'
)


def read_filed(text: str) -> Iterator[ReadFact]:
    """Yield the matters that calls filed."""
    for match in FILED_PATTERN.finditer(text):
        day = read_date(match["day"])
        if day is not None and match["label"] in BY_LABEL:
            yield ReadFact(folded(match["subject"]), BY_LABEL[match["label"]], match["value"], (RANK["certified"], day))


KNOWN = KnownWorld(
    [WHO, *(relation for domain in all_domains().values() for relation in relations_of(domain) if relation is not WHO)],
    {WHO.name: WHO_CLAUSES, **{name: matter.clauses for name, matter in MATTERS.items()}},
    {"customer": PERSON, "person": PERSON, WHO.subject: f"(?:{'|'.join(PARTS)}) (?:{'|'.join(PLACES)})"},
    AS_OF,
    shown_facts=read_filed,
)
