"""Stage `dr_facts`: the facts of a task's documents, each with its place, checked by program."""

import math
from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel

from assets.deep_research.fiction import WORLD
from assets.deep_research.records import TaskFacts, TaskSources
from assets.deep_research.sources import DR_SOURCES
from assets.engine.stage import PromptCalls, Stage
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.world.writing import placed_facts
from assets.recipe.deep_research import DeepResearchRecipe
from assets.records.answers import normalize_answer
from assets.records.base import Text
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.text.words import spells
from prompts.catalogue import load_prompt

EXTRACT = "dr_facts/extract"


class ExtractedFact(BaseModel):
    """A fact as a reader gives it, before it is looked up in the text."""

    subject: Text
    relation: Text
    phrase: Text
    value: Text
    kind: Literal["number", "name", "date", "option"]
    quote: Text


class ExtractedFacts(BaseModel):
    """The reply of the reader of a section."""

    facts: list[ExtractedFact]


async def read_facts(sources: TaskSources, *, recipe: DeepResearchRecipe, model: LanguageModel) -> TaskFacts:
    """Return all facts of the task's documents: the statements of invented ones, what a reader finds in real ones."""

    async def facts_of(document: SourceDocument) -> list[Fact]:
        if document.statements:
            return placed_facts(document, WORLD)
        return await _extracted_facts(document, recipe=recipe, model=model)

    facts: list[Fact] = []
    for found in await gather_all(*map(facts_of, sources.documents)):
        facts += found
    return TaskFacts(task_id=sources.task_id, facts=tuple(facts))


async def _extracted_facts(document: SourceDocument, *, recipe: DeepResearchRecipe, model: LanguageModel) -> list[Fact]:
    section = f"{document.title}\n\n{document.text}"
    prompt = load_prompt(EXTRACT).render(section=section, language=recipe.language_name)

    def convert(reply: ExtractedFacts) -> list[Fact]:
        checked: list[Fact] = []
        for number, read in enumerate(reply.facts):
            fact = _place_fact(read, number, document)
            if fact is not None:
                checked.append(fact)
        return list(_one_of_each(checked))

    return await ask_structured(model, prompt=prompt, reply=ExtractedFacts, convert=convert, settings=recipe.asking)


def _place_fact(read: ExtractedFact, number: int, document: SourceDocument) -> Fact | None:
    """Return the fact with its place; None for one that does not stand in the document as it is given."""
    at = document.text.find(read.quote)
    inside = read.quote.find(read.value)
    named = read.subject in f"{document.title}\n{document.text}"
    if at < 0 or inside < 0 or not named or read.phrase.count("{x}") != 1 or spells(read.phrase, read.value):
        return None
    return Fact(
        fact_id=f"{document.document_id}-{number}",
        document_id=document.document_id,
        subject=read.subject,
        relation=read.relation,
        value=read.value,
        phrase=read.phrase,
        kind=read.kind,
        start=at + inside,
        end=at + inside + len(read.value),
    )


def _one_of_each(facts: list[Fact]) -> Iterator[Fact]:
    """Leave out subjects of which a document gives several values of one relation: nothing says which one counts."""
    same: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        same.setdefault((fact.subject, fact.relation), []).append(fact)
    for group in same.values():
        values = {normalize_answer(member.kind, member.value) for member in group}
        if len(values) == 1:
            yield group[0]


def _extractions(recipe: DeepResearchRecipe) -> float:
    """Return 0 for an invented world, whose facts are known; of real documents nobody knows how many have to be read."""
    return 0.0 if recipe.source_kind == "world" else math.nan


DR_FACTS = Stage(
    name="dr_facts",
    record=TaskFacts,
    make=read_facts,
    needs=(DR_SOURCES,),
    prompts=(EXTRACT,),
    calls={EXTRACT: PromptCalls(_extractions)},
    description=AssetDescription(
        group="tasks",
        description="The facts that stand in each task's documents: subject, relation, value and where the value "
        "stands. Those of real documents are read by a model and checked against the text by program.",
        rows=preview_rows("facts", "subject relation value as_of status"),
        paper="MemGym",
    ),
)
