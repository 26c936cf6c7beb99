"""Look at a document from outside: which of its names come up elsewhere in its task, its dates, its length, its place."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from statistics import fmean, pstdev

from assets.memory_items.documents import ItemDocument, Turn
from assets.records.answers import read_date
from assets.text.words import words_of

FORM = "dates, status words, length, turn and place"
DAY = re.compile(r"\b\d{1,2} [A-Z][a-z]+ \d{4}\b")
# A word with a capital, with a digit, or with a sign inside, as names of people, devices, services and functions have it.
NAME = re.compile(r"\b[A-Za-z]*[A-Z]\w*|\b\w+(?:[-_.]\w+)+|\b\w*\d\w*")
MOST_SHARED = 6  # documents: a word of more of them is one of the language
MOST_COUNTED = 8
# Words by which documents say how sure they are of something.
STATUS_WORDS = ("certified", "unconfirmed", "confirmation", "agreed", "signed", "sign", "proposal", "proposed", "register")
Columns = tuple[float, ...]


def names_by_document(documents: Iterable[ItemDocument]) -> dict[str, frozenset[str]]:
    """Return by document the names in it, without days; a word of many documents is no name."""
    found: dict[str, set[str]] = {}
    documents_of = Counter[str]()
    for document in documents:
        names = set(NAME.findall(DAY.sub(" ", document.text_with_title)))
        found[document.document_id] = names
        documents_of.update(names)
    common = {name for name, count in documents_of.items() if count > MOST_SHARED}
    return {document_id: frozenset(names - common) for document_id, names in found.items()}


def name_columns(document_id: str, names: Mapping[str, frozenset[str]]) -> Columns:
    """Return columns of how many of a document's names recur in the task, in how many documents, and how many do not."""
    own = names[document_id]
    recurring: set[str] = set()
    linked = 0
    for other, of_other in names.items():
        shared = own & of_other
        if other != document_id and shared:
            recurring |= shared
            linked += 1
    share = len(recurring) / max(1, len(own))
    return (*_steps(len(recurring)), *_steps(linked), share, float(len(own) - len(recurring)))


def _steps(count: int) -> list[float]:
    """Return a column for each count up to the most: 1 where it is reached, so that weights need not be linear."""
    return [float(count >= step) for step in range(1, MOST_COUNTED + 1)]


def form_columns(turns: Sequence[Turn]) -> dict[str, Columns]:
    """Return by document its length, its days, its status words, its turn and its place in it, as its task has them."""
    documents = [document for turn in turns for document in turn.documents]
    lengths = _standardize([float(document.tokens) for document in documents])
    days = [_days(document) for document in documents]
    earliest = _standardize([float(day[0]) for day in days])
    latest = _standardize([float(day[-1]) for day in days])
    places = _places(turns)
    columns: dict[str, Columns] = {}
    for number, document in enumerate(documents):
        words = Counter(words_of(document.text_with_title))
        statuses = [float(words[word]) for word in STATUS_WORDS]
        bent = (lengths[number] ** 2, latest[number] ** 2)
        own = (lengths[number], earliest[number], latest[number], *bent, float(len(days[number])))
        columns[document.document_id] = (*own, *statuses, *places[document.document_id])
    return columns


def _days(document: ItemDocument) -> list[int]:
    """Return the days that the document speaks of, in order; a day before all where it speaks of none."""
    found: list[int] = []
    for spelled in DAY.findall(document.text_with_title):
        day = read_date(spelled)
        if day is not None:
            found.append(day.toordinal())
    return sorted(found) or [date.min.toordinal()]


def _standardize(values: Sequence[float]) -> list[float]:
    mean = fmean(values)
    spread = pstdev(values) or 1.0
    return [(value - mean) / spread for value in values]


def _places(turns: Sequence[Turn]) -> dict[str, Columns]:
    """Return by document its turn, whether that is the first, last or last but one, and its place in it, from 0 to 1."""
    places: dict[str, Columns] = {}
    last = len(turns) - 1
    for number, turn in enumerate(turns):
        ends = (float(number == 0), float(number == last), float(number == last - 1))
        for position, document in enumerate(turn.documents):
            place = position / max(1, len(turn.documents) - 1)
            first_or_last = (float(position == 0), float(position == len(turn.documents) - 1))
            places[document.document_id] = (number / max(1, last), *ends, place, *first_or_last)
    return places
