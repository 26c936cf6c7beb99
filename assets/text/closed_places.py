"""Places where a text cannot be: an office, a clinic or a school on a Sunday, and a room that the home does not have.

In English alone: in other languages judges read for it. The rules would rather miss a fault than invent one.
"""

import re
from calendar import SUNDAY
from collections.abc import Sequence
from datetime import date

CLOSED = (
    r"(?:office|clinic|dentist|doctor|pediatrician|orthodontist|optician|vet|bank|school|kindergarten|post office|town hall"
    r"|city hall|courthouse|notary|registry|agency)(?:['’]s(?: office)?)?"
)
WHOSE = "the|my|her|his|our|their"
# The words before the place: somebody is there, or the place itself acts.
AT_PLACE = re.compile(
    rf"\b(?:at|from|to|into|in|left) (?:(?:{WHOSE}|a) )?(?:[a-z]+ ){{0,2}}{CLOSED}\b(?! (?:chair|desk|plant|party))"
    rf"|\b(?:{WHOSE}) (?:[a-z]+ ){{0,2}}{CLOSED} (?:told|called|said|gave|hired|signed|sent|put|opened|fitted)\b",
    re.IGNORECASE,
)
TODAY = re.compile(r"\b(?:today|this (?:morning|afternoon)|just now|just (?:got|came|left))\b", re.IGNORECASE)
EXCUSE = re.compile(
    r"\b(?:closed|shut|empty|emergency|sunday|weekend|online|home office|every|usually|on duty|tomorrow|monday|next|will|wants?"
    r"|plans?|last|yesterday|used to|from now on|weekdays?)\b",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"(?<=[.!?])\s+")
# Parts of a home by their words; whoever has any of a part's words has all: a yard is a garden to some.
PARTS = (
    "bedroom|guest room|spare room",
    "living room|sitting room",
    "dining room",
    "attic|loft",
    "basement|cellar",
    "garage|carport",
    "balcony|terrace|porch|patio",
    "garden|yard|backyard",
)
AT_HOME = "bedroom|guest room|spare room|living room|dining room"  # also where it is not called one's own
OF_OTHERS = re.compile(
    r"['’]s\b|s['’]|\b(?:her|his|their|your|you|hotel|clinic|used to|as a (?:child|kid|girl|boy)|years ago|once)\b",
    re.IGNORECASE,
)


def closed_fault(text: str, *, day: date, language: str, of_the_day: bool) -> str:
    """Return what a text of a Sunday tells of a place that is closed then; "" for nothing.

    `of_the_day`: whether the text tells what happened on its day, and not whatever somebody says on it.
    """
    if language != "en" or day.weekday() != SUNDAY:
        return ""
    for sentence in SENTENCE.split(text):
        match = AT_PLACE.search(sentence)
        if match and (of_the_day or TODAY.search(sentence)) and not EXCUSE.search(sentence):
            return f"is of a Sunday, and {match[0]!r} is closed then; let it happen elsewhere."
    return ""


def room_fault(text: str, rooms: Sequence[str], *, tracked: Sequence[str], language: str) -> str:
    """Return which room or part of the home the text speaks of that the home does not have; "" for none.

    `rooms`: of the home; none are unknown. `tracked`: values that the text may tell, which change rooms.
    """
    if language != "en" or not rooms:
        return ""
    known = " ".join((*rooms, *tracked)).replace("_", " ")
    lacking = "|".join(part for part in PARTS if not re.search(part, known, re.IGNORECASE))
    if not lacking:
        return ""
    pattern = re.compile(rf"\b(?:my|our) (?:[a-z]+ )?(?:{lacking})\b|\bthe (?=(?:{AT_HOME})\b)(?:{lacking})\b", re.IGNORECASE)
    for sentence in SENTENCE.split(text):
        match = pattern.search(sentence)
        if match and not OF_OTHERS.search(sentence):
            return f"speaks of {match[0]!r}, and the home has {', '.join(rooms)}; keep to these."
    return ""
