"""Words for family, and texts that give the people and animals of a life another name or sex than they have.

In English alone: in other languages judges read for it.
"""

import re
from collections.abc import Mapping

from assets.text.calendar_words import CALENDAR_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FEMALE = _words("wife mother grandmother daughter granddaughter sister stepsister stepmother aunt niece girlfriend")
MALE = _words("husband father grandfather son grandson brother stepbrother stepfather uncle nephew boyfriend")
SPOUSES = {"wife": "husband", "husband": "wife"}
ASIDE_END = r"(?=[.!?;:)]|,(?! and\b)|$)"  # of "my sister, Ruth," and not of "my sister, Ruth and I"
CALENDAR = CALENDAR_WORDS["en"]
# Capital letters have these too, after "my mother" and before ", my mother". Names in -ly are missed.
NO_NAME = re.compile(
    "|".join((*CALENDAR.months.split(), *CALENDAR.weekdays.split()))
    + r"|I|\w+ly|Yesterday|Today|Tonight|Now|Then|Sometimes|Often|Still|However|Also|Instead|Meanwhile|Please|Hello|Hi|Once"
)


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
        # A pattern takes long to compile, and hardly any text needs it.
        if other and other in text and re.search(rf"{whose}{other}\b", text):
            return f"speaks of a {other}, and there is a {role}, {own_name}; keep to the profile."
        if role not in text:
            continue
        first = own_name.split()[0]
        role_of_user = rf"{whose}{re.escape(role)}"
        named = (
            rf"{role_of_user}\s+([A-Z]\w+)|{role_of_user},\s+([A-Z]\w+){ASIDE_END}|\b([A-Z]\w+),\s+{role_of_user}{ASIDE_END}"
        )
        for match in re.finditer(named, text):
            called = match[1] or match[2] or match[3]
            if called != first and not NO_NAME.fullmatch(called):
                return f"calls the {role} {called!r}, whose name is {own_name!r}; keep to the profile."
    return ""
