"""A small question about sessions in each form, with everything that its stages make of it by the embedded model."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Any

from assets.code_qa.session_questions.pipeline import SESSION_QUESTIONS
from assets.code_qa.sources import draw_sources, with_package_digests
from assets.recipe.code_qa import SessionQuestionsRecipe
from assets.recipe.document_tasks import Operation
from assets.recipe.recipe import units
from assets.records.base import ItemFailed, ItemRecord
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.made_stages import make_records


def session_recipe(**fields: Any) -> SessionQuestionsRecipe:
    """Questions about a package with many functions, at one length, unless the fields say otherwise."""
    # A memory of everything may give back 6,000 tokens. With this seed all forms come early.
    given: dict[str, Any] = {"num_tasks": 24, "num_reserve": 0, "lengths": (5700,), "seed": 9}
    given["packages"] = [{"name": "humanfriendly", "version": version("humanfriendly"), "modules": ["humanfriendly.text"]}]
    given["behaviours"] = {"min_behaviours": 8}
    return with_package_digests(SessionQuestionsRecipe.model_validate({"variant": "small sessions", **given, **fields}))


@cache
def made_session(form: Operation, answer: str = "") -> Mapping[str, ItemRecord]:
    """The record of every stage, by the stage's name, of the first question of this form; of this answer, if one is given."""
    recipe = session_recipe()
    for _, sources in draw_sources(recipe, units(recipe)[0]):
        if sources.operation == form:
            with suppress(ItemFailed):  # a length that no filler fits
                records = run(make_records(SESSION_QUESTIONS, sources, recipe=recipe, model=EmbeddedModel()))
                if answer in ("", records["sq_questions"].answer.value):
                    return records
    raise AssertionError(f"no small question is of the form {form} {answer}")
