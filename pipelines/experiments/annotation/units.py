"""What can be sampled in each study of App. D: units of one or more items of a checked release or of a run on it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.engine.seeded_random import SeededRandom
from assets.records.annotation import StudyKind
from assets.records.columnar import from_table
from dataset_card.release.manifest import read_manifest
from pipelines.evaluation.amemgym.dialogue import state_at
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import DialogueTurn
from pipelines.experiments.annotation.records import AnnotationError, Label, Passage, ShownFact

Dialogue = tuple[DialogueTurn, ...]


@dataclass(frozen=True)
class Source:
    """Episodes with the ids that they have in the release's tables, which errata name."""

    variant: str
    version: str
    digest: str
    episodes: tuple[Episode, ...]

    @property
    def name(self) -> str:
        return f"{self.variant} {self.version}"


def load_source(folder: Path) -> Source:
    """Read a release whose files are known to be those of its manifest. Raises AnnotationError."""
    manifest = read_manifest(folder)
    nested = next(
        file.path for file in manifest.files if re.fullmatch(rf"{re.escape(manifest.variant)}/[^/]+\.parquet", file.path)
    )
    # Its annotations are only partly known to type checkers.
    parquet: Any = pq
    try:
        episodes = from_table(parquet.read_table(folder / nested), record_type=Episode)
    except (OSError, KeyError, ValueError) as error:
        message = (
            f"The release {folder} cannot be read ({type(error).__name__}); was it made by another version of this program?"
        )
        raise AnnotationError(message) from error
    return Source(manifest.variant, manifest.version, manifest.digest, tuple(episodes))


def dialogues(run: FinishedRun, source: Source) -> list[tuple[Episode, Dialogue]]:
    """The run's sessions with their users, in order. Raises AnnotationError for a run on another dataset."""
    if run.manifest.dataset_digest != source.digest:
        raise AnnotationError(
            f"The run {run.manifest.run_id} is on {run.manifest.dataset}, whose bytes are not those of {source.name}; "
            "give the release that it was run on."
        )
    episodes = {episode.user_id: episode for episode in source.episodes}
    sessions: dict[tuple[str, int, int], list[DialogueTurn]] = {}
    for turn in run.turns:
        sessions.setdefault((turn.user_id, turn.period, turn.session), []).append(turn)
    return [(episodes[user], _in_order(turns)) for (user, _, _), turns in sorted(sessions.items()) if user in episodes]


def _in_order(turns: Sequence[DialogueTurn]) -> Dialogue:
    return tuple(sorted(turns, key=lambda turn: turn.round))


GUIDES = Path(__file__).with_name("guides.yaml")
BEST: dict[StudyKind, str] = {"exposure": "2", "integrity": "0"}
WORST: dict[StudyKind, str] = {"exposure": "0", "integrity": "2"}
NONE = "none"
VARIABLE, VALUE, BEFORE = "what it is about", "value to judge", "value before"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class ItemDraft:
    """An item without its number. `others` are values that would make it a control; `text` is what an erratum is about."""

    user_id: str
    period: int
    passages: tuple[Passage, ...]
    facts: tuple[ShownFact, ...]
    labels: tuple[Label, ...]
    text: str
    expected: str
    session: int | None = None
    question_id: str | None = None
    variable: str = ""
    others: tuple[str, ...] = ()
    control: bool = False


@dataclass(frozen=True)
class SampleUnit:
    """Items that are sampled together, such as those of one session; each `stratum` gets its share of units."""

    stratum: str
    drafts: tuple[ItemDraft, ...]


@cache
def guide(kind: StudyKind) -> dict[str, Any]:
    """The guide for annotators of this study, such as its title, task and labels."""
    return yaml.safe_load(GUIDES.read_text(encoding="utf-8"))[kind]


def scale(kind: StudyKind) -> tuple[Label, ...]:
    """The ratings of a study that has a scale, as listed in the guide."""
    return tuple(Label(value=value, text=text) for value, text in guide(kind)["labels"].items())


def exposure_units(source: Source) -> list[SampleUnit]:
    """A value and the session opening that has to express it; strata: user, and initial or later session."""
    return [
        SampleUnit(f"{episode.user_id} {'update' if period else 'initial'}", (draft,))
        for episode in source.episodes
        for period in range(len(episode.periods))
        for draft in _exposure_items(episode, period)
    ]


def _exposure_items(episode: Episode, period: int) -> Iterator[ItemDraft]:
    before = episode.periods[period - 1].state if period else {}
    for number, session in enumerate(episode.periods[period].sessions):
        for name, value in session.exposed_states.items():
            yield ItemDraft(
                user_id=episode.user_id,
                period=period,
                session=number,
                variable=name,
                passages=(Passage(speaker="user", text=session.query),),
                facts=(*_value(name, value), ShownFact(name=BEFORE, value=before.get(name, "none known"))),
                labels=scale("exposure"),
                text=session.query,
                expected=BEST["exposure"],
                others=_others(episode, name, value, before.get(name)),
            )


def integrity_units(sessions: Sequence[tuple[Episode, Dialogue]]) -> list[SampleUnit]:
    """A session of a run with an item for each variable of its user, as it was at that time; strata: users."""
    return [SampleUnit(episode.user_id, tuple(_dialogue_items(episode, dialogue))) for episode, dialogue in sessions]


def _dialogue_items(episode: Episode, dialogue: Dialogue) -> Iterator[ItemDraft]:
    period, number = dialogue[0].period, dialogue[0].session
    session = episode.periods[period].sessions[number]
    passages = tuple(
        Passage(speaker=speaker, text=text)
        for turn in dialogue
        for speaker, text in (("user", turn.message), ("assistant", turn.reply))
    )
    for name, value in state_at(episode, session, period=period).items():
        yield ItemDraft(
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


def truth_units(source: Source, *, seed: int) -> list[SampleUnit]:
    """A question in a situation that was lived through, asked once however long it lasted; strata: users."""
    return [
        SampleUnit(episode.user_id, (_truth_item(episode, question, question.golden.index(golden), seed=seed),))
        for episode in source.episodes
        for question in episode.questions
        for golden in dict.fromkeys(question.golden)
    ]


def _truth_item(episode: Episode, question: EpisodeQuestion, period: int, *, seed: int) -> ItemDraft:
    dealt = SeededRandom(seed, "options", episode.user_id, question.question_id, period).shuffled(question.answer_choices)
    letters = {choice.choice_id: letter for choice, letter in zip(dealt, _letters(len(dealt)), strict=True)}
    state = episode.periods[period].state
    return ItemDraft(
        user_id=episode.user_id,
        period=period,
        question_id=question.question_id,
        passages=(Passage(speaker="user", text=question.query),),
        facts=tuple(ShownFact(name=name, value=state[name]) for name in question.required_info),
        labels=(
            *(Label(value=letters[choice.choice_id], text=choice.answer) for choice in dealt),
            Label(value=NONE, text=str(guide("truth")["none"])),
        ),
        text=question.query,
        expected=letters[question.golden[period]],
    )


def make_control(draft: ItemDraft, *, kind: StudyKind, rng: SeededRandom) -> ItemDraft:
    """The item with another value instead of its own, which makes the worst label the right one."""
    value = rng.choice(draft.others)
    facts = tuple(ShownFact(name=fact.name, value=value) if fact.name == VALUE else fact for fact in draft.facts)
    return replace(draft, facts=facts, expected=WORST[kind], control=True)


def _others(episode: Episode, name: str, *known: str | None) -> tuple[str, ...]:
    return tuple(choice for choice in episode.state_schema.choices[name] if choice not in known)


def _value(name: str, value: str) -> tuple[ShownFact, ShownFact]:
    return ShownFact(name=VARIABLE, value=name), ShownFact(name=VALUE, value=value)


def _letters(count: int) -> list[str]:
    return [LETTERS[index] if index < len(LETTERS) else f"option-{index + 1}" for index in range(count)]
