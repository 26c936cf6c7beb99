"""The guessability wall on the finished set: what can be reached without memory, and whether that is too much."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.amemgym.records.audit import Judgement, Probe
from assets.amemgym.records.episode import Episode
from assets.recipe.recipe import Recipe
from assets.records.estimate import Estimate
from assets.records.report import Verdict, WallLine, WorstItem
from validation.amemgym.shortcuts.measure import Measured, Pick
from validation.amemgym.shortcuts.programs import LAST, STALE, TEXT_CUES, TOLD, Asked, Cue, Weights, place

PROBES: dict[Probe, str] = {
    "options_only": "a judge who sees the options alone",
    "question_only": "a judge who sees question and options, but nothing of the user",
    "profile_only": "a judge who sees profile, question and options, but no session",
}
Judged = Mapping[tuple[Probe, str], Sequence[str | None]]


class Wall:
    """Measures every way to choose while the users pass by; some four hundred bytes stay of each."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._users: list[str] = []
        self._places: list[Measured] = []
        self._judges: dict[Probe, Measured] = {
            probe: Measured(Cue(probe.replace("_", " "), told, _nothing)) for probe, told in PROBES.items()
        }
        self._cues = {cue.name: Measured(cue) for cue in (LAST, *TEXT_CUES, STALE, *TOLD)}

    def add(self, episode: Episode, judgements: Iterable[Judgement] = ()) -> None:
        """Take one user and what judges chose; who cannot tell guesses, and who was asked again spreads the choice."""
        number, judged = len(self._users), defaultdict[tuple[Probe, str], list[str | None]](list)
        self._users.append(episode.user_id)
        for one in judgements:
            judged[one.probe, one.question_id].append(one.chosen)
        for question in episode.questions:
            asked, options = Asked(episode, question), len(question.answer_choices)
            self._places.extend(Measured(place(index)) for index in range(len(self._places), options))
            shares = asked.golden_shares
            for measured in (*self._places[:options], *self._cues.values()):
                if (weights := measured.cue.take(asked)) is not None:
                    measured.add(Pick(asked, weights, shares), user=number)
            for probe, measured in self._judges.items():
                if weights := _judged(asked, judged, probe):
                    measured.add(Pick(asked, weights, shares), user=number)

    def lines(self) -> tuple[WallLine, ...]:
        """All lines; those of judges where there are audits. The stale one is limited by the recipe's `least_change`."""
        told = {cue.name for cue in TOLD}
        plain, last = ([one for name, one in self._cues.items() if (name in told) == kind] for kind in (False, True))
        ordered = [*self._places, *plain, *self._judges.values(), *last]
        measured = {one.cue.name: one for one in ordered if one.pairs}
        if not measured:
            return ()
        accuracies = self._accuracies(measured)
        lines = [_line(one, accuracies[name], limit=_limit(one, measured, self._recipe)) for name, one in measured.items()]
        return (_random_line(measured["place 1"]), *lines)

    def _accuracies(self, measured: Mapping[str, Measured]) -> dict[str, Estimate]:
        """Accuracy by cue, with intervals from the same resampled users."""
        import numpy as np

        from assets.reporting.intervals import Sample, Tallies, share

        # The draw goes by the order of ids, whatever the order in which users came.
        order = sorted(range(len(self._users)), key=self._users.__getitem__)
        rows = np.empty(len(order), dtype=np.int64)
        rows[order] = np.arange(len(order))
        counts = {f"{name} {what}": np.zeros((len(order), 1)) for name in measured for what in ("right", "asked")}
        for name, one in measured.items():
            counts[f"{name} right"][rows[one.users], 0] = one.right
            counts[f"{name} asked"][rows[one.users], 0] = one.asked
        sample = Sample.of(Tallies(tuple(self._users[place] for place in order), counts), seed=self._recipe.seed)
        return {name: sample.estimate(share(f"{name} right", f"{name} asked")) for name in measured}


def _nothing(_: Asked) -> None:
    """What judges chose is no program over the texts."""


def _judged(asked: Asked, chosen: Judged, probe: Probe) -> Weights | None:
    ids = [choice.choice_id for choice in asked.question.answer_choices]
    found = chosen.get((probe, asked.question.question_id))
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
        worst=() if one.cue in TOLD else tuple(_worst(one.worst)),
    )


def _verdict(one: Measured, accuracy: Estimate, *, limit: float) -> Verdict:
    """Both have to speak against a cue: its interval, as users differ, and luck, as few users may agree by chance.

    What a single user shows has no interval, and blocks nothing.
    """
    if one.cue in TOLD:
        return "told"
    beyond = accuracy.low is not None and accuracy.value is not None and accuracy.low > limit and accuracy.value > one.luck
    return "crossed" if beyond else "holds"


def _worst(picks: Sequence[tuple[float, Pick]]) -> Iterator[WorstItem]:
    for gain, pick in picks:
        taken = pick.weights.index(max(pick.weights))
        yield WorstItem(
            user_id=pick.asked.episode.user_id,
            question_id=pick.asked.question.question_id,
            query=pick.asked.question.query,
            text=pick.asked.answers[taken],
            share=round(gain + 1 / len(pick.shares), 6),
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
