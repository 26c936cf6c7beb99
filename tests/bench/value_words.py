"""What a look-up gains where every message has words of its values: one ordinary word, as it may, or all, as it may not.

The words are put at the end of each message of a finished `data.json`-like release; nothing else changes. Whoever looks up has
the question, or the options: no value stands in either.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.state import Session
from assets.text.bm25 import rank_texts, searched_words
from assets.text.languages import FORMS
from assets.text.words import words_of
from pipelines.evaluation.amemgym.dataset import read_amemgym_release
from validation.amemgym.shortcuts.difficulty import figures_of

COMMON = FORMS["en"].common
SHOWN = ("no word in common", "rival first", "newest, 10 %", "search, 2.5 %", "search, 5 %", "search, 10 %", "search, 20 %")
Words = Callable[[str], list[str]]


def content_words(value: str) -> list[str]:
    return [word for word in words_of(value) if word not in COMMON]


def ordinary_word(value: str) -> list[str]:
    """Return the longest word of a value, which may be its only one."""
    return [max(content_words(value), key=len)] if content_words(value) else []


WORDS: Mapping[str, Words] = {"as it is": lambda _: [], "one word": ordinary_word, "all words (banned)": content_words}


def with_words(episode: Episode, words: Words) -> Episode:
    periods = [
        period.model_copy(update={"sessions": tuple(_longer(session, words) for session in period.sessions)})
        for period in episode.periods
    ]
    return episode.model_copy(update={"periods": tuple(periods)})


def _longer(session: Session, words: Words) -> Session:
    spoken_of = [*session.exposed_states.values(), *session.mentions.values()]
    added = [" ".join(words(value)) for value in spoken_of]
    return session.model_copy(update={"query": " ".join(filter(None, [session.query, *added]))})


def right_by_option(episode: Episode) -> Iterator[float]:
    """Yield 1 where the right option has the message that an option finds best, for each question and period; else 0."""
    for question in episode.questions:
        for index in range(len(episode.periods)):
            texts = [session.query for period in episode.periods[: index + 1] for session in period.sessions]
            counts = [Counter(searched_words(text)) for text in texts]
            best: dict[str, float] = {}
            for choice in question.answer_choices:
                best[choice.choice_id] = max(rank_texts(counts, choice.answer).values(), default=0.0)
            found = max(best, key=lambda choice_id: best[choice_id])
            yield float(found == question.golden[index]) - 1 / len(question.answer_choices)


def right_by_value(episode: Episode) -> Iterator[float]:
    """Yield for each variable and period the same for the choice of which the newest message has a word of its own.

    No question shows choices: this is what a look-up gains where the states themselves are asked for.
    """
    for name, choices in episode.state_schema.choices.items():
        own_words = {choice: _own_words(choice, choices) for choice in choices}
        newest = dict.fromkeys(choices, -1)
        place = 0
        for period in episode.periods:
            for session in period.sessions:
                place += 1
                told = set(words_of(session.query))
                newest.update({choice: place for choice in choices if told & own_words[choice]})
            found = [choice for choice in choices if newest[choice] == max(newest.values())]
            yield (period.state[name] in found) / len(found) - 1 / len(choices)


def _own_words(choice: str, choices: Sequence[str]) -> set[str]:
    others = [word for other in choices if other != choice for word in content_words(other)]
    return set(content_words(choice)) - set(others)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.value_words", description=__doc__)
    parser.add_argument("release", type=Path, help="the folder of a release")
    episodes = read_amemgym_release(parser.parse_args().release).episodes
    table = Table("figure", *WORDS)
    columns: list[dict[str, float]] = []
    for words in WORDS.values():
        changed = [with_words(episode, words) for episode in episodes]
        figures = [pair for episode in changed for pair in figures_of(episode, language="en")]
        means = {title: fmean(value for name, value in figures if name == title) for title in SHOWN}
        means["option that finds a message best, over a guess"] = fmean(
            value for episode in changed for value in right_by_option(episode)
        )
        means["value of which a word is found last, over a guess"] = fmean(
            value for episode in changed for value in right_by_value(episode)
        )
        columns.append(means)
    for title in columns[0]:
        table.add_row(title, *(f"{column[title]:.3f}" for column in columns))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
