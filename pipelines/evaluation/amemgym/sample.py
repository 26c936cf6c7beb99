"""The questions that a run asks: all after every period, or a sample that is balanced over users, periods and questions."""

from collections.abc import Sequence

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError

Places = frozenset[tuple[int, str]]  # a user's questions, by period and id


def places_asked(episodes: Sequence[Episode], questions: int | None, *, seed: int) -> dict[str, Places]:
    """Return the places of each user, drawn by the seed; all for None. Raises EvaluationError for a number that cannot be had.

    Users have equally many, and so have the periods of all of them together, within one.
    """
    every = {episode.user_id: len(episode.periods) * len(episode.questions) for episode in episodes}
    if questions is None:
        questions = sum(every.values())
    if not len(every) <= questions <= sum(every.values()):
        held = f"{counted(len(every), 'user')} have {sum(every.values()):,} questions"
        raise EvaluationError(f"{held}; --questions takes one for each user at least, and all at most.")
    shares = dict.fromkeys(every, 0)
    left = questions
    while left:
        for user in SeededRandom(seed, "shares").shuffled(list(every)):
            if left and shares[user] < every[user]:
                shares[user] += 1
                left -= 1
    found = dict[str, Places]()
    begin = 0
    for episode in episodes:
        found[episode.user_id] = _draw_places(episode, shares[episode.user_id], begin=begin, seed=seed)
        begin += shares[episode.user_id]
    return found


def _draw_places(episode: Episode, count: int, *, begin: int, seed: int) -> Places:
    """Return so many places, one period after another from that of the number `begin` on, each time with another question."""
    periods = len(episode.periods)
    questions = SeededRandom(seed, "sample", episode.user_id).shuffled(episode.questions)
    places = set[tuple[int, str]]()
    for number in range(count):
        period = (begin + number) % periods
        # A round of all periods asks other questions than those before.
        question = questions[(period + number // periods) % len(questions)]
        places.add((period, question.question_id))
    return frozenset(places)
