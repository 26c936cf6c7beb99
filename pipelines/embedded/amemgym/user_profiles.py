"""Writes the reply to `user_profiles/complete`: the name as the texts spell it, a paragraph of their sentences, and a cast."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from assets.engine.seeded_random import SeededRandom
from assets.text.kinship import sex_of_relation
from pipelines.embedded.amemgym.plausibility import parse_profile
from pipelines.embedded.reader import stems, word_set
from pipelines.embedded.task import PromptTask

MAX_WORDS = 110
MAX_WORD_OVERLAP = 0.6
PRONOUNS = {"male": "He", "female": "She"}
CAPITALISED = r"[A-Z][\w'’.-]*[\w.]"
NAME = re.compile(rf"\b{CAPITALISED}(?: (?:(?:de|la|van|von|der|del|da|bin) )*{CAPITALISED})+")
SENTENCE_END = re.compile(r"(?<=[a-z0-9)][.!?])(?<!\b[SMFD][trs]\.)(?<!\bMrs\.)\s+(?=[A-Z])")
NOT_IN_NAMES = word_set(
    """a an the in on at as with when while during since though although despite for from this that these those his her
    their by after before outside inside beyond whether if born raised known every each both once now"""
)


# Names that anybody may have, for people of whom the texts say nothing.
WOMEN = sorted(word_set("Alice Bella Carla Dora Edith Flora Greta Hilda Irene Julia Klara Lydia Marta Nadia Olive Paula Rosa"))
MEN = sorted(word_set("Adam Boris Conrad Derek Emil Felix Gus Hugo Ivan Jonas Karl Leon Marco Nils Otto Peter Simon Victor"))
RELATIONS: Sequence[str] = ("sister", "brother", "cousin", "old friend", "neighbor")
SPOUSE = re.compile(r"\b(?:her|his) (husband|wife)\b")
ANIMAL = re.compile(r"\b(?:dog|hound|beagle|cat|parrot|horse)s?\b", re.IGNORECASE)
NUM_OTHERS = 3  # people beside a husband or wife
ANIMAL_RATE = 0.3
ANIMALS = (("Biscuit", "dog"), ("Pepper", "dog"), ("Mitzi", "cat"), ("Smokey", "cat"))


def write_profile(task: PromptTask) -> dict[str, Any]:
    """Write the person's name, whole sentences that say what the basic profile does not, and a cast where one is asked for."""
    basic = task.text("basic_profile")
    info = task.text("complementary_info")
    name = full_name(info, basic=basic)
    reply: dict[str, Any] = {"name": name, "profile": condense(info, basic=basic, name=name)}
    if '"cast"' in task.system:
        reply["cast"] = settle_cast(basic, info, rng=task.rng("cast"))
    return reply


def settle_cast(basic: str, info: str, *, rng: SeededRandom) -> dict[str, Any]:
    """Invent people and at most one animal; of home, work and ways only what no state variable of the bank speaks of."""
    person = parse_profile(basic)
    names = {
        "female": [name for name in rng.shuffled(WOMEN) if name not in info],
        "male": [name for name in rng.shuffled(MEN) if name not in info],
    }
    relations = rng.sample([*RELATIONS, "colleague"] if person.employed else RELATIONS, NUM_OTHERS)
    if person.marital_status == "married":
        told = SPOUSE.search(info)
        usual = "wife" if person.gender == "male" else "husband"
        relations.insert(0, told[1] if told else usual)
    people: list[dict[str, str]] = []
    for relation in relations:
        sex = sex_of_relation(relation) or rng.choice(["female", "male"])
        people.append({"name": names[sex].pop(), "sex": sex, "relation": relation})
    animals: list[dict[str, str]] = []
    # An animal that the texts speak of has a name there, or goes without.
    if rng.bernoulli(ANIMAL_RATE) and not ANIMAL.search(info):
        name, kind = rng.choice(ANIMALS)
        animals.append({"name": name, "kind": kind})
    home = re.search(r"^Lives in: ([^,\n]+)", basic, re.MULTILINE)
    place = home[1] if home else "town"
    return {
        "people": people,
        "animals": animals,
        "home": f"in {place}",
        "rooms": [],
        "work": person.occupation or "no paid work",
        "getting_about": f"knows the ways around {place}",
    }


def full_name(info: str, *, basic: str) -> str:
    """Return the capitalised words that the texts repeat most, places and titles of the basic profile aside."""
    counts: Counter[str] = Counter()
    for match in NAME.finditer(info):
        words = match[0].rstrip(".").split(" ")
        while words and words[0].lower() in NOT_IN_NAMES:
            words = words[1:]
        candidate = re.sub(r"['’]s$", "", " ".join(words))
        if len(words) > 1 and candidate not in basic:
            counts[candidate] += 1
    if not counts:
        return info.split(",")[0].strip()[:80]
    return max(counts, key=lambda name: (counts[name], -info.index(name)))


def condense(info: str, *, basic: str, name: str) -> str:
    """Choose sentences, the person called by first name after the first mention; never more than the limit."""
    known = stems(basic)
    texts = list(map(_sentences, info.splitlines()))
    chosen: list[str] = []
    chosen_words: list[frozenset[str]] = []
    length = 0
    for sentence in _leads_first(texts):
        words = stems(sentence) - known
        is_news = len(words) >= 3 and all(len(words & old) < MAX_WORD_OVERLAP * len(words) for old in chosen_words)
        if is_news and length + len(sentence.split()) <= MAX_WORDS:
            chosen.append(sentence)
            chosen_words.append(words)
            length += len(sentence.split())
    paragraph = " ".join(info.split()[:MAX_WORDS])
    if chosen:
        # In the order of the texts, as they lead from one to the next.
        paragraph = " ".join(sentence for sentence in chain.from_iterable(texts) if sentence in chosen)
    return _shorten_name(paragraph, name=name, basic=basic)


def _sentences(line: str) -> list[str]:
    parts = map(str.strip, SENTENCE_END.split(line))
    return list(filter(None, parts))


def _leads_first(texts: Sequence[Sequence[str]]) -> list[str]:
    """Return the lead sentence of every text, then the rest: each aspect of the person is covered."""
    leads: list[str] = []
    rest: list[str] = []
    for sentences in texts:
        leads.extend(sentences[:1])
        rest.extend(sentences[1:])
    return [*leads, *rest]


def _shorten_name(paragraph: str, *, name: str, basic: str) -> str:
    """Give the full name once; afterwards the first name, and a pronoun wherever two sentences would begin with it in a row."""
    first = name.split(" ")[0]
    head, full, tail = paragraph.partition(name)
    pronoun = None
    gender = re.search(r"^Gender: (\w+)", basic, re.MULTILINE)
    if gender:
        pronoun = PRONOUNS.get(gender[1].lower())
    sentences: list[str] = []
    for sentence in SENTENCE_END.split(head + full + tail.replace(name, first)):
        named_before = bool(sentences) and sentences[-1].startswith((name, f"{first} "))
        starts_with_name = sentence.startswith(f"{first} ") and not sentence.startswith(name)
        if pronoun and named_before and starts_with_name:
            sentence = pronoun + sentence.removeprefix(first)
        sentences.append(sentence)
    return " ".join(sentences)
