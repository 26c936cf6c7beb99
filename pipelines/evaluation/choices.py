"""Questions with numbered options: the form of their answers, and how the option that a reply chooses is found."""

import re
from collections.abc import Sequence
from typing import cast

from assets.llm.answer_text import UnusableReply, extract_json, without_thought

# A number alone, as in 2, **2**, (2), "Option 2" or "Answer: 2.".
NUMBER_ALONE = re.compile(r"\W*(?:(?:the )?(?:answer|option|choice|number|boxed)(?: is)?\W*)?(\d{1,3})\W*", re.IGNORECASE)
BROKEN_OBJECT = re.compile(r'\{\s*"')
NUMBER_FIRST = re.compile(r"\W*(\d{1,3})[.):\s]+(.+)", re.DOTALL)


def read_option(reply: str, options: Sequence[str]) -> int:
    """Return the number of the option that a reply chooses, from 1. Raises ValueError with a sentence for whoever answers."""
    answer = _answer_in(reply)
    number = _option_number(answer, options)
    if number is None:
        raise ValueError('It must be {"answer": number} with a whole number and nothing else.')
    if not 1 <= number <= len(options):
        raise ValueError(f"There is no option {number}; the options are numbered from 1 to {len(options)}.")
    return number


def choice_schema(options: int) -> dict[str, object]:
    """Return the JSON schema of an answer that is the number of one of so many options."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "integer", "enum": list(range(1, options + 1))}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def _answer_in(reply: str) -> object:
    """Return the "answer" of a reply, or the whole of a reply without an object."""
    try:
        content = extract_json(reply, keys=("answer",))
    except UnusableReply:
        content = without_thought(reply)
        if BROKEN_OBJECT.search(content):
            return None
    if not isinstance(content, dict):
        return content
    named = [value for key, value in cast(dict[str, object], content).items() if key.strip().casefold() == "answer"]
    return named[0] if len(named) == 1 else None


def _option_number(answer: object, options: Sequence[str]) -> int | None:
    """Return the number that an answer gives; None where it gives none, or more than one."""
    if isinstance(answer, list):
        several = cast(list[object], answer)
        return _option_number(several[0], options) if len(several) == 1 else None
    if isinstance(answer, float) and answer.is_integer():
        return int(answer)
    if isinstance(answer, int):
        return None if isinstance(answer, bool) else answer
    if not isinstance(answer, str):
        return None
    alone = NUMBER_ALONE.fullmatch(answer)
    if alone and "-" not in answer:
        return int(alone.group(1))
    return _number_of_text(answer, options)


def _number_of_text(answer: str, options: Sequence[str]) -> int | None:
    """Return the number of the one option with this text, which its number may lead; None where text and number differ."""
    first = NUMBER_FIRST.fullmatch(answer)
    text = first.group(2) if first else answer
    numbers = list[int]()
    for number, option in enumerate(options, start=1):
        if fold_option(option) == fold_option(text):
            numbers.append(number)
    if len(numbers) != 1 or (first and int(first.group(1)) != numbers[0]):
        return None
    return numbers[0]


def fold_option(text: str) -> str:
    return " ".join(text.split()).strip(" .\"'").casefold()
