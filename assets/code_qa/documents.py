"""Stage `code_documents`: the notes that tell decisions and behaviours among others; a reader finds each of them again."""

from collections.abc import Iterator

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import CODE_DECISIONS
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions, CodeDocuments
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.world import TeamWorld
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, object_of
from assets.memory_items.ablation import FACT_IN_DOCUMENT, was_right
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.world.tellings import ask_tellings, placed_facts, told_filler
from assets.records.base import GateRecord, ItemFailed
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt

RECOVER = "code_documents/recover"
SPARE_TOKENS = 4000  # of filler, beside a tenth of the longest length: some of it may hold an answer by chance


async def write_notes(
    sources: CodeSources,
    behaviours: CodeBehaviours,
    decisions: CodeDecisions,
    *,
    recipe: CodeQaRecipe,
    model: LanguageModel,
) -> CodeDocuments:
    """The question's notes and filler. Raises ItemFailed for a writer's templates, or a note whose facts no reader finds."""
    world = TeamWorld(sources, behaviours.behaviours, code_vocabulary(sources, recipe.packages))
    style = SeededRandom(recipe.seed, sources.task_id, "style").integer_below(recipe.num_styles)
    tellings = await ask_tellings(world, recipe=recipe, style=style, count=recipe.num_tellings, model=model)
    path = (recipe.seed, sources.task_id, "telling")
    documents = tuple(tellings.document(plan, role=plan.role, path=path) for plan in decisions.plans)
    read = await gather_all(*(_recovered(one, world, recipe=recipe, model=model) for one in documents))
    votes = [vote for own in read for vote in own]
    lost = [vote for vote in votes if not vote.accepted]
    if lost:
        reason = "call_failed" if any("error" in vote.reading for vote in lost) else "gate_exhausted"
        sentence = f"{len(lost)} of {len(votes)} facts are not found in their notes; the first is in {lost[0].item_id}."
        raise ItemFailed(reason, sentence, gate_records=votes)
    filler = told_filler(
        tellings,
        sizes=(recipe.min_hops, recipe.max_hops),
        wanted=round(1.1 * recipe.lengths[-1]) + SPARE_TOKENS,
        path=(recipe.seed, sources.task_id),
        taken=frozenset(name for hop in decisions.chain for name in (hop.subject, hop.value)),
    )
    return CodeDocuments(
        task_id=sources.task_id,
        documents=documents,
        filler=_told(filler, sources),
        facts=tuple(fact for one in documents for fact in placed_facts(one, world)),
        gate_records=tuple(votes),
    )


def _told(filler: Iterator[SourceDocument], sources: CodeSources) -> tuple[SourceDocument, ...]:
    try:
        return tuple(filler)
    except LookupError as error:
        raise ItemFailed("rule_violated", f"{sources.package.name} has not {error.args[0]} for filler.") from error


async def _recovered(
    document: SourceDocument, world: TeamWorld, *, recipe: CodeQaRecipe, model: LanguageModel
) -> list[GateRecord]:
    """What the first judge finds in a note for each of its facts, one vote for each; one that fails is an error."""
    facts = placed_facts(document, world)
    wanted = {str(number): fact.phrase.replace("{x}", fact.subject) for number, fact in enumerate(facts, start=1)}
    note = f"{document.title}\n\n{document.text}"
    prompt = load_prompt(RECOVER).render(note=note, wanted=wanted, language=recipe.language_name)
    judge = recipe.models.judge.panel[0]
    schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(wanted, TEXT), required=False))
    try:
        values = await ask_structured(
            model,
            prompt=prompt,
            reply=schema,
            convert=lambda reply: reply,
            recipe=recipe,
            model_name=judge,
        )
    except ItemFailed as failed:
        return [_vote(fact, document, judge, {"error": failed.message}) for fact in facts]
    found = (values.get(number) for number in wanted)
    return [
        _vote(fact, document, judge, {} if value is None else {"answer": value})
        for fact, value in zip(facts, found, strict=True)
    ]


def _vote(fact: Fact, document: SourceDocument, judge: str, reading: dict[str, str]) -> GateRecord:
    vote = GateRecord(
        gate=FACT_IN_DOCUMENT,
        item_id=document.document_id,
        draft=0,
        refinement=0,
        vote=0,
        judge=judge,
        text=fact.phrase.replace("{x}", fact.subject),
        target={"answer": fact.value, "kind": fact.kind},
        reading=reading,
        accepted=False,
    )
    return vote.model_copy(update={"accepted": bool(was_right(vote))})


def _rows(documents: CodeDocuments) -> list[Row]:
    return [{"role": one.role, "title": one.title, "text": one.text} for one in documents.documents]


CODE_DOCUMENTS = Stage(
    name="code_documents",
    record=CodeDocuments,
    make=write_notes,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_DECISIONS),
    prompts=(TeamWorld.tell_prompt, TeamWorld.phrase_prompt, RECOVER),
    description=AssetDescription(
        group="questions",
        description="The team's notes: reviews, tickets, threads, commit messages, meetings and mails, signed and dated. Each "
        "tells several decisions or results of calls; a reader finds every one again in the final text.",
        rows=_rows,
        paper="MemGym",
    ),
)
