"""The guessability wall on the finished set: what can be reached without memory, and whether that is too much."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.records.audit import Probe, UserAudit
from assets.records.episode import Episode
from assets.records.estimate import Estimate
from assets.records.recipe import Recipe
from assets.records.report import Verdict, WallLine, WorstItem
from validation.wall_cues import STALE, TEXT_CUES, TOLD, Asked, Cue, Weights, places
from validation.wall_measure import Measured, Pick

WORST_ITEMS = 3
PROBES: dict[Probe, str] = {
    "options_only": "a judge who sees the options alone",
    "question_only": "a judge who sees question and options, but nothing of the user",
    "profile_only": "a judge who sees profile, question and options, but no session",
}


def build_wall(episodes: Sequence[Episode], audits: Iterable[UserAudit], *, recipe: Recipe) -> tuple[WallLine, ...]:
    """All lines; those of judges where there are audits. The stale one is limited by the recipe's `least_change`."""
    asked = [Asked(episode, question) for episode in episodes for question in episode.questions]
    most_options = max((len(one.question.answer_choices) for one in asked), default=0)
    cues = [*places(most_options), *TEXT_CUES, STALE, *_judges(audits), *TOLD]
    measured = {cue.name: Measured(cue, _picks(cue, asked)) for cue in cues}
    accuracies = _accuracies(measured, seed=recipe.seed)
    lines = [_line(one, accuracies[name], limit=_limit(one, measured, recipe)) for name, one in measured.items() if one.picks]
    return (_random_line(measured["place 1"]), *lines) if asked else ()


def _picks(cue: Cue, asked: Sequence[Asked]) -> list[Pick]:
    taken = ((one, cue.take(one)) for one in asked)
    return [Pick(one, weights, one.golden_shares()) for one, weights in taken if weights is not None]


def _judges(audits: Iterable[UserAudit]) -> Iterator[Cue]:
    """What judges chose; who cannot tell guesses. A judge asked more than once spreads the choice."""
    chosen: dict[tuple[Probe, str, str], list[str | None]] = defaultdict(list)
    for audit in audits:
        for one in audit.judgements:
            chosen[one.probe, audit.user_id, one.question_id].append(one.chosen)
    for probe, meaning in PROBES.items():
        yield Cue(probe.replace("_", " "), meaning, lambda asked, probe=probe: _judged(asked, chosen, probe))


def _judged(asked: Asked, chosen: Mapping[tuple[Probe, str, str], Sequence[str | None]], probe: Probe) -> Weights | None:
    ids = [choice.choice_id for choice in asked.question.answer_choices]
    found = chosen.get((probe, asked.episode.user_id, asked.question.question_id))
    if not found:
        return None
    return tuple(sum(1 / len(ids) if one is None else one == own for one in found) / len(found) for own in ids)


def _limit(one: Measured, measured: Mapping[str, Measured], recipe: Recipe) -> float:
    """Guessing and the margin, with two exceptions beside the lines that are only told.

    The stale way knows the start in full: it may reach what it would in a set of which each period changes
    `least_change`. A profile may give the start away, since states begin as fits the profile, but nothing later.
    """
    if one.cue in TOLD:
        return 1.0
    if one.cue == STALE:
        kept = [(1 - recipe.wall.least_change) ** period for period in range(recipe.num_periods + 1)]
        return one.random + (1 - one.random) * sum(kept) / len(kept)
    at_least = one.random
    if one.cue.meaning == PROBES["profile_only"]:
        at_least = max(at_least, measured[STALE.name].accuracy)
    return min(1.0, at_least + recipe.wall.margin)


def _accuracies(measured: Mapping[str, Measured], *, seed: int) -> dict[str, Estimate]:
    """Accuracy by cue, with intervals from the same resampled users."""
    import numpy as np

    from assets.intervals import Sample, Tallies, share

    users = sorted({pick.asked.episode.user_id for one in measured.values() for pick in one.picks})
    if not users:
        return {}
    rows = {user: row for row, user in enumerate(users)}
    counts = {f"{name} {what}": np.zeros((len(users), 1)) for name in measured for what in ("right", "asked")}
    for name, one in measured.items():
        for pick in one.picks:
            row = rows[pick.asked.episode.user_id]
            counts[f"{name} right"][row] += pick.periods * (pick.gain + 1 / len(pick.shares))
            counts[f"{name} asked"][row] += pick.periods
    sample = Sample.of(Tallies(tuple(users), counts), seed=seed)
    return {name: sample.estimate(share(f"{name} right", f"{name} asked")) for name in measured}


def _line(one: Measured, accuracy: Estimate, *, limit: float) -> WallLine:
    return WallLine(
        cue=one.cue.name,
        meaning=one.cue.meaning,
        items=one.pairs,
        accuracy=accuracy,
        random=round(one.random, 6),
        luck=round(one.luck, 6),
        limit=round(limit, 6),
        verdict=_verdict(one, accuracy, limit=limit),
        worst=() if one.cue in TOLD else tuple(_worst(one.picks)),
    )


def _verdict(one: Measured, accuracy: Estimate, *, limit: float) -> Verdict:
    """Both have to speak against a cue: its interval, as users differ, and luck, as few users may agree by chance.

    What a single user shows has no interval, and blocks nothing.
    """
    if one.cue in TOLD:
        return "told"
    beyond = accuracy.low is not None and accuracy.value is not None and accuracy.low > limit and accuracy.value > one.luck
    return "crossed" if beyond else "holds"


def _worst(picks: Sequence[Pick]) -> Iterator[WorstItem]:
    """The questions that gain most, the earlier first among equals."""
    for pick in sorted(picks, key=lambda pick: -pick.gain)[:WORST_ITEMS]:
        if pick.gain > 0:
            taken = pick.weights.index(max(pick.weights))
            yield WorstItem(
                user_id=pick.asked.episode.user_id,
                question_id=pick.asked.question.question_id,
                query=pick.asked.question.query,
                text=pick.asked.answers[taken],
                share=round(pick.gain + 1 / len(pick.shares), 6),
            )


def _random_line(one: Measured) -> WallLine:
    guess = round(one.random, 6)
    return WallLine(
        cue="random",
        meaning="a uniform guess, in closed form",
        items=one.pairs,
        accuracy=Estimate(value=guess, low=None, high=None),
        random=guess,
        luck=guess,
        limit=1.0,
        verdict="told",
    )
