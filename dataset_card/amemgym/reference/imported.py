"""Anybody's `data.json`, read as it is: what cannot be used is left out by user or question, with its reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.user import LeftOut
from assets.reporting.plurals import counted, is_or_are
from dataset_card.amemgym.reference.data_json import json_items, lossless, lossless_question
from dataset_card.amemgym.reference.read import episode_of, question_id, question_of
from dataset_card.amemgym.reference.schema import ItemSchema, QuestionSchema, SchemaError, errors_at

# Reasons in a sentence on what was left out; the others are counted.
REASONS = 3


@dataclass(frozen=True)
class ImportedData:
    """The users that can be used, in the file's order. `users` and `questions` count those of the file."""

    episodes: tuple[Episode, ...]
    left_out: tuple[LeftOut, ...] = ()
    users: int = 0
    questions: int = 0

    def sentences(self) -> Iterator[str]:
        """Yield what of the file is left out, and why; nothing of a file that is read as it is."""
        users = [item for item in self.left_out if not item.question_id]
        questions = [item for item in self.left_out if item.question_id]
        if users:
            yield _left_out_sentence(users, counted(self.users, "user"))
        if questions:
            yield _left_out_sentence(questions, counted(self.questions, "question"))


def _left_out_sentence(left_out: list[LeftOut], whole: str) -> str:
    reasons: list[str] = []
    for item in left_out[:REASONS]:
        name = f"{item.user_id} {item.question_id}" if item.question_id else item.user_id
        reasons.append(f"{name}: {item.reason}")
    if len(left_out) > REASONS:
        reasons.append(f"{len(left_out) - REASONS} more")
    return f"{len(left_out)} of {whole} cannot be used and {is_or_are(len(left_out))} left out: {'; '.join(reasons)}."


def import_data_json(path: Path) -> ImportedData:
    """Read a `data.json` of anybody. Raises ReferenceError for a file that is no JSON array, OSError for none at all."""
    left_out: list[LeftOut] = []
    episodes: dict[str, Episode] = {}
    items = json_items(path)
    questions = 0
    for position, item in enumerate(items):
        reader = _ItemReader(item, position)
        questions += len(reader.qas)
        try:
            episode = reader.episode()
            # Nobody could tell which of the two is meant.
            if episode.user_id in episodes:
                raise SchemaError("id", "another item has the same id")
        except SchemaError as error:
            left_out.append(LeftOut(user_id=reader.user_id, reason=str(error)))
            continue
        episodes[episode.user_id] = episode
        left_out += reader.left_out
    return ImportedData(tuple(episodes.values()), tuple(left_out), len(items), questions)


class _ItemReader:
    """One item of the array; its questions are read one by one, so that a wrong one costs itself alone."""

    def __init__(self, item: object, position: int) -> None:
        content = cast(dict[str, Any], item) if isinstance(item, dict) else {}
        self.left_out: list[LeftOut] = []
        self.user_id = str(content.get("id", f"item {position + 1}"))
        found = content.get("qas")
        self.qas: list[Any] = cast(list[Any], found) if isinstance(found, list) else []
        self._item: object = {**content, "qas": list[object]()} if content else item

    def episode(self) -> Episode:
        """Return the user. Raises SchemaError for one who cannot be used."""
        with errors_at(""):
            item = ItemSchema.model_validate(self._item)
        lossless(item.model_dump(), episode_of(item))  # so that what is wrong with the user is not laid to a question
        usable = dict(self._usable(item))
        # A user without questions measures nothing.
        if not usable:
            raise SchemaError("qas", self.left_out[0].reason if self.left_out else "there is no question")
        return episode_of(item.model_copy(update={"qas": list(usable.values())}), numbers=list(usable))

    def _usable(self, item: ItemSchema) -> Iterator[tuple[int, QuestionSchema]]:
        for index, content in enumerate(self.qas):
            path = f"qas[{index}]"
            try:
                with errors_at(path):
                    qa = QuestionSchema.model_validate(content)
                unknown = sorted(set(qa.required_info) - set(item.state_schema))
                if unknown:
                    raise SchemaError(f"{path}.required_info", f"no variable of the schema is called {unknown}")
                question = question_of(qa, question_id=question_id(index), path=path, item=item)
                if not qa.required_info:
                    raise SchemaError(f"{path}.required_info", "its answer depends on no variable")
                if len(question.answer_choices) < 2:
                    raise SchemaError(f"{path}.answer_choices", "there is only one option")
                lossless_question(qa.model_dump(), question, path=path)
            except SchemaError as error:
                self.left_out.append(LeftOut(user_id=self.user_id, question_id=question_id(index), reason=str(error)))
                continue
            yield index, qa
