"""Stage `code_documents`: the notes that tell decisions and behaviours among others; a reader finds each of them again."""

from collections.abc import Sequence
from itertools import chain

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import CODE_DECISIONS
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions, CodeDocuments
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.world import TeamWorld
from assets.engine.stage import Stage
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, object_of
from assets.memory_items.ablation import FACT_IN_DOCUMENT, was_right
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.world.tellings import ask_tellings, document_rows, placed_facts, told_filler
from assets.recipe.code_qa import CodeQaRecipe
from assets.records.base import GateRecord, ItemFailed
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt

RECOVER = "code_documents/recover"


async def write_notes(
    sources: CodeSources, behaviours: CodeBehaviours, decisions: CodeDecisions, *, recipe: CodeQaRecipe, model: LanguageModel
) -> CodeDocuments:
    """Return the question's notes and filler. Raises ItemFailed for unusable templates, or facts that no reader finds."""
    world = TeamWorld(sources, behaviours.behaviours, code_vocabulary(sources, recipe.packages))
    tellings = await ask_tellings(world, task_id=sources.task_id, recipe=recipe, model=model)
    documents = tellings.own_documents(decisions.plans, seed=recipe.world_seed, task_id=sources.task_id)

    facts = [placed_facts(document, world) for document in documents]

    async def recovered(document: SourceDocument, told: Sequence[Fact]) -> list[GateRecord]:
        return await _recovered(document, told, recipe=recipe, model=model)

    votes: list[GateRecord] = []
    for own in await gather_all(*map(recovered, documents, facts)):
        votes += own
    _expect_recovered(votes)
    try:
        filler = tuple(told_filler(tellings, chain=decisions.chain, task_id=sources.task_id, recipe=recipe))
    except LookupError as error:
        raise ItemFailed("rule_violated", f"{sources.package.name} has not {error.args[0]} for filler.") from error
    return CodeDocuments(
        task_id=sources.task_id,
        documents=documents,
        filler=filler,
        facts=tuple(chain.from_iterable(facts)),
        gate_records=tuple(votes),
    )


def _expect_recovered(votes: list[GateRecord]) -> None:
    """Raise ItemFailed where a fact was not found in its note."""
    lost = [vote for vote in votes if not vote.accepted]
    if lost:
        reason = "call_failed" if any("error" in vote.reading for vote in lost) else "gate_exhausted"
        sentence = f"{len(lost)} of {len(votes)} facts are not found in their notes; the first is in {lost[0].item_id}."
        raise ItemFailed(reason, sentence, gate_records=votes)


async def _recovered(
    document: SourceDocument, facts: Sequence[Fact], *, recipe: CodeQaRecipe, model: LanguageModel
) -> list[GateRecord]:
    """Return a vote for each fact of a note: what the first judge finds for it, or an error where the call failed."""
    wanted = {str(number): _asked_phrase(fact) for number, fact in enumerate(facts, start=1)}
    note = f"{document.title}\n\n{document.text}"
    judge = recipe.models.judge.panel[0]
    schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(wanted, TEXT), required=False))
    values: dict[str, str] = {}
    failure = ""
    try:
        values = await ask_structured(
            model,
            prompt=load_prompt(RECOVER).render(note=note, wanted=wanted, language=recipe.language_name),
            reply=schema,
            convert=lambda reply: reply,
            settings=recipe.asking,
            model_name=judge,
        )
    except ItemFailed as failed:
        failure = failed.message
    votes: list[GateRecord] = []
    for number, fact in zip(wanted, facts, strict=True):
        reading = {"answer": values[number]} if number in values else {}
        votes.append(_vote(fact, judge, {"error": failure} if failure else reading))
    return votes


def _asked_phrase(fact: Fact) -> str:
    return fact.phrase.replace("{x}", fact.subject)


def _vote(fact: Fact, judge: str, reading: dict[str, str]) -> GateRecord:
    vote = GateRecord(
        gate=FACT_IN_DOCUMENT,
        item_id=fact.document_id,
        draft=0,
        refinement=0,
        vote=0,
        judge=judge,
        text=_asked_phrase(fact),
        target={"answer": fact.value, "kind": fact.kind},
        reading=reading,
        accepted=False,
    )
    return vote.model_copy(update={"accepted": bool(was_right(vote))})


def _rows(documents: CodeDocuments) -> list[Row]:
    return document_rows(documents.documents)


CODE_DOCUMENTS = Stage(
    name="code_documents",
    record=CodeDocuments,
    make=write_notes,
    version=3,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_DECISIONS),
    prompts=(*TeamWorld.tell_prompts, TeamWorld.phrase_prompt, RECOVER),
    description=AssetDescription(
        group="questions",
        description="The team's notes: bug reports, reviews, tickets, incident notes, commit messages and design notes, signed "
        "and dated. Each shows a call as it was run; a reader finds all that it states again in the final text.",
        rows=_rows,
        paper="MemGym",
    ),
)
