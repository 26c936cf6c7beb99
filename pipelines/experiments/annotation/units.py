"""The units that each study of App. D samples: one or more items of a checked release or of a run on it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import ascii_lowercase
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
from pipelines.experiments.annotation.records import AnnotationError, AnnotationItem, Label, Passage, ShownFact

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
    table = re.compile(rf"{re.escape(manifest.variant)}/[^/]+\.parquet")
    nested = next(file.path for file in manifest.files if table.fullmatch(file.path))
    # Its annotations are only partly known to type checkers.
    parquet: Any = pq
    try:
        episodes = from_table(parquet.read_table(folder / nested), record_type=Episode)
    except (OSError, KeyError, ValueError) as error:
        raise AnnotationError(
            f"The release {folder} cannot be read ({type(error).__name__}); was it made by another version of this program?"
        ) from error
    return Source(manifest.variant, manifest.version, manifest.digest, tuple(episodes))


def dialogues(run: FinishedRun, source: Source) -> list[tuple[Episode, Dialogue]]:
    """Return the run's sessions with their users, in order. Raises AnnotationError for a run on another dataset."""
    if run.manifest.dataset_digest != source.digest:
        raise AnnotationError(
            f"The run {run.manifest.run_id} is on {run.manifest.dataset}, whose bytes are not those of {source.name}; "
            "give the release that it was run on."
        )
    episodes = {episode.user_id: episode for episode in source.episodes}
    sessions: dict[tuple[str, int, int], list[DialogueTurn]] = {}
    for turn in run.turns:
        sessions.setdefault((turn.user_id, turn.period, turn.session), []).append(turn)
    found: list[tuple[Episode, Dialogue]] = []
    for (user, _, _), turns in sorted(sessions.items()):
        if user in episodes:
            found.append((episodes[user], tuple(sorted(turns, key=lambda turn: turn.round))))
    return found


GUIDES = Path(__file__).with_name("guides.yaml")
BEST: dict[StudyKind, str] = {"exposure": "2", "integrity": "0"}  # of the scales of App. D: 2 is told fully, 0 no conflict
WORST: dict[StudyKind, str] = {"exposure": "0", "integrity": "2"}
NONE = "none"  # no option of a question fits
VARIABLE = "what it is about"
VALUE = "value to judge"
BEFORE = "value before"


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
    """Return the guide for annotators of this study, such as its title, task and labels."""
    return yaml.safe_load(GUIDES.read_text(encoding="utf-8"))[kind]


def ratings(kind: StudyKind) -> tuple[Label, ...]:
    """Return the ratings of a study that has a scale, as listed in the guide."""
    return tuple(Label(value=value, text=text) for value, text in guide(kind)["labels"].items())


def own_options(task: AnnotationItem) -> list[Label]:
    """Return the labels of a question's own options; that none of them fits comes after them."""
    return [label for label in task.labels if label.value != NONE]


def exposure_units(source: Source) -> list[SampleUnit]:
    """Return a unit for each value and the opening that has to express it; strata: user, and initial or later session."""
    units: list[SampleUnit] = []
    for episode in source.episodes:
        for period in range(len(episode.periods)):
            stratum = f"{episode.user_id} update" if period else f"{episode.user_id} initial"
            for draft in _exposure_items(episode, period):
                units.append(SampleUnit(stratum, (draft,)))
    return units


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
                labels=ratings("exposure"),
                text=session.query,
                expected=BEST["exposure"],
                others=_others(episode, name, value, before.get(name)),
            )


def integrity_units(sessions: Sequence[tuple[Episode, Dialogue]]) -> list[SampleUnit]:
    """Return a unit for each session of a run, with an item for each variable of its user at that time; strata: users."""
    units: list[SampleUnit] = []
    for episode, dialogue in sessions:
        units.append(SampleUnit(episode.user_id, tuple(_dialogue_items(episode, dialogue))))
    return units


def _dialogue_items(episode: Episode, dialogue: Dialogue) -> Iterator[ItemDraft]:
    period = dialogue[0].period
    number = dialogue[0].session
    session = episode.periods[period].sessions[number]
    passages: list[Passage] = []
    for turn in dialogue:
        passages.append(Passage(speaker="user", text=turn.message))
        passages.append(Passage(speaker="assistant", text=turn.reply))
    for name, value in state_at(episode, session, period=period).items():
        yield ItemDraft(
            user_id=episode.user_id,
            period=period,
            session=number,
            variable=name,
            passages=tuple(passages),
            facts=_value(name, value),
            labels=ratings("integrity"),
            text=dialogue[0].message,
            expected=BEST["integrity"],
            others=_others(episode, name, value) if name in session.exposed_states else (),
        )


def truth_units(source: Source, *, seed: int) -> list[SampleUnit]:
    """Return a unit for each question in a situation that occurred, asked once however long it lasted; strata: users."""
    units: list[SampleUnit] = []
    for episode in source.episodes:
        for question in episode.questions:
            for golden in dict.fromkeys(question.golden):
                item = _truth_item(episode, question, question.golden.index(golden), seed=seed)
                units.append(SampleUnit(episode.user_id, (item,)))
    return units


def _truth_item(episode: Episode, question: EpisodeQuestion, period: int, *, seed: int) -> ItemDraft:
    dealt = SeededRandom(seed, "options", episode.user_id, question.question_id, period).shuffled(question.answer_choices)
    labels: list[Label] = []
    right = ""
    for index, choice in enumerate(dealt):
        # From z on numbers, as there are no further letters.
        name = ascii_lowercase[index] if index < len(ascii_lowercase) else f"option-{index + 1}"
        labels.append(Label(value=name, text=choice.answer))
        if choice.choice_id == question.golden[period]:
            right = name
    state = episode.periods[period].state
    return ItemDraft(
        user_id=episode.user_id,
        period=period,
        question_id=question.question_id,
        passages=(Passage(speaker="user", text=question.query),),
        facts=tuple(ShownFact(name=name, value=state[name]) for name in question.required_info),
        labels=(*labels, Label(value=NONE, text=str(guide("truth")["none"]))),
        text=question.query,
        expected=right,
    )


def make_control(draft: ItemDraft, *, kind: StudyKind, rng: SeededRandom) -> ItemDraft:
    """Return the item with another value instead of its own, which makes the worst label the right one."""
    value = rng.choice(draft.others)
    facts = list(draft.facts)
    for index, fact in enumerate(facts):
        if fact.name == VALUE:
            facts[index] = ShownFact(name=VALUE, value=value)
    return replace(draft, facts=tuple(facts), expected=WORST[kind], control=True)


def _others(episode: Episode, name: str, *known: str | None) -> tuple[str, ...]:
    return tuple(choice for choice in episode.state_schema.choices[name] if choice not in known)


def _value(name: str, value: str) -> tuple[ShownFact, ShownFact]:
    return ShownFact(name=VARIABLE, value=name), ShownFact(name=VALUE, value=value)
