"""Questions that ask nearly the same are found by words and by meaning."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assets.amemgym.records.report import Diversity
from assets.llm.ports import BudgetReached, EndpointError, Vector
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.policies import DiversityPolicy
from tests.support import scenario
from tests.support.coroutines import run
from tests.validation.random_questions import QUESTIONS, random_users
from validation.amemgym.report.diversity import (
    MOST_COMPARED,
    ComparedQuestions,
    Embeddings,
    QuestionSample,
    diversity,
    question_embeddings,
)

RECIPE = scenario.recipe(diversity=DiversityPolicy(embedding_model="some/where/meaning-1"))
TEA, BREWING, RUN = "Which tea suits my evenings?", "What should I brew after dinner?", "How far should I run on Sunday?"


@dataclass
class Embeds:
    """The Embedder port over a table of vectors; an error is raised instead where one is given."""

    vectors: Mapping[str, Vector] = field(default_factory=dict[str, Vector])
    error: EndpointError | None = None
    asked: list[Sequence[str]] = field(default_factory=list[Sequence[str]])

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        self.asked.append(texts)
        if self.error is not None:
            raise self.error
        return [self.vectors[text] for text in texts]


def of(*asked: tuple[str, str], vectors: Mapping[str, Vector] | None = None, recipe: AMemGymRecipe = RECIPE) -> Diversity:
    questions = ComparedQuestions(tuple(user for user, _ in asked), tuple(text for _, text in asked))
    found = diversity(questions, Embeddings("meaning-1", vectors) if vectors else Embeddings(), recipe=recipe)
    assert found is not None
    return found


def test_the_same_words_in_another_order_are_near_duplicates() -> None:
    found = of(("ada", TEA), ("ada", "My evenings: which tea SUITS?"), ("ben", RUN))
    assert (found.near_within, found.near_across) == (pytest.approx(2 / 3, abs=1e-4), 0.0)
    assert (found.similar[0].first, found.similar[0].likeness) == (TEA, 1.0)


def test_questions_of_two_users_are_told_apart_from_those_of_one() -> None:
    found = of(("ada", TEA), ("ben", TEA), ("cleo", RUN))
    assert (found.near_within, found.near_across) == (0.0, pytest.approx(2 / 3, abs=1e-4))
    assert (found.similar[0].first_user, found.similar[0].second_user) == ("ada", "ben")


def test_other_words_for_the_same_are_found_by_meaning_only() -> None:
    asked, vectors = (("ada", TEA), ("ben", BREWING), ("cleo", RUN)), {TEA: (1.0, 0.1), BREWING: (2.0, 0.2), RUN: (0.0, 1.0)}
    assert of(*asked).near_across == 0.0
    found = of(*asked, vectors=vectors)
    assert (found.near_across, found.meaning, found.similar[0].likeness) == (pytest.approx(2 / 3, abs=1e-4), "meaning-1", 1.0)


def test_a_pair_of_words_that_many_users_share_is_shown_once() -> None:
    found = of(*((f"user-{number}", TEA) for number in range(9)), ("zoe", RUN))
    assert [pair.likeness for pair in found.similar if pair.first == pair.second] == [1.0]


def test_a_single_question_has_no_twin() -> None:
    assert diversity(ComparedQuestions(("ada",), (TEA,)), Embeddings(), recipe=RECIPE) is None


def test_of_a_large_set_whole_users_are_drawn_by_seed() -> None:
    large = random_users(MOST_COMPARED // QUESTIONS + 7)

    def compared(**changes: Any) -> ComparedQuestions:
        sample = QuestionSample(scenario.recipe(num_questions=QUESTIONS, **changes), users=len(large))
        for episode in large:
            sample.add(episode)
        return sample.compared()

    first, again, other = compared(), compared(), compared(seed=7)
    assert len(first.texts) == MOST_COMPARED
    assert first == again != other


def test_each_text_is_embedded_once_and_no_folder_of_a_local_model_is_told() -> None:
    embedder = Embeds({TEA: (1.0,), RUN: (0.5,)})
    found = run(question_embeddings(ComparedQuestions(("ada", "ben", "ben"), (TEA, TEA, RUN)), embedder, recipe=RECIPE))
    assert embedder.asked == [[TEA, RUN]]
    assert (found.source, found.vectors) == ("meaning-1", {TEA: (1.0,), RUN: (0.5,)})


def test_an_endpoint_without_embeddings_leaves_the_words_and_says_so() -> None:
    embedder = Embeds(error=EndpointError("http://10.0.0.7 has no embeddings."))
    found = run(question_embeddings(ComparedQuestions(("ada", "ben"), (TEA, RUN)), embedder, recipe=RECIPE))
    assert (found.source, found.vectors) == ("not compared: the endpoint gave no embeddings", {})
    assert found.problem == "http://10.0.0.7 has no embeddings."


def test_a_budget_that_is_used_up_pauses_the_report() -> None:
    with pytest.raises(BudgetReached):
        run(question_embeddings(ComparedQuestions(("ada",), (TEA,)), Embeds(error=BudgetReached("Spent.")), recipe=RECIPE))


def test_a_recipe_without_embedding_model_asks_for_none() -> None:
    embedder = Embeds()
    words_only = scenario.recipe(diversity=DiversityPolicy(embedding_model=None))
    found = run(question_embeddings(ComparedQuestions(("ada",), (TEA,)), embedder, recipe=words_only))
    assert (embedder.asked, found) == ([], Embeddings())


def write_pool(folder: Path, *rows: dict[str, object]) -> Path:
    path = folder / "pool.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path
