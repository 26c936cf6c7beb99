"""Errata applied while a release is written: a pure function of the rows and of the variant's `errata.yaml`."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.schema import StateSchema
from assets.amemgym.records.session import Session
from assets.records.erratum import Erratum, SettledErratum
from dataset_card.errata.exclude import without_question

ERRATA = "errata.yaml"
LISTED: TypeAdapter[tuple[Erratum, ...]] = TypeAdapter(tuple[Erratum, ...])


class ErrataError(ValueError):
    """A file of errata that cannot be used; the message is one sentence."""


def read_errata(path: Path) -> tuple[Erratum, ...]:
    """The errata of a file, none where there is no file. Raises ErrataError naming the first that is wrong."""
    if not path.is_file():
        return ()
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8")) or []
        return LISTED.validate_python(content)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in problem["loc"]) or "the whole"
        words = problem["msg"].removeprefix("Value error, ").rstrip(".")
        raise ErrataError(f"{path} is wrong at erratum {place}: {words}.") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        told = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise ErrataError(f"{path} cannot be read: {told}.") from error


def errata_text(errata: Sequence[Erratum]) -> str:
    """The content of such a file."""
    head = (
        "# What the next release of this variant does about these items.\n"
        "# action: note (tell it on the card), correct (give `now`), exclude (a question, or the user).\n"
    )
    lines = [erratum.model_dump(mode="json", exclude_defaults=True) | {"action": erratum.action} for erratum in errata]
    return head + yaml.safe_dump(lines, sort_keys=False, allow_unicode=True, width=120)


class Corrector:
    """Applies errata to episodes that pass by, and notes what became of each."""

    def __init__(self, errata: Iterable[Erratum]) -> None:
        self._errata = tuple(errata)
        self._applied: set[int] = set()

    def corrected(self, episodes: Iterable[Episode]) -> Iterator[Episode]:
        """The episodes as the errata leave them, in the same order."""
        mine: dict[str, list[int]] = {}
        for number, erratum in enumerate(self._errata):
            mine.setdefault(erratum.user_id, []).append(number)
        for episode in episodes:
            left = self._apply(episode, mine.get(episode.user_id, []))
            if left is not None:
                yield left

    def settled(self) -> tuple[SettledErratum, ...]:
        """What became of them, once all episodes have passed."""
        return tuple(
            SettledErratum(
                erratum=erratum,
                outcome="outdated" if number not in self._applied else "noted" if erratum.action == "note" else "applied",
            )
            for number, erratum in enumerate(self._errata)
        )

    def _apply(self, episode: Episode, numbers: Sequence[int]) -> Episode | None:
        left: Episode | None = episode
        for number in numbers:
            erratum = self._errata[number]
            if left is None or not is_there(left, erratum):
                continue
            self._applied.add(number)
            left = _changed(left, erratum)
        return left


def is_there(episode: Episode, erratum: Erratum) -> bool:
    """Whether the episode still has the item, with the words it was judged by."""
    text = text_of(episode, erratum)
    return text is not None and (not erratum.was or text == erratum.was)


def text_of(episode: Episode, erratum: Erratum) -> str | None:
    """The text of the erratum's item, "" for a whole user; None where there is no such item."""
    if erratum.session is not None and erratum.period is not None:
        sessions = _at(episode.periods, erratum.period)
        session = _at(sessions.sessions, erratum.session) if sessions else None
        return session.query if session else None
    if erratum.question_id is None:
        return ""
    question = next((one for one in episode.questions if one.question_id == erratum.question_id), None)
    if question is None or erratum.choice_id is None:
        return question.query if question else None
    return next((one.answer for one in question.answer_choices if one.choice_id == erratum.choice_id), None)


def _at(items: Sequence[Any], place: int) -> Any:
    return items[place] if 0 <= place < len(items) else None


def _changed(episode: Episode, erratum: Erratum) -> Episode | None:
    if erratum.action == "exclude":
        return without_question(episode, erratum.question_id) if erratum.question_id else None
    return _reworded(episode, erratum) if erratum.action == "correct" else episode


def _reworded(episode: Episode, erratum: Erratum) -> Episode:
    fields = dict(episode)
    if erratum.question_id:
        fields["questions"] = tuple(
            _question(one, erratum) if one.question_id == erratum.question_id else one for one in episode.questions
        )
        fields["state_schema"] = episode.state_schema if erratum.choice_id else _schema(episode.state_schema, erratum)
    else:
        fields["periods"] = tuple(
            period.model_copy(update={"sessions": tuple(_session(one, erratum) for one in period.sessions)})
            if index == erratum.period
            else period
            for index, period in enumerate(episode.periods)
        )
    return Episode.model_validate(fields)


def _schema(schema: StateSchema, erratum: Erratum) -> StateSchema:
    questions = tuple(
        one.model_copy(update={"text": erratum.now}) if one.question_id == erratum.question_id else one
        for one in schema.questions
    )
    return schema.model_copy(update={"questions": questions})


def _session(session: Session, erratum: Erratum) -> Session:
    # Times differ within a period, and the text is known to be that of the session meant.
    return session.model_copy(update={"query": erratum.now}) if session.query == erratum.was else session


def _question(question: EpisodeQuestion, erratum: Erratum) -> EpisodeQuestion:
    if erratum.choice_id is None:
        return question.model_copy(update={"query": erratum.now})
    choices = tuple(
        one.model_copy(update={"answer": erratum.now}) if one.choice_id == erratum.choice_id else one
        for one in question.answer_choices
    )
    return question.model_copy(update={"answer_choices": choices})
