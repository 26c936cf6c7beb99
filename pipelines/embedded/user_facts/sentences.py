"""The sentences with which this model makes statements about facts, and reads them again."""

import re
from collections.abc import Iterator, Mapping
from datetime import date

from assets.records.answers import read_date
from assets.user_facts.records import FactStatement, RuleCase, Shape
from pipelines.embedded.assistant.memory_tasks import SENTENCE_END
from pipelines.embedded.user_facts.matters import known_matters

# What is read first stands first: the words of later ones may fit it too.
SENTENCES: Mapping[Shape, tuple[str, ...]] = {
    "rule": ("My {label} depends on my {other}: {cases}.", "Which {label} I have is decided by my {other}: {cases}."),
    "merged": (
        "From today on my {label} is the same as my {other}, namely {value}.",
        "My {label} and my {other} are one from now on, namely {value}.",
    ),
    "until": ("My {label} is {value} until {until}, and then it ends.", "Up to {until} my {label} is {value}, and not after."),
    "replaced": ("My {label} has changed, it is {value} now.", "From today on my {label} is {value} instead."),
    "narrowed": ("To be exact, my {label} is {value}.", "More exactly, my {label} is {value}."),
    "withdrawn": (
        "I was mistaken about my {label}, and I do not know it.",
        "Take back what I said of my {label}, for it was wrong and I know no better.",
    ),
    "as_before": ("My {label} is again as it was before its last change.", "With my {label} everything is as before again."),
    "forget": (
        "Please forget my {label}, and do not keep it should it turn up again.",
        "I want you to forget my {label} for good.",
    ),
    "other": ("My {other}'s {label} is {value}.", "The {label} that my {other} has is {value}."),
    "told": ("About my {label}, it is {value}.", "My {label} is {value}."),
    "refed": ("For the files, the {label} of {other} is {value}.", "On the list {other} has {value} as the {label}."),
}
CASE = "with {given} it is {then}"
SMALL_TALK = (
    "It was a calm day, and the sun came out in the end.",
    "There is little to say today, we were out in the wind.",
    "I am a bit tired, and tea would be fine.",
    "What is it about rain that makes the kitchen look so small now?",
    "I burnt the soup, was it not to be expected, and ate it all the same.",
    "The stairs creak still, and nobody knows which step it is.",
    "From the window I saw a heron, and it did not move for an hour.",
    "We mended the fence at last, and it looks better than before.",
    "As of today the heating works again, so I can put the blanket away.",
    "My back hurts from digging, but the beans are in the ground now.",
    "Over time one gets used to the noise from the road.",
    "I slept badly and then dreamt of a ship without a sail.",
    "The first plums are ripe, and the wasps have found them too.",
    "It has been foggy since dawn, and the lamps are still on.",
    "I could not find the scissors, and they were in my pocket.",
    "Somebody left a bunch of asters at the door, without a word.",
    "My bread did not rise, what a pity, and so it became crackers.",
    "The letter box was full of leaves when I looked into it.",
    "I have been humming the same tune since breakfast, and it will not go.",
    "We sat in the shade and counted swallows, until it was too dark to see them.",
    "The dog next door barked at the moon, or at nothing, for half the night.",
    "I am reading a long book about whales, and the last part is the best so far.",
    "The kettle whistles in another key now, which is odd.",
    "It was so windy that my hat went over the wall, and I let it go.",
)
TIME = re.compile(r"^\[(?P<day>\d{4}-\d\d-\d\d)[^\]]*\] ")
SPEAKER = re.compile(r"^(?:user|assistant|document|tool)(?: \([^)]*\))?: ")
REMARK = re.compile(r" \([^()]*\)$")  # what a memory adds to a line


def _pattern(sentence: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", sentence)
    words: list[str] = []
    for number, part in enumerate(parts):
        group = f"(?P<{part}>.+)" if part == "cases" else f"(?P<{part}>[^.,:;]+?)"
        words.append(group if number % 2 else re.escape(part))
    return re.compile("".join(words))


PATTERNS: dict[Shape, list[re.Pattern[str]]] = {
    shape: [_pattern(sentence) for sentence in sentences] for shape, sentences in SENTENCES.items()
}
CASE_PATTERN = _pattern(CASE)


def case_words(given: str, then: str) -> str:
    return CASE.format(given=given, then=then)


def read_sentence(sentence: str) -> FactStatement | None:
    """Return the statement that a sentence makes; None where it makes none."""
    for shape, patterns in PATTERNS.items():
        for pattern in patterns:
            match = pattern.fullmatch(sentence)
            if match and match["label"] in known_matters():
                return _statement(shape, match.groupdict())
    return None


def _statement(shape: Shape, found: Mapping[str, str]) -> FactStatement:
    other = found.get("other", "")
    return FactStatement(
        matter=known_matters()[found["label"]].name,
        label=found["label"],
        shape=shape,
        value=found.get("value", ""),
        until=read_date(found["until"]) if "until" in found else None,
        other=other,
        other_matter=known_matters()[other].name if other in known_matters() else "",
        cases=tuple(_cases(found.get("cases", ""))),
    )


def _cases(text: str) -> Iterator[RuleCase]:
    for part in filter(None, text.split("; ")):
        match = CASE_PATTERN.fullmatch(part)
        if match:
            yield RuleCase(given=match["given"], then=match["then"])


def read_statements(text: str) -> list[FactStatement]:
    """Return the statements of a text, in order."""
    found: list[FactStatement] = []
    for sentence in SENTENCE_END.split(" ".join(text.split())):
        statement = read_sentence(sentence)
        if statement is not None:
            found.append(statement)
    return found


def read_line(line: str) -> tuple[date | None, list[FactStatement]]:
    """Return the day of a line that a memory gave back, if it tells one, and its statements."""
    time = TIME.match(line)
    words = SPEAKER.sub("", TIME.sub("", line))
    day = date.fromisoformat(time["day"]) if time else None
    return day, read_statements(REMARK.sub("", words))
