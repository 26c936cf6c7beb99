"""Stage `dr_facts`: the facts of a task's documents, each with the place where it stands, checked by program."""

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel

from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import TaskFacts, TaskSources
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.world.relations import WORLD
from assets.engine.stage import Stage
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.llm.text import spells
from assets.memory_items.answers import normalized
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.world.tellings import placed_facts
from assets.records.base import Text
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt

EXTRACT = "dr_facts/extract"


class ExtractedFact(BaseModel):
    """A fact as a reader gives it."""

    subject: Text
    relation: Text
    phrase: Text
    value: Text
    kind: Literal["number", "name", "date", "option"]
    quote: Text


class ExtractedFacts(BaseModel):
    """What the reader of a section is asked for."""

    facts: list[ExtractedFact]


async def read_facts(sources: TaskSources, *, recipe: DeepResearchRecipe, model: LanguageModel) -> TaskFacts:
    """All facts of the task's documents: the statements of invented ones, what a reader finds in real ones."""
    found = await gather_all(
        *(
            _placed_facts(document) if document.statements else _extracted_facts(document, recipe=recipe, model=model)
            for document in sources.documents
        )
    )
    return TaskFacts(task_id=sources.task_id, facts=tuple(fact for facts in found for fact in facts))


async def _placed_facts(document: SourceDocument) -> list[Fact]:
    return placed_facts(document, WORLD)


async def _extracted_facts(document: SourceDocument, *, recipe: DeepResearchRecipe, model: LanguageModel) -> list[Fact]:
    section = f"{document.title}\n\n{document.text}"
    prompt = load_prompt(EXTRACT).render(section=section, language=recipe.language_name)

    def convert(reply: ExtractedFacts) -> list[Fact]:
        checked = (_checked(one, number, document) for number, one in enumerate(reply.facts))
        return list(_one_of_each([fact for fact in checked if fact is not None]))

    return await ask_structured(model, prompt=prompt, reply=ExtractedFacts, convert=convert, recipe=recipe)


def _checked(read: ExtractedFact, number: int, document: SourceDocument) -> Fact | None:
    """The fact with its place; None for one that does not stand in the document as it is given, which is left out."""
    at, inside = document.text.find(read.quote), read.quote.find(read.value)
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
    """Without subjects of which a document gives several values of one relation: nothing says which one counts."""
    for fact in facts:
        same = [one for one in facts if (one.subject, one.relation) == (fact.subject, fact.relation)]
        if len({normalized(one.kind, one.value) for one in same}) == 1 and fact == same[0]:
            yield fact


def _rows(facts: TaskFacts) -> list[Row]:
    return [
        {
            "subject": one.subject,
            "relation": one.relation,
            "value": one.value,
            "as of": str(one.as_of or ""),
            "status": one.status,
        }
        for one in facts.facts
    ]


DR_FACTS = Stage(
    name="dr_facts",
    record=TaskFacts,
    make=read_facts,
    needs=(DR_SOURCES,),
    prompts=(EXTRACT,),
    description=AssetDescription(
        group="questions",
        description="The facts that stand in each task's documents: subject, relation, value and where the value "
        "stands. Those of real documents are read by a model and checked against the text by program.",
        rows=_rows,
        paper="MemGym",
    ),
)
