"""Rules about the finished episodes, judged by themselves alone."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from assets.amemgym.records.episode import Episode
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from assets.text.words import words_of
from validation.rules import OneRowPerItem, Rule, SetRule, Violation, expect, invariants

# The second word may be the first of another pair.
CAPITALISED = re.compile(r"(?<!\w)([A-ZÀ-ÖØ-Þ][\w'’-]+)(?= ([A-ZÀ-ÖØ-Þ][\w'’-]+))")


def episode_has_all_questions(episode: Episode, recipe: AMemGymRecipe) -> Iterator[str]:
    yield from expect(len(episode.questions) == recipe.num_questions, f"has {counted(len(episode.questions), 'question')}")
    yield from expect(len(episode.periods) == recipe.num_periods + 1, f"has {counted(len(episode.periods), 'period')}")
    yield from expect(episode.start_date == recipe.start_date, f"starts on {episode.start_date}, not {recipe.start_date}")


def updates_are_counted(episode: Episode, _: AMemGymRecipe) -> Iterator[str]:
    """Count updates up to each period, or in each over the whole life, as the method's authors do in their published set."""
    whole_life = Counter(update.variable for period in episode.periods for update in period.updates)
    if all(period.update_counts == {name: whole_life[name] for name in period.state} for period in episode.periods):
        return
    counts: Counter[str] = Counter()
    for index, period in enumerate(episode.periods):
        for update in period.updates:
            counts[update.variable] += 1
        for name in period.state:
            count = period.update_counts.get(name)
            if count != counts[name]:
                yield f"period {index} counts {count} updates of {name!r}, there are {counts[name]}"


class NobodyElsesName:
    """Accumulator of the rule that no text has the full name of another user.

    It remembers each user's name, and every two capitalised words in a row of the texts.
    """

    def __init__(self) -> None:
        self._users: defaultdict[str, set[str]] = defaultdict(set)
        self._seen: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, record: Episode) -> None:
        name = words_of(record.user_profile.name)
        # A first name alone is that of many people.
        if len(name) > 1:
            self._users[f"{name[0]} {name[-1]}"].add(record.user_id)
        for text in _texts(record):
            for first, second in CAPITALISED.findall(text):
                self._seen[f"{words_of(first)[0]} {words_of(second)[-1]}"].add(record.user_id)

    def violations(self) -> Iterator[Violation]:
        for name in sorted(self._users.keys() & self._seen.keys()):
            for user in sorted(self._seen[name] - self._users[name]):
                yield Violation(user, f"has the name of another user, {name!r}, in a text")


def _texts(episode: Episode) -> Iterator[str]:
    """Yield the texts that were written for this user, without the profile."""
    for question in episode.questions:
        yield question.query
        for choice in question.answer_choices:
            yield choice.answer
    for period in episode.periods:
        yield period.period_summary or ""
        for session in period.sessions:
            yield session.query
            yield session.event or ""


RULES = (
    Rule("complete", "Episodes have all questions and periods, from the recipe's start date.", episode_has_all_questions),
    Rule(
        "consistent",
        "References resolve, states follow from updates, sessions expose exactly the updates, and one option of each "
        "question matches each state: the golden one.",
        invariants,
    ),
    Rule("updates_counted", "Updates are counted up to each period, or over the whole life.", updates_are_counted),
    SetRule("one_row_per_user", "Every user is there once.", OneRowPerItem),
    SetRule("own_name_only", "No text has the full name of another user.", NobodyElsesName, blocking=False),
)
