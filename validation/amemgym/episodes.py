"""What must hold of the finished episodes, judged by themselves alone."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.episode import Episode
from assets.llm.text import words_of
from assets.reporting.plurals import counted
from validation.rules import OneRowPerItem, Rule, SetRule, Violation, expect, invariants

# The second word may be the first of another pair.
CAPITALISED = re.compile(r"(?<!\w)([A-ZÀ-ÖØ-Þ][\w'’-]+)(?= ([A-ZÀ-ÖØ-Þ][\w'’-]+))")


def episode_has_all_questions(episode: Episode, recipe: AMemGymRecipe) -> Iterator[str]:
    """Nothing of what the recipe asks for is missing."""
    yield from expect(len(episode.questions) == recipe.num_questions, f"has {counted(len(episode.questions), 'question')}")
    yield from expect(len(episode.periods) == recipe.num_periods + 1, f"has {counted(len(episode.periods), 'period')}")
    yield from expect(episode.start_date == recipe.start_date, f"starts on {episode.start_date}, not {recipe.start_date}")


def updates_are_counted(episode: Episode, _: AMemGymRecipe) -> Iterator[str]:
    """The count of a variable is the number of its updates up to that period."""
    counts: Counter[str] = Counter()
    for index, period in enumerate(episode.periods):
        counts.update(update.variable for update in period.updates)
        for name in period.state:
            if (count := period.update_counts.get(name)) != counts[name]:
                yield f"period {index} counts {count} updates of {name!r}, there are {counts[name]}"


class NobodyElsesName:
    """Accumulator of the rule that no text has the full name of another user: what one user is told of stays there.

    Of each user it remembers the name, and of the texts every two capitalised words in a row.
    """

    def __init__(self) -> None:
        self._users: defaultdict[str, set[str]] = defaultdict(set)
        self._seen: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, record: Episode) -> None:
        if len(name := words_of(record.user_profile.name)) > 1:
            self._users[f"{name[0]} {name[-1]}"].add(record.user_id)
        for first, second in (pair for text in _texts(record) for pair in CAPITALISED.findall(text)):
            self._seen[f"{words_of(first)[0]} {words_of(second)[-1]}"].add(record.user_id)

    def violations(self) -> Iterator[Violation]:
        """One for each user whose texts have another's name."""
        for name in sorted(self._users.keys() & self._seen.keys()):
            for user in sorted(self._seen[name] - self._users[name]):
                yield Violation(user, f"has the name of another user, {name!r}, in a text")


def _texts(episode: Episode) -> Iterator[str]:
    """The texts that were written for this user, the profile aside."""
    for question in episode.questions:
        yield question.query
        yield from (choice.answer for choice in question.answer_choices)
    for period in episode.periods:
        yield period.period_summary or ""
        yield from (text for session in period.sessions for text in (session.query, session.event or ""))


RULES = (
    Rule("complete", "Episodes have all questions and periods, from the recipe's start date.", episode_has_all_questions),
    Rule(
        "consistent",
        "References resolve, states follow from updates, sessions expose exactly the updates, and one option of each "
        "question matches each state: the golden one.",
        invariants,
    ),
    Rule("updates_counted", "Updates are counted up to each period.", updates_are_counted),
    SetRule("one_row_per_user", "Every user is there once.", OneRowPerItem),
    SetRule("own_name_only", "No text has the full name of another user.", NobodyElsesName, blocking=False),
)
