"""How states move, and how options lie: the figures that show a leaning set at a glance."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from assets.records.episode import Episode
from assets.records.report import Motion, PlaceLine
from assets.trajectory_quality import balance, change_counts, golden_changes, ping_pongs, unvisited

DIGITS = 4


def motion(episodes: Sequence[Episode]) -> Motion | None:
    """Over all users and variables; None without users."""
    if not episodes:
        return None
    variables = sum(len(episode.state_schema.variables) for episode in episodes)
    choices = [episode.state_schema.choices for episode in episodes]
    missing = sum(
        len(values)
        for episode, own in zip(episodes, choices, strict=True)
        for values in unvisited(episode.periods, own).values()
    )
    evenness = [share for e, own in zip(episodes, choices, strict=True) for share in balance(e.periods, own).values()]
    updates = sum(len(period.updates) for episode in episodes for period in episode.periods)
    changes = Counter(count for episode in episodes for count in change_counts(episode.periods).values())
    return Motion(
        choice_shares=tuple(_choice_shares(episodes, index) for index in range(_periods(episodes))),
        choices_reached=_rounded(1 - missing / max(1, sum(len(values) for own in choices for values in own.values()))),
        evenness=_rounded(sum(evenness) / max(1, variables)),
        changes={str(count): changes[count] for count in sorted(changes)},
        returns=_rounded(sum(len(ping_pongs(episode.periods)) for episode in episodes) / max(1, updates)),
        golden_changes=tuple(_golden_changes(episodes)),
    )


def _periods(episodes: Sequence[Episode]) -> int:
    return min(len(episode.periods) for episode in episodes)


def _choice_shares(episodes: Sequence[Episode], index: int) -> tuple[float, ...]:
    held = Counter(
        own.index(episode.periods[index].state[name])
        for episode in episodes
        for name, own in episode.state_schema.choices.items()
    )
    return tuple(_rounded(held[place] / held.total()) for place in range(max(held, default=-1) + 1))


def _golden_changes(episodes: Sequence[Episode]) -> Iterator[float]:
    """By period after the first, the share of questions whose right option is another."""
    counts = [golden_changes(e.periods, [question.required_info for question in e.questions]) for e in episodes]
    questions = sum(len(episode.questions) for episode in episodes)
    for index in range(_periods(episodes) - 1):
        yield _rounded(sum(own[index] for own in counts) / max(1, questions))


def place_lines(episodes: Sequence[Episode]) -> Iterator[PlaceLine]:
    """By place among the options shown; "right" weighs an option by its share of the periods."""
    options, shares = Counter[int](), defaultdict[int, float](float)
    lengths: dict[tuple[int, bool], list[int]] = {}
    for question in (question for episode in episodes for question in episode.questions):
        golden = Counter(question.golden)
        for place, choice in enumerate(question.answer_choices, start=1):
            options[place] += 1
            shares[place] += golden[choice.choice_id] / len(question.golden)
            lengths.setdefault((place, golden[choice.choice_id] > 0), []).append(len(choice.answer))
    for place in sorted(options):
        yield PlaceLine(
            place=place,
            options=options[place],
            right=_rounded(shares[place] / options[place]),
            right_length=_mean(lengths.get((place, True), [])),
            other_length=_mean(lengths.get((place, False), [])),
        )


def _mean(numbers: Sequence[int]) -> float | None:
    return round(sum(numbers) / len(numbers), 1) if numbers else None


def _rounded(share: float) -> float:
    return round(share, DIGITS)
