"""Stage `dr_questions`: one question for each task, which a chain of facts answers and nothing less does."""

from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel

from assets.deep_research.chains import found_chain, nested_phrase, path_problems, planned_chain
from assets.deep_research.facts import DR_FACTS
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import Fact, ResearchQuestion, SourceDocument, TaskFacts, TaskSources
from assets.deep_research.records.world import TaskWorld
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.worlds import DR_WORLDS
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.gate import Gate, GateAttempt, ReadingTask, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import NAME, ReplySchema, ask_structured, integer_between, list_of, object_of
from assets.llm.text import folded, spells
from assets.memory_items.ablation import READ, AblationCondition, ablate, expect_passed, given
from assets.memory_items.answers import TypedAnswer, normalized
from assets.memory_items.documents import ItemDocument
from assets.records.base import ItemFailed, Text
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt

WORD, CHECK = "dr_questions/word", "dr_questions/check"
# Part of every question whose documents may disagree.
RULE = "Where documents disagree, what is certified counts, then what is not called unconfirmed, and then the latest date."
MOST_NEAR_MISSES = 6
MOST_LAST_HOP_DOCUMENTS = 12
CHAINS_TRIED = 12  # of each number of hops, in real documents


class QuestionReply(BaseModel):
    """What the writer is asked for."""

    question: Text


async def ask_question(
    world: TaskWorld, sources: TaskSources, facts: TaskFacts, *, recipe: DeepResearchRecipe, model: LanguageModel
) -> ResearchQuestion:
    """Word the question; judges must read its steps back. Raises ItemFailed where no chain, or not one path, is there."""
    hops = _chain(world, sources, facts, recipe=recipe)
    problems = [*path_problems(hops, facts.facts), *_answer_elsewhere(hops, sources)]
    if problems:
        raise ItemFailed("ambiguous", f"The chain from {hops[0].subject!r} cannot be asked for: {'; '.join(problems[:3])}.")
    rng = SeededRandom(recipe.seed, world.task_id, "question")
    answer = _answer(hops, facts.facts, rng)
    attempt = await _worded(hops, facts.facts, answer, item_id=world.task_id, recipe=recipe, model=model)
    question = f"{attempt.text} {RULE}" if world.chain else attempt.text
    read = await ablate(
        question,
        answer,
        early_conditions(hops, sources.documents, facts.facts),
        policy=recipe.ablation,
        item_id=world.task_id,
        recipe=recipe,
        model=model,
    )
    expect_passed(read, before=attempt.records)
    return ResearchQuestion(
        task_id=world.task_id,
        hops=tuple(hops),
        start=hops[0].subject,
        question=question,
        answer=answer,
        gate_records=(*attempt.records, *read.gate_records),
    )


def early_conditions(
    hops: Sequence[Fact], documents: Sequence[SourceDocument], facts: Sequence[Fact]
) -> list[AblationCondition]:
    """The question alone, and the last hop alone: its document beside those that say the same of other subjects."""
    last, earlier = hops[-1], {fact.document_id for fact in hops[:-1]}
    rivals = [fact.document_id for fact in facts if fact.relation == last.relation and fact.document_id not in earlier]
    shown = set(list(dict.fromkeys([last.document_id, *rivals]))[:MOST_LAST_HOP_DOCUMENTS])
    return [
        given("question alone", (), "wrong"),
        given("last hop alone", [as_item_document(one) for one in documents if one.document_id in shown], "wrong"),
    ]


def as_item_document(document: SourceDocument, *, role: str = "", facts: Sequence[str] = ()) -> ItemDocument:
    """The document as it enters a task; `role` is another than its own."""
    fields = document.model_dump(exclude={"statements"})
    return ItemDocument.model_validate({**fields, "role": role or document.role, "facts": tuple(facts)})


def _chain(world: TaskWorld, sources: TaskSources, facts: TaskFacts, *, recipe: DeepResearchRecipe) -> list[Fact]:
    """The planned chain; of real documents the first one found whose answer stands nowhere else, else the first one."""
    if world.chain:
        try:
            return planned_chain(world.chain, facts.facts)
        except LookupError as error:
            raise ItemFailed("rule_violated", f"The chain is not told: {error.args[0]}.") from error
    tries = [(hops, again) for hops in range(world.hops, recipe.min_hops - 1, -1) for again in range(CHAINS_TRIED)]
    found = (
        found_chain(facts.facts, hops, rng=SeededRandom(recipe.seed, world.task_id, "chain", hops, again))
        for hops, again in tries
    )
    first: list[Fact] | None = None
    for chain in found:
        if chain is not None and not _answer_elsewhere(chain, sources):
            return chain
        first = first or chain
    if first is not None:
        return first
    raise ItemFailed(
        "rule_violated", f"{len(facts.facts)} facts of these sections hold no chain of {recipe.min_hops} hops with one path."
    )


def _answer_elsewhere(hops: Sequence[Fact], sources: TaskSources) -> list[str]:
    """Documents beside that of the last hop that hold the answer; options are in many documents, and tell nothing alone."""
    last = hops[-1]
    if last.options:
        return []
    spelled = _spelled(last, sources.documents)
    return [
        f"{one.document_id} has the answer {spelled!r} too"
        for one in sources.documents
        if one.document_id != last.document_id and spells(one.text, spelled)
    ]


def _spelled(fact: Fact, documents: Sequence[SourceDocument]) -> str:
    """The value as its document spells it."""
    return next(one.text[fact.start : fact.end] for one in documents if one.document_id == fact.document_id)


def _answer(hops: Sequence[Fact], facts: Sequence[Fact], rng: SeededRandom) -> TypedAnswer:
    last = hops[-1]
    right = normalized(last.kind, last.value)
    rivals = {
        normalized(fact.kind, fact.value): fact.value
        for fact in facts
        if fact.relation == last.relation and normalized(fact.kind, fact.value) != right
    }
    return TypedAnswer(
        kind=last.kind,
        value=last.value,
        options=tuple(rng.shuffled(last.options)),
        near_misses=tuple(rivals[key] for key in sorted(rivals))[:MOST_NEAR_MISSES],
    )


async def _worded(
    hops: Sequence[Fact],
    facts: Sequence[Fact],
    answer: TypedAnswer,
    *,
    item_id: str,
    recipe: DeepResearchRecipe,
    model: LanguageModel,
) -> GateAttempt:
    """A wording out of which judges read the chain's steps, with their votes."""
    between = {fact.value for fact in hops} | {fact.subject for fact in hops[1:]}

    async def word(sample: int, reading: dict[str, str] | None = None) -> str:
        prompt = load_prompt(WORD).render(
            wanted=nested_phrase(hops), options=list(answer.options), reading=reading or {}, language=recipe.language_name
        )

        def convert(reply: QuestionReply) -> str:
            if hops[0].subject not in reply.question:
                raise ValueError(f"The question must have the name {hops[0].subject!r}.")
            told = sorted(name for name in between - {hops[0].subject, *answer.options} if spells(reply.question, name))
            if told:
                raise ValueError(f"The question tells {told[0]!r}, which is to be found out.")
            if missing := [option for option in answer.options if not spells(reply.question, option)]:
                raise ValueError(f"The question lacks the option {missing[0]!r}.")
            return reply.question

        return await ask_structured(model, prompt=prompt, reply=QuestionReply, convert=convert, recipe=recipe, sample=sample)

    async def refine(_: str, reading: dict[str, str], sample: int) -> str:
        return await word(sample + 1, reading)

    target = {"name": folded(hops[0].subject), **{str(number): fact.phrase for number, fact in enumerate(hops, start=1)}}
    phrases = sorted({fact.phrase for fact in facts})
    gate = Gate("chain", target, None, refine, word)
    attempt = GateAttempt(item_id, await word(0))
    await pass_gates([[(gate, attempt)]], partial(_read_steps, phrases, recipe=recipe, model=model), size=1, recipe=recipe)
    return attempt


async def _read_steps(
    phrases: Sequence[str], tasks: Sequence[ReadingTask[None]], *, recipe: DeepResearchRecipe, model: LanguageModel
) -> list[dict[str, str]]:
    """The steps that a judge reads out of each question, from a list in another order each time."""
    shown = {
        str(number): SeededRandom(recipe.seed, task.item_id, "steps", task.vote.number).shuffled(phrases)
        for number, task in enumerate(tasks, start=1)
    }
    cases = {
        number: {"question": task.text, "steps": {str(place): phrase for place, phrase in enumerate(shown[number], start=1)}}
        for number, task in zip(shown, tasks, strict=True)
    }
    steps = list_of(integer_between(1, len(phrases)), min_items=0)
    schema: ReplySchema[dict[str, dict[str, object]]] = ReplySchema(
        object_of({number: object_of({"name": NAME, "steps": steps}) for number in cases})
    )
    reply = await ask_structured(
        model,
        prompt=load_prompt(CHECK).render(cases=cases),
        reply=schema,
        convert=lambda reply: reply,
        recipe=recipe,
        sample=tasks[0].vote.number,
        model_name=tasks[0].vote.judge,
    )
    return [_reading(reply[number], shown[number]) for number in cases]


def _reading(read: dict[str, object], phrases: Sequence[str]) -> dict[str, str]:
    steps = read["steps"]
    assert isinstance(steps, list)
    if not steps:
        return {}
    named = {str(number): phrases[int(str(step)) - 1] for number, step in enumerate(steps, start=1)}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return {"name": folded(str(read["name"])), **named}


def _rows(question: ResearchQuestion) -> list[Row]:
    steps = " -> ".join([question.start, *(hop.value for hop in question.hops)])
    return [{"question": question.question, "answer": question.answer.value, "chain": steps}]


DR_QUESTIONS = Stage(
    name="dr_questions",
    record=ResearchQuestion,
    make=ask_question,
    needs=(DR_WORLDS, DR_SOURCES, DR_FACTS),
    prompts=(WORD, CHECK, READ),
    description=AssetDescription(
        group="questions",
        description="One question for each task, with a typed answer that a chain of facts leads to. There is one path only; "
        "judges read the steps back; neither the question alone nor the last hop alone may give the answer.",
        rows=_rows,
        paper="MemGym",
    ),
)
