"""Measure, without asking a model, how much of a finished set a memory needs: by its options, its calendar and its words.

Each figure is a mean over (question, period) pairs, or over messages. Who `knows` some of the values that an answer needs
guesses among the options that agree with them. Messages are the first utterances of sessions; the assistant's replies are
not in a release, and make a life some times longer for a memory.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from assets.amemgym.records.episode import Episode, EpisodeQuestion, fitting_options, options_left
from assets.amemgym.records.report import DifficultyLine
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.statistic import GAIN, UNIT, Range
from assets.text.bm25 import rank_texts, searched_words
from assets.text.languages import common_words
from assets.text.words import count_tokens

READ_SHARES = (0.025, 0.05, 0.1, 0.2)  # of a life's text so far
STANDARD_SHARE = 0.1
WINDOWS = (1, 2, 3, 5, 10)
READERS = {
    "newest": "reads the newest messages",
    "search": "reads the messages that BM25 finds by the question",
    "both": "reads the newest messages for half of it, and those that BM25 finds for the rest",
}
SEARCH_GAIN = "search, gain"
NEWS = "messages with news"


class LimitedFigure(NamedTuple):
    """The meaning of a figure; `limit`: the most that it may be where the recipe has balanced options."""

    meaning: str
    limit: float | None = None
    within: Range = UNIT


def _figures() -> dict[str, LimitedFigure]:
    figures = {
        "one value": LimitedFigure("right by one of the values that an answer needs", 0.40),
        "all but one value": LimitedFigure("right by all values that an answer needs but one, where it needs three or more"),
        "singled out": LimitedFigure("one value alone tells the right option", 0.05),
        "most shared": LimitedFigure("gain over a guess by the option that shares most values with the others", 0.005, GAIN),
        "fewest shared": LimitedFigure(
            "gain over a guess by the option that shares fewest values with the others", 0.005, GAIN
        ),
    }
    for periods in WINDOWS:
        title = "present period" if periods == 1 else f"last {periods} periods"
        figures[title] = LimitedFigure(f"right by all that the sessions of the {title} tell")
    figures[NEWS] = LimitedFigure("messages that tell something new of the user; the others are noise")
    figures["no word in common"] = LimitedFigure("needed messages that share no word with the question, common words left out")
    figures["rival first"] = LimitedFigure("BM25 by the question ranks a message with an outdated value above all needed ones")
    for reader, meaning in READERS.items():
        for share in READ_SHARES:
            figures[_title(reader, share)] = LimitedFigure(
                f"right by {100 * share:g} % of the life's messages so far: {meaning}"
            )
        figures[f"{reader}, mean"] = LimitedFigure("the mean over these shares")
    figures[SEARCH_GAIN] = LimitedFigure(f"search less newest, with {100 * STANDARD_SHARE:g} % of the messages", within=GAIN)
    figures["right for all"] = LimitedFigure(
        f"every reader has all needed values in {100 * STANDARD_SHARE:g} % of the messages"
    )
    figures["right for none"] = LimitedFigure("no reader has them")
    return figures


def _title(reader: str, share: float) -> str:
    return f"{reader}, {100 * share:g} %"


FIGURES = _figures()
PLACES = {title: place for place, title in enumerate(FIGURES)}


class ToldMessage(NamedTuple):
    """A user's message: its period, the values that it tells, its words, and its length in tokens."""

    period: int
    told: Mapping[str, str]
    words: Counter[str]
    tokens: int


def messages_of(episode: Episode) -> list[ToldMessage]:
    """Return the messages of all periods in order of time."""
    messages: list[ToldMessage] = []
    for index, period in enumerate(episode.periods):
        for session in period.sessions:
            words = Counter(searched_words(session.query))
            messages.append(ToldMessage(index, session.exposed_states, words, count_tokens(session.query)))
    return messages


def option_figures(question: EpisodeQuestion, state: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield what some of the values that an answer needs give, and what counting the values of options gives."""
    needed = {name: state[name] for name in question.required_info}
    alone = [len(fitting_options(question, {name: value})) for name, value in needed.items()]
    yield "one value", fmean([1 / count for count in alone])
    yield "singled out", float(min(alone) == 1)
    if len(needed) > 2:
        without_one: list[float] = []
        for name in needed:
            known = {other: value for other, value in needed.items() if other != name}
            without_one.append(1 / len(fitting_options(question, known)))
        yield "all but one value", fmean(without_one)
    counts = Counter[tuple[str, str]]()
    for choice in question.answer_choices:
        counts.update(zip(question.required_info, choice.state, strict=True))
    shared: dict[tuple[str, ...], int] = {}
    for choice in question.answer_choices:
        shared[choice.state] = sum(map(counts.__getitem__, zip(question.required_info, choice.state, strict=True)))
    right = shared[tuple(needed[name] for name in question.required_info)]
    for title, taken in (("most shared", max(shared.values())), ("fewest shared", min(shared.values()))):
        as_many = list(shared.values()).count(taken)
        yield title, (right == taken) / as_many - 1 / len(shared)


def places_of_needed(question: EpisodeQuestion, messages: Sequence[ToldMessage]) -> dict[str, int]:
    """Return for each needed variable the place of the message that told its value last."""
    places: dict[str, int] = {}
    for place, message in enumerate(messages):
        places.update(dict.fromkeys(message.told.keys() & set(question.required_info), place))
    return places


def outdated_places(question: EpisodeQuestion, state: Mapping[str, str], messages: Sequence[ToldMessage]) -> list[int]:
    """Return the places of messages that tell a value of a needed variable that holds no more."""
    places: list[int] = []
    for place, message in enumerate(messages):
        if any(name in message.told and message.told[name] != state[name] for name in question.required_info):
            places.append(place)
    return places


def read_messages(reader: str, ranked: Sequence[int], messages: Sequence[ToldMessage], *, share: float) -> list[int]:
    """Return the places of the messages that one of `READERS` reads, the oldest first.

    `share`: of the tokens of all messages. A reader stops at the first message that does not fit. `ranked`: the places that
    BM25 finds by the question, the best first.
    """
    budget = share * sum(message.tokens for message in messages)
    newest = list(reversed(range(len(messages))))
    if reader == "newest":
        return sorted(_first_within(newest, messages, budget))
    if reader == "search":
        return sorted(_first_within(ranked, messages, budget))
    recent = _first_within(newest, messages, budget / 2)
    found = _first_within([place for place in ranked if place not in recent], messages, budget / 2)
    return sorted([*recent, *found])


def _first_within(places: Sequence[int], messages: Sequence[ToldMessage], budget: float) -> list[int]:
    kept: list[int] = []
    for place in places:
        budget -= messages[place].tokens
        if budget < 0:
            break
        kept.append(place)
    return kept


def chance_by_reading(question: EpisodeQuestion, golden: str, messages: Sequence[ToldMessage], places: Sequence[int]) -> float:
    """Return the chance to be right by these messages, of which a later one counts against an earlier one."""
    known: dict[str, str] = {}
    for place in places:
        known.update(messages[place].told)
    fitting = fitting_options(question, known)
    return (golden in fitting) / max(1, len(fitting))


def text_figures(
    question: EpisodeQuestion, period: int, messages: Sequence[ToldMessage], *, state: Mapping[str, str], common: frozenset[str]
) -> Iterator[tuple[str, float]]:
    """Yield what the words of messages and questions give at the end of a period; `messages`: those up to it."""
    needed = places_of_needed(question, messages)
    asked = set(searched_words(question.query)) - common
    for place in needed.values():
        yield "no word in common", float(asked.isdisjoint(messages[place].words))
    scores = rank_texts([message.words for message in messages], question.query)
    best_needed = max([scores.get(place, 0.0) for place in needed.values()], default=0.0)
    rivals = set(outdated_places(question, state, messages)) - set(needed.values())
    yield "rival first", float(any(scores.get(place, 0.0) > best_needed for place in rivals))
    golden = question.golden[period]
    at_standard: dict[str, float] = {}
    for reader in READERS:
        chances: list[float] = []
        for share in READ_SHARES:
            read = read_messages(reader, list(scores), messages, share=share)
            chances.append(chance_by_reading(question, golden, messages, read))
            yield _title(reader, share), chances[-1]
            if share == STANDARD_SHARE:
                at_standard[reader] = chances[-1]
        yield f"{reader}, mean", fmean(chances)
    yield SEARCH_GAIN, at_standard["search"] - at_standard["newest"]
    yield "right for all", float(min(at_standard.values()) == 1)
    yield "right for none", float(max(at_standard.values()) < 1)


def figures_of(episode: Episode, *, language: str) -> Iterator[tuple[str, float]]:
    """Yield each figure for each question and period of a user."""
    common = common_words(language)
    messages = messages_of(episode)
    for period in episode.periods:
        for session in period.sessions:
            yield NEWS, float(not session.is_noise)
    for question in episode.questions:
        for index, period in enumerate(episode.periods):
            so_far = [message for message in messages if message.period <= index]
            yield from option_figures(question, period.state)
            yield from text_figures(question, index, so_far, state=period.state, common=common)
        for periods in WINDOWS:
            # A window of all periods is no window.
            if periods < len(episode.periods):
                title = "present period" if periods == 1 else f"last {periods} periods"
                for left in options_left(episode, question, window=periods):
                    yield title, 1 / left


@dataclass
class DifficultyCounter:
    """Sum the figures user by user."""

    recipe: AMemGymRecipe
    # Of each user the sum and the number of pairs of each figure, in their order: ten thousand users stay in memory.
    sums: dict[str, "array[float]"] = field(default_factory=dict[str, "array[float]"])

    def add(self, episode: Episode) -> None:
        sums = array("d", [0.0] * (2 * len(FIGURES)))
        for title, value in figures_of(episode, language=self.recipe.language):
            place = 2 * PLACES[title]
            sums[place] += value
            sums[place + 1] += 1
        self.sums[episode.user_id] = sums

    def lines(self) -> tuple[DifficultyLine, ...]:
        """Return the figures that the users have."""
        import numpy as np  # late, as it takes long to import

        from assets.reporting.intervals import Tallies, quotient

        users = sorted(self.sums)
        if not users:
            return ()
        columns = np.array([self.sums[user] for user in users]).T[:, :, None]
        pairs = {title: round(float(columns[2 * place + 1].sum())) for title, place in PLACES.items()}
        titles = [title for title in FIGURES if pairs[title]]
        counts = {title: columns[2 * PLACES[title]] for title in titles}
        counts |= {f"{title} pairs": columns[2 * PLACES[title] + 1] for title in titles}
        tallies = Tallies(tuple(users), counts)
        lines: list[DifficultyLine] = []
        for title in titles:
            figure = FIGURES[title]
            limit = None if self.recipe.balanced_options is None else figure.limit
            value = tallies.estimate(quotient(title, f"{title} pairs", within=figure.within))
            lines.append(
                DifficultyLine(
                    figure=title,
                    meaning=figure.meaning,
                    users=len(self.sums),
                    pairs=pairs[title],
                    value=value,
                    limit=limit,
                )
            )
        return tuple(lines)
