"""A model fills in for an annotator, to try a study before people spend time on it. Its answers are marked everywhere."""

import asyncio
import hashlib
from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel

from assets.llm.ports import CallLabels, LanguageModel
from assets.llm.structured_output import ask_structured
from assets.llm.usage import Meter, MeteredModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import ItemFailed
from pipelines.experiments.annotation.records import AnnotationItem, AnswerSheet, ItemAnswer, Study
from pipelines.experiments.annotation.study import items_for
from pipelines.experiments.annotation.units import NONE, VALUE, VARIABLE, own_options
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt

PROMPTS = {
    "exposure": "annotation/rate_exposure",
    "integrity": "annotation/rate_integrity",
    "truth": "annotation/choose_truth",
}


class Rating(BaseModel):
    """The reply to a rating prompt."""

    rating: int


class Choice(BaseModel):
    """The reply to a choosing prompt; 0 for none."""

    choice: int


async def answer_with_model(study: Study, sheet: AnswerSheet, *, recipe: AMemGymRecipe, model: LanguageModel) -> AnswerSheet:
    """Return the sheet answered by the recipe's judge, all items at once, each shown as to this annotator.

    What the model gives no usable reply to stays open. Raises EndpointError where the endpoint cannot serve.
    """
    labels = CallLabels(stage="annotation", item_id=sheet.annotator)
    asked = MeteredModel(model, labels, Meter())
    sample = int(hashlib.sha256(sheet.annotator.encode()).hexdigest()[:6], 16) % 900 + 1  # else two always agree
    tasks = items_for(study, sheet)
    answer = partial(_answer, study, sample=sample, recipe=recipe, model=asked)
    answers: dict[str, ItemAnswer] = {}
    for task, value in zip(tasks, await asyncio.gather(*map(answer, tasks)), strict=True):
        if value is not None:
            answers[task.item] = ItemAnswer(value=value)
    name = recipe.models.judge.model
    return sheet.model_copy(update={"kind": "model", "model": name, "answers": answers})


async def _answer(
    study: Study, task: AnnotationItem, *, sample: int, recipe: AMemGymRecipe, model: LanguageModel
) -> str | None:
    prompt = _prompt(study, task)
    try:
        if study.kind == "truth":
            numbers = {0: NONE} | {number: label.value for number, label in enumerate(own_options(task), start=1)}
            return await ask_structured(
                model,
                prompt=prompt,
                reply=Choice,
                convert=lambda reply: _one_of(reply.choice, numbers),
                sample=sample,
                settings=recipe.asking,
            )
        ratings = {int(label.value): label.value for label in task.labels}
        return await ask_structured(
            model,
            prompt=prompt,
            reply=Rating,
            convert=lambda reply: _one_of(reply.rating, ratings),
            sample=sample,
            settings=recipe.asking,
        )
    except ItemFailed:  # the item stays open, as one that a person skipped
        return None


def _one_of(number: int, allowed: Mapping[int, str]) -> str:
    if number not in allowed:
        raise ValueError(f"{number} is none of {', '.join(map(str, allowed))}.")
    return allowed[number]


def _prompt(study: Study, task: AnnotationItem) -> RenderedPrompt:
    prompt = load_prompt(PROMPTS[study.kind])
    facts = {fact.name: fact.value for fact in task.facts}
    if study.kind == "truth":
        choices = {str(number): label.text for number, label in enumerate(own_options(task), start=1)}
        return prompt.render(question=task.passages[0].text, situation=facts, choices=choices)
    claim = {"variable": facts[VARIABLE], "value": facts[VALUE]}
    if study.kind == "exposure":
        return prompt.render(message=task.passages[0].text, claim=claim)
    return prompt.render(conversation=list(map(dict, task.passages)), claim=claim)
