"""Session questions of a package that the test writes: killed and gone on with, or with others beside, they are the same."""

import multiprocessing
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assets.code_qa.session_questions.pipeline import SESSION_QUESTIONS
from assets.code_qa.sources import draw_sources
from assets.engine.ports import RunContext, SnapshotRef
from assets.engine.serialized_record import serialized_rows
from assets.engine.stage_runner import StageRunner
from assets.llm.ports import ModelReply, ModelRequest
from assets.recipe.code_qa import SessionQuestionsRecipe
from assets.recipe.recipe import units
from pipelines.resources.cache.reply_cache import SqlRecordCache
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.session_questions import session_recipe

LABELS = '''"""Labels of a shop, as people read them."""


def ordinal(number: int) -> str:
    """
    >>> ordinal(3)
    '3rd place'
    """
    if number % 100 in (11, 12, 13):
        ending = "th"
    else:
        ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return str(number) + ending + " place"


def shorten(text: str, most: int = 9) -> str:
    """
    >>> shorten("a basket of ripe plums")
    'a basket (cut)'
    """
    if len(text) <= most:
        return text.upper()
    return text[:most].strip() + " (cut)"


def opening(first: int, last: int = 18) -> str:
    """
    >>> opening(20, last=4)
    'open for 8 hours, past midnight'
    """
    hours = last - first
    if hours <= 0:
        return "open for " + str(hours + 24) + " hours, past midnight"
    return "open for " + str(hours) + " hours"


def stock(count: int, low: int = 3) -> str:
    """
    >>> stock(1)
    'only 1 left'
    """
    if count == 0:
        return "sold out today"
    if count < low:
        return "only " + str(count) + " left"
    return str(count) + " are left"
'''


@dataclass
class Deadly(EmbeddedModel):
    """It ends the process in the middle of its last call, without a word of warning."""

    calls: int

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.calls -= 1
        if self.calls < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().complete(request)


def recipe_of(folder: Path) -> SessionQuestionsRecipe:
    package = {"name": "labels", "version": "1.0", "license": "MIT", "path": str(folder)}
    return session_recipe(packages=[package], num_tasks=2, num_reserve=6, lengths=(3500,), salt="killed")


def make(home: Path, recipe: SessionQuestionsRecipe, *, model: EmbeddedModel, at_once: int) -> Mapping[str, bytes]:
    """Take the recipe's tasks through all stages; the bytes of each stage's rows."""
    snapshots = ParquetSnapshots(home / "snapshots")
    context = RunContext(model, snapshots, SqlRecordCache(home / "records.sqlite"), items_at_once=at_once)
    (unit,) = units(recipe)
    first, *stages = SESSION_QUESTIONS.stages
    writer = snapshots.writer(first.name, unit=recipe.variant)
    writer.add(first.name, serialized_rows(draw_sources(recipe, unit)))
    refs: dict[str, SnapshotRef] = {first.name: writer.finish([])}
    for stage in stages:
        refs[stage.name] = run(StageRunner(stage, unit, recipe, context, dict(refs)).run()).ref
    rows = snapshots.read(refs[stages[-1].name], stages[-1].name, record=stages[-1].record)
    return {task.item_id: task.model_dump_json().encode() for task in rows.values()}


def killed(home: Path, recipe: SessionQuestionsRecipe) -> None:
    make(home, recipe, model=Deadly(30), at_once=32)


def test_a_killed_run_goes_on_to_the_same_questions_whatever_their_number_at_once(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "labels.py").write_text(LABELS, encoding="utf-8")
    recipe = recipe_of(tmp_path / "package")
    child = multiprocessing.get_context("spawn").Process(target=killed, args=(tmp_path / "killed", recipe))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    whole = make(tmp_path / "whole", recipe, model=EmbeddedModel(), at_once=32)
    assert len(whole) == 2
    assert make(tmp_path / "killed", recipe, model=EmbeddedModel(), at_once=1) == whole
