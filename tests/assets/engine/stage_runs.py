"""Stages run for a few users, whom a scripted model may refuse, and what they leave behind."""

import re
from pathlib import Path
from typing import Any

from assets.engine.ports import RunContext
from assets.engine.stage import Stage
from assets.engine.stage_runner import StageResult
from assets.llm.ports import ModelRequest
from assets.records.base import Failure
from tests.support.honest_replies import Answer, honest
from tests.support.run_contexts import materialized, run_context
from tests.support.scripted_model import Script, ScriptedModel, reply
from tests.support.small import small_recipe

PROFILE, QUESTION = "user_profiles/complete", "questions/draft"


def refusing(*numbers: int) -> Answer:
    """Refuses whatever is asked about these personas."""
    return about(numbers, lambda _: reply("No.", finish="refusal"))


def about(numbers: tuple[int, ...], answer: Answer, *, otherwise: Answer = honest) -> Answer:
    """This answer where one of these personas is named, the other one elsewhere."""

    def chosen(request: ModelRequest) -> object:
        named = {int(number) for number in re.findall(r"Ada Number(\d+)", str(request.messages))}
        return answer(request) if named & set(numbers) else otherwise(request)

    return chosen


def positions(shop: RunContext, result: StageResult, stage: Stage[Any]) -> list[int]:
    return sorted(shop.snapshots.read(result.ref, stage.name, record=stage.record))


def failures(shop: RunContext, result: StageResult) -> list[Failure]:
    return shop.snapshots.failures(result.ref)


def passed(
    folder: Path, script: Script, *stages: Stage[Any], users: int = 2, reserve: int = 2, **changes: Any
) -> tuple[dict[str, StageResult], RunContext, ScriptedModel]:
    model = ScriptedModel(script)
    shop = run_context(folder, model, **changes)
    results = materialized(shop, small_recipe(num_users=users, num_reserve=reserve), *stages)
    return results, shop, model
