"""Find questions that ask nearly the same, by words and by meaning, within a user and across users."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import Diversity, SimilarQuestions
from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import BudgetReached, Embedder, EndpointError, Vector
from assets.recipe.amemgym import AMemGymRecipe

if TYPE_CHECKING:
    from assets.reporting.intervals import Array

# In questions. Every pair of them is compared, so time and memory grow with the square.
MOST_COMPARED = 1000
MAX_PAIRS = 8  # to look at; the shares say how many more there are
WORDS_ONLY = "not compared: the recipe names no embedding model"


@dataclass(frozen=True)
class Embeddings:
    """Vectors by text. `source` names the model that made them, or says why there are none; `problem` is for the log."""

    source: str = WORDS_ONLY
    vectors: Mapping[str, Vector] = field(default_factory=dict[str, Vector])
    problem: str = ""


@dataclass(frozen=True)
class ComparedQuestions:
    """The questions to compare: the user who asks and the text, position by position."""

    users: tuple[str, ...]
    texts: tuple[str, ...]


class QuestionSample:
    """Collect the questions to compare: all, or in a large set those of users drawn by seed."""

    def __init__(self, recipe: AMemGymRecipe, *, users: int) -> None:
        self._drawn = frozenset(
            SeededRandom(recipe.seed, "diversity").sample(range(users), MOST_COMPARED // recipe.num_questions)
        )
        self._index = 0
        self._users: list[str] = []
        self._texts: list[str] = []

    def add(self, episode: Episode) -> None:
        if self._index in self._drawn:
            for question in episode.questions:
                self._users.append(episode.user_id)
                self._texts.append(question.query)
        self._index += 1

    def compared(self) -> ComparedQuestions:
        return ComparedQuestions(tuple(self._users), tuple(self._texts))


async def question_embeddings(questions: ComparedQuestions, embedder: Embedder | None, *, recipe: AMemGymRecipe) -> Embeddings:
    """Ask for the vectors of all texts. When an endpoint gives none, words alone are compared, and the report says so."""
    model = recipe.diversity.embedding_model
    if not model or embedder is None or not questions.texts:
        return Embeddings()
    # Users may ask the same; each text is paid for once.
    texts = list(dict.fromkeys(questions.texts))
    try:
        vectors = await embedder.embed(texts, model=model)
    except BudgetReached:
        raise
    except EndpointError as error:
        return Embeddings("not compared: the endpoint gave no embeddings", problem=str(error))
    return Embeddings(shared_name(model), dict(zip(texts, vectors, strict=True)))


def shared_name(model: str) -> str:
    """Return a model's name without folders of the machine where the report is made."""
    return model.replace("\\", "/").rstrip("/").rpartition("/")[2]


def diversity(questions: ComparedQuestions, embeddings: Embeddings, *, recipe: AMemGymRecipe) -> Diversity | None:
    """Return the near-duplicates among the questions; None for fewer than two."""
    import numpy as np

    count = len(questions.texts)
    near = recipe.diversity.near
    if count < 2:
        return None
    likeness = _likeness(questions, embeddings)
    # Nothing is its own twin.
    np.fill_diagonal(likeness, 0.0)
    users = np.array(questions.users)
    same = users[:, None] == users[None, :]
    return Diversity(
        questions=count,
        threshold=near,
        meaning=embeddings.source,
        near_within=_share((np.where(same, likeness, 0.0) >= near).any(axis=1).sum(), count),
        near_across=_share((np.where(same, 0.0, likeness) >= near).any(axis=1).sum(), count),
        similar=tuple(_most_similar(questions, likeness)),
    )


def _likeness(questions: ComparedQuestions, embeddings: Embeddings) -> "Array":
    """Return the greater of two likenesses for each pair: of the sets of words, and of what the texts mean.

    Rounded to three digits, because the last bits of a vector's product differ between machines.
    """
    import numpy as np
    from rapidfuzz import fuzz, process, utils

    words = process.cdist(
        questions.texts, questions.texts, scorer=fuzz.token_set_ratio, processor=utils.default_process, dtype=np.float64
    )
    likeness = words / 100
    if embeddings.vectors:
        vectors = np.array(list(map(embeddings.vectors.__getitem__, questions.texts)))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # A vector of zeros has no direction, and is like nothing.
        unit = vectors / np.where(lengths, lengths, 1.0)
        likeness = np.maximum(likeness, unit @ unit.T)
    return np.clip(np.round(likeness, 3), 0.0, 1.0)


def _most_similar(questions: ComparedQuestions, likeness: "Array") -> list[SimilarQuestions]:
    """Return the most alike pairs; a pair of texts that several users share is shown once."""
    import numpy as np

    rows, columns = np.triu_indices(len(questions.texts), k=1)
    order = np.argsort(-likeness[rows, columns], kind="stable")
    pairs: dict[frozenset[str], SimilarQuestions] = {}
    for index in order:
        first = int(rows[index])
        second = int(columns[index])
        texts = frozenset((questions.texts[first], questions.texts[second]))
        if len(pairs) == MAX_PAIRS or not likeness[first, second]:
            break
        if texts not in pairs:
            pairs[texts] = SimilarQuestions(
                first_user=questions.users[first],
                first=questions.texts[first],
                second_user=questions.users[second],
                second=questions.texts[second],
                likeness=float(likeness[first, second]),
            )
    return list(pairs.values())


def _share(count: int, total: int) -> float:
    return round(int(count) / total, 4)
