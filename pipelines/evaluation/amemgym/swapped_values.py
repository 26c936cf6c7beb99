"""Counterfactual twins of users: one told value does not change. Who answers by the release, not by what was told, is wrong.

A message that told of a change is replaced by an earlier one of the same user, which told the value from before. So the user
repeats what still holds. Keys follow: there is an answer for each variant. All words are the release's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.state import Session
from assets.engine.seeded_random import SeededRandom
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.amemgym.dataset import AMemGymDataset


@dataclass(frozen=True)
class Swap:
    """The session, by period and place, that told `variable` anew, and the earlier message that takes its place."""

    period: int
    place: int
    variable: str
    message: Session


def swapped_dataset(dataset: AMemGymDataset, users: int, *, seed: int) -> AMemGymDataset:
    """Return counterfactual twins of users whom the seed draws. Raises EvaluationError where nobody has one."""
    twins = list[Episode]()
    for episode in SeededRandom(seed, "swapped").shuffled(dataset.episodes):
        twin = swap_value(episode, rng=SeededRandom(seed, "swapped", episode.user_id))
        if twin is not None and len(twins) < users:
            twins.append(twin)
    if not twins:
        raise EvaluationError(f"No user of {dataset.name} has a message that can stand for another; leave out swapped.")
    variant, _, version = dataset.name.partition(" ")
    digest = canonical_digest([twin.sha256() for twin in twins])
    return replace(dataset, name=f"{variant}-swapped {version}".strip(), digest=digest, episodes=tuple(twins), notices=())


def swap_value(episode: Episode, *, rng: SeededRandom) -> Episode | None:
    """Return the user with one value that did not change; None where no message can be replaced."""
    for swap in rng.shuffled(list(_swaps(episode))):
        try:
            twin = _apply(swap, episode)
        except ValueError:
            # Another session speaks of the value, or no answer is for the state: the record says so.
            continue
        if any(own.golden != other.golden for own, other in zip(episode.questions, twin.questions, strict=True)):
            return twin
    return None


def _swaps(episode: Episode) -> Iterator[Swap]:
    earlier = list[Session]()
    for number, period in enumerate(episode.periods):
        for place, session in enumerate(period.sessions):
            if number and not session.is_noise and len(session.exposed_states) == 1:
                [variable] = session.exposed_states
                before = episode.periods[number - 1].state[variable]
                for message in earlier:
                    if message.exposed_states.get(variable) == before:
                        yield Swap(number, place, variable, message)
        earlier += period.sessions


def _apply(swap: Swap, episode: Episode) -> Episode:
    """Return the user after the swap. Raises ValueError where something else contradicts it."""
    value = swap.message.exposed_states[swap.variable]
    periods = list(episode.periods[: swap.period])
    holds = True
    for number, period in enumerate(episode.periods[swap.period :], start=swap.period):
        if number > swap.period and swap.variable in {update.variable for update in period.updates}:
            period = _begin_update_from(value, period, swap=swap) if holds else period
            holds = False
        elif holds:
            period = _without_change(value, period, swap=swap, replaces=number == swap.period)
        counts = {**period.update_counts, swap.variable: period.update_counts[swap.variable] - 1}
        periods.append(period.model_copy(update={"update_counts": counts}))
    questions = tuple(_with_keys(question, periods) for question in episode.questions)
    return Episode.model_validate({**dict(episode), "periods": tuple(periods), "questions": questions})


def _begin_update_from(value: str, period: EpisodePeriod, *, swap: Swap) -> EpisodePeriod:
    updates = list(period.updates)
    for place, update in enumerate(updates):
        if update.variable == swap.variable:
            updates[place] = type(update).model_validate({**dict(update), "old": value})
    return period.model_copy(update={"updates": tuple(updates)})


def _without_change(value: str, period: EpisodePeriod, *, swap: Swap, replaces: bool) -> EpisodePeriod:
    sessions = list(period.sessions)
    if replaces:
        message = swap.message
        told = {"event": None, "exposed_states": message.exposed_states, "kind": "restates", "query": message.query}
        sessions[swap.place] = sessions[swap.place].model_copy(update=told)
    updates = tuple(update for update in period.updates if not replaces or update.variable != swap.variable)
    state = {**period.state, swap.variable: value}
    return period.model_copy(update={"sessions": tuple(sessions), "updates": updates, "state": state})


def _with_keys(question: EpisodeQuestion, periods: list[EpisodePeriod]) -> EpisodeQuestion:
    """Return the question with the answers that are right now. Raises ValueError where there is none for a state."""
    golden = list[str]()
    for number, period in enumerate(periods):
        variant = tuple(period.state[name] for name in question.required_info)
        fitting = [choice.choice_id for choice in question.answer_choices if choice.state == variant]
        if not fitting:
            raise ValueError(f"No answer to {question.question_id} is for the state of period {number}.")
        golden.append(fitting[0])
    return question.model_copy(update={"golden": tuple(golden)})
