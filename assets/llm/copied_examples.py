"""Words of a prompt's examples that a reply repeats: small models paste them into other lives."""

import re
from dataclasses import replace
from functools import lru_cache

from assets.text.languages import FORMS
from assets.text.words import runs_of_words, words_of
from prompts.template import Message, RenderedPrompt

COPIED_WORDS = 6  # in a row, which two texts hardly share by chance
RETOLD_WORDS = 3  # of an example's sentence, beside small words, in one sentence
SENTENCE = re.compile(r'[^.!?。！？"\n]+')
SLOT = re.compile(r"\{\w+\}")  # of a template, which replies have as its example has


def find_copied_words(text: str, prompt: RenderedPrompt) -> str:
    """Return words of the examples that the text repeats; "" where it repeats none."""
    text = _readable(text)
    runs = _runs_of_examples(prompt.examples) & _runs_within_strings(text)
    return " ".join(min(runs)) if runs else _retold_sentence(text, prompt)


def without_copied_examples(prompt: RenderedPrompt, text: str) -> RenderedPrompt:
    """Return the prompt without those of its examples, a request and a reply each, of which the text repeats words."""
    first, *examples, last = prompt.messages
    kept: list[Message] = []
    for request, reply in zip(examples[::2], examples[1::2], strict=True):
        if not find_copied_words(text, replace(prompt, examples=(request.content, reply.content))):
            kept += (request, reply)
    return replace(prompt, messages=(first, *kept, last))


def _retold_sentence(text: str, prompt: RenderedPrompt) -> str:
    """Return a sentence of the example of which most words that count are in one sentence of the reply; "" without one.

    Words of this call's own data do not count.
    """
    own = set(words_of(prompt.messages[-1].content))
    written = list(map(_telling_words, SENTENCE.findall(text)))
    for sentence, words in _sentences_of(prompt.examples).items():
        telling = words - own
        fewest = max(RETOLD_WORDS, len(telling) * 0.6)
        if any(len(telling & others) >= fewest for others in written):
            return sentence
    return ""


def _telling_words(sentence: str) -> set[str]:
    common = FORMS["en"].common
    return {word for word in words_of(sentence) if len(word) > 3 and word not in common}


@lru_cache(maxsize=64)
def _sentences_of(examples: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the words that count of each sentence, in order."""
    sentences: dict[str, set[str]] = {}
    for example in examples:
        for sentence in map(str.strip, SENTENCE.findall(_readable(example))):
            sentences[sentence] = _telling_words(sentence)
    return sentences


@lru_cache(maxsize=64)  # as many as there are prompts with examples, and more
def _runs_of_examples(examples: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    runs: set[tuple[str, ...]] = set()
    for example in examples:
        runs.update(_runs_within_strings(_readable(example)))
    return frozenset(runs)


def _readable(text: str) -> str:
    """Return a JSON text without slots, and with line breaks in place of their signs, of which the letter is no word."""
    return SLOT.sub("", text).replace("\\n", "\n")


def _runs_within_strings(text: str) -> set[tuple[str, ...]]:
    """Return the runs of each of the strings of a JSON text: keys between two of them are nobody's words."""
    runs: set[tuple[str, ...]] = set()
    for string in text.split('"'):
        runs.update(runs_of_words(string, COPIED_WORDS))
    return runs
