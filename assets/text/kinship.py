"""Words for family, and texts that give the people and animals of a life another name or sex than they have.

In English alone: in other languages judges read for it.
"""

import re
from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FEMALE = _words("wife mother grandmother daughter granddaughter sister stepsister stepmother aunt niece girlfriend")
MALE = _words("husband father grandfather son grandson brother stepbrother stepfather uncle nephew boyfriend")
SPOUSES = {"wife": "husband", "husband": "wife"}


def sex_of_relation(relation: str) -> str:
    """Return the sex that an English word for a relation has, "" where it has none; of several words the last one tells."""
    word = relation.lower().replace("-in-law", "").split()[-1]
    if word in FEMALE:
        return "female"
    return "male" if word in MALE else ""


def role_fault(text: str, roles: Mapping[str, str], *, name: str, language: str) -> str:
    """Return what a text says of somebody's own people and animals that is not so; "" for nothing.

    `roles`: the name of whoever is the only one of a relation, or of a kind of animal. `name`: of the person whose they are.
    """
    if language != "en":
        return ""
    whose = rf"\b(?i:my|our|{re.escape((name.split() or ['?'])[0])}['’]s)\s+"
    for role, own_name in roles.items():
        other = SPOUSES.get(role)
        if other and re.search(rf"{whose}{other}\b", text):
            return f"speaks of a {other}, and there is a {role}, {own_name}; keep to the profile."
        first = own_name.split()[0]
        word = re.escape(role)
        for match in re.finditer(rf"{whose}{word},?\s+([A-Z]\w+)|\b([A-Z]\w+),\s+{whose}{word}\b", text):
            called = match[1] or match[2]
            if called != first and called != "I":
                return f"calls the {role} {called!r}, whose name is {own_name!r}; keep to the profile."
    return ""
