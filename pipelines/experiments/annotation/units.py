"""What can be sampled in each study of App. D: units of one or more items, with the label that is right if the data is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.engine.seeded_random import SeededRandom
from assets.records.annotation import StudyKind
from pipelines.evaluation.simulator import state_at
from pipelines.experiments.annotation.records import Fact, Label, Passage
from pipelines.experiments.annotation.source import Dialogue, Source

GUIDES = Path(__file__).with_name("guides.yaml")
BEST: dict[StudyKind, str] = {"exposure": "2", "integrity": "0"}
WORST: dict[StudyKind, str] = {"exposure": "0", "integrity": "2"}
NONE = "none"
VARIABLE, VALUE, BEFORE = "what it is about", "value to judge", "value before"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Draft:
    """An item without its number. `others` are values that would make it a control; `text` is what an erratum is about."""

    user_id: str
    period: int
    passages: tuple[Passage, ...]
    facts: tuple[Fact, ...]
    labels: tuple[Label, ...]
    text: str
    expected: str
    session: int | None = None
    question_id: str | None = None
    variable: str = ""
    others: tuple[str, ...] = ()
    control: bool = False


@dataclass(frozen=True)
class Unit:
    """What is sampled together."""

    stratum: str
    drafts: tuple[Draft, ...]


@cache
def guide(kind: StudyKind) -> dict[str, Any]:
    """What annotators of this study are told."""
    return yaml.safe_load(GUIDES.read_text(encoding="utf-8"))[kind]


def scale(kind: StudyKind) -> tuple[Label, ...]:
    """The ratings of a study that has a scale, as listed in the guide."""
    return tuple(Label(value=value, text=text) for value, text in guide(kind)["labels"].items())


def exposure_units(source: Source) -> list[Unit]:
    """A value and the session opening that has to tell it; strata: user, and initial or later session."""
    return [
        Unit(f"{episode.user_id} {'update' if period else 'initial'}", (draft,))
        for episode in source.episodes
        for period in range(len(episode.periods))
        for draft in _exposed(episode, period)
    ]


def _exposed(episode: Episode, period: int) -> Iterator[Draft]:
    before = episode.periods[period - 1].state if period else {}
    for number, session in enumerate(episode.periods[period].sessions):
        for name, value in session.exposed_states.items():
            yield Draft(
                user_id=episode.user_id,
                period=period,
                session=number,
                variable=name,
                passages=(Passage(speaker="user", text=session.query),),
                facts=(*_value(name, value), Fact(name=BEFORE, value=before.get(name, "none known"))),
                labels=scale("exposure"),
                text=session.query,
                expected=BEST["exposure"],
                others=_others(episode, name, value, before.get(name)),
            )


def integrity_units(sessions: Sequence[tuple[Episode, Dialogue]]) -> list[Unit]:
    """A session of a run with an item for each variable of its user, as it was at that time; strata: users."""
    return [Unit(episode.user_id, tuple(_held(episode, dialogue))) for episode, dialogue in sessions]


def _held(episode: Episode, dialogue: Dialogue) -> Iterator[Draft]:
    period, number = dialogue[0].period, dialogue[0].session
    session = episode.periods[period].sessions[number]
    passages = tuple(
        Passage(speaker=speaker, text=text)
        for turn in dialogue
        for speaker, text in (("user", turn.message), ("assistant", turn.reply))
    )
    for name, value in state_at(episode, session, period=period).items():
        yield Draft(
            user_id=episode.user_id,
            period=period,
            session=number,
            variable=name,
            passages=passages,
            facts=_value(name, value),
            labels=scale("integrity"),
            text=dialogue[0].message,
            expected=BEST["integrity"],
            others=_others(episode, name, value) if name in session.exposed_states else (),
        )


def truth_units(source: Source, *, seed: int) -> list[Unit]:
    """A question in a situation that was lived through, asked once however long it lasted; strata: users."""
    return [
        Unit(episode.user_id, (_asked(episode, question, question.golden.index(golden), seed=seed),))
        for episode in source.episodes
        for question in episode.questions
        for golden in dict.fromkeys(question.golden)
    ]


def _asked(episode: Episode, question: EpisodeQuestion, period: int, *, seed: int) -> Draft:
    dealt = SeededRandom(seed, "options", episode.user_id, question.question_id, period).shuffled(question.answer_choices)
    letters = {choice.choice_id: letter for choice, letter in zip(dealt, _letters(len(dealt)), strict=True)}
    state = episode.periods[period].state
    return Draft(
        user_id=episode.user_id,
        period=period,
        question_id=question.question_id,
        passages=(Passage(speaker="user", text=question.query),),
        facts=tuple(Fact(name=name, value=state[name]) for name in question.required_info),
        labels=(
            *(Label(value=letters[choice.choice_id], text=choice.answer) for choice in dealt),
            Label(value=NONE, text=str(guide("truth")["none"])),
        ),
        text=question.query,
        expected=letters[question.golden[period]],
    )


def as_control(draft: Draft, *, kind: StudyKind, rng: SeededRandom) -> Draft:
    """The item with another value in the place of its own, which makes the worst label right."""
    value = rng.choice(draft.others)
    facts = tuple(Fact(name=fact.name, value=value) if fact.name == VALUE else fact for fact in draft.facts)
    return replace(draft, facts=facts, expected=WORST[kind], control=True)


def _others(episode: Episode, name: str, *known: str | None) -> tuple[str, ...]:
    return tuple(choice for choice in episode.state_schema.choices[name] if choice not in known)


def _value(name: str, value: str) -> tuple[Fact, Fact]:
    return Fact(name=VARIABLE, value=name), Fact(name=VALUE, value=value)


def _letters(count: int) -> list[str]:
    return [LETTERS[place] if place < len(LETTERS) else f"option-{place + 1}" for place in range(count)]
