"""Stage `code_questions`: one question that the notes answer, and neither the question nor the code shown with it."""

from collections.abc import Iterator

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import CODE_DECISIONS
from assets.code_qa.documents import CODE_DOCUMENTS
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions, CodeDocuments, CodeQuestion
from assets.code_qa.records.sources import CodeSources, CodeSymbol
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.relations import OUTCOME
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.text import count_tokens
from assets.memory_items.ablation import READ, ablate, expect_passed, given
from assets.memory_items.answers import TypedAnswer, normalized
from assets.memory_items.chains import path_problems, planned_chain
from assets.memory_items.documents import ItemDocument
from assets.memory_items.facts import Fact
from assets.memory_items.questions import (
    MOST_NEAR_MISSES,
    QuestionPrompts,
    answer_elsewhere,
    last_hop_alone,
    typed_answer,
    worded,
)
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription, Row

PROMPTS = QuestionPrompts(word="code_questions/word", check="code_questions/check")
# Part of every question: notes may disagree.
RULE = "Where notes disagree, what was signed off counts, then what is more than a proposal, and then the latest date."
OUTCOME_RULE = "The outcome of a call is the value that it returns, or the name of the error that it raises."


async def ask_question(
    sources: CodeSources,
    behaviours: CodeBehaviours,
    decisions: CodeDecisions,
    documents: CodeDocuments,
    *,
    recipe: CodeQaRecipe,
    model: LanguageModel,
) -> CodeQuestion:
    """Word the question; judges must read its steps back. Raises ItemFailed where it has no answer, or several."""
    hops = _chain(decisions, documents)
    problems = [*path_problems(hops, documents.facts), *answer_elsewhere(hops, documents.documents)]
    if problems:
        raise ItemFailed("ambiguous", f"The chain from {hops[0].subject!r} cannot be asked for: {'; '.join(problems[:3])}.")
    rng = SeededRandom(recipe.seed, sources.task_id, "question")
    answer = _with_mutants(typed_answer(hops, documents.facts, rng), hops[-1], behaviours)
    phrases = sorted({fact.phrase for fact in documents.facts})
    attempt = await worded(hops, phrases, answer, PROMPTS, item_id=sources.task_id, recipe=recipe, model=model)
    rules = (OUTCOME_RULE, RULE) if hops[-1].relation == OUTCOME else (RULE,)
    question = " ".join((attempt.text, *rules))
    code = shown_code(sources, decisions, most=recipe.max_code_tokens)
    conditions = [given("question alone", (), "wrong"), given("question and code", code, "wrong")]
    if len(hops) > 1:
        conditions.append(last_hop_alone(hops, documents.documents, documents.facts))
    read = await ablate(
        question, answer, conditions, policy=recipe.ablation, item_id=sources.task_id, recipe=recipe, model=model
    )
    expect_passed(read, before=attempt.records)
    return CodeQuestion(
        task_id=sources.task_id,
        hops=tuple(hops),
        start=hops[0].subject,
        question=question,
        answer=answer,
        gate_records=(*attempt.records, *read.gate_records),
        code=code,
    )


def _chain(decisions: CodeDecisions, documents: CodeDocuments) -> list[Fact]:
    try:
        return planned_chain(decisions.chain, documents.facts)
    except LookupError as error:
        raise ItemFailed("rule_violated", f"The chain is not told: {error.args[0]}.") from error


def _with_mutants(answer: TypedAnswer, last: Fact, behaviours: CodeBehaviours) -> TypedAnswer:
    """With what changed functions return as the first near misses, where the answer is what a call returns."""
    if last.relation != OUTCOME:
        return answer
    called = next(one for one in behaviours.behaviours if one.call == last.subject)
    known = {normalized(answer.kind, answer.value)}
    rivals: list[str] = []
    for text in (*(one.result.text for one in called.near_misses), *answer.near_misses):
        if normalized(answer.kind, text) not in known:
            known.add(normalized(answer.kind, text))
            rivals.append(text)
    return answer.model_copy(update={"near_misses": tuple(rivals[:MOST_NEAR_MISSES])})


def shown_code(sources: CodeSources, decisions: CodeDecisions, *, most: int) -> tuple[ItemDocument, ...]:
    """Source of the functions that the chain or its rivals are about, the same share of each, in order of their names."""
    shown = list(_symbols(sources, decisions)) or [sources.symbol(one) for one in sources.targets[:1]]
    each = most // len(shown)
    package = f"{sources.package.name} {sources.package.version}"
    return tuple(
        ItemDocument(
            document_id=f"code-{one.symbol_id}",
            title=f"{one.path}, line {one.line}",
            text=_first_lines(one.source, each),
            role="code",
            source=package,
            license=sources.package.license,
        )
        for one in shown
    )


def _symbols(sources: CodeSources, decisions: CodeDecisions) -> Iterator[CodeSymbol]:
    """The functions of all statements of the chain's relations: which of them the chain is about cannot be told."""
    relations = {hop.relation for hop in decisions.chain}
    statements = [one for plan in decisions.plans for one in plan.statements if one.relation in relations]
    named = {text.partition("(")[0] for one in statements for text in (one.subject, one.value)}
    for symbol in sources.symbols:
        if symbol.symbol_id in named:
            yield symbol


def _first_lines(source: str, most: int) -> str:
    """The first lines that have so many tokens together, at least one."""
    kept: list[str] = []
    for line in source.splitlines():
        if kept and count_tokens("\n".join((*kept, line))) > most:
            break
        kept.append(line)
    return "\n".join(kept)


def _rows(question: CodeQuestion) -> list[Row]:
    steps = " -> ".join([question.start, *(hop.value for hop in question.hops)])
    near_misses = ", ".join(question.answer.near_misses)
    return [{"question": question.question, "answer": question.answer.value, "chain": steps, "near misses": near_misses}]


CODE_QUESTIONS = Stage(
    name="code_questions",
    record=CodeQuestion,
    make=ask_question,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_DECISIONS, CODE_DOCUMENTS),
    prompts=(PROMPTS.word, PROMPTS.check, READ),
    description=AssetDescription(
        group="questions",
        description="One question on one or several facts, with an answer graded by program. Wrong answers beside it are what "
        "was agreed before, what holds of others, and what the function returns when one place of it is changed.",
        rows=_rows,
        paper="MemGym",
    ),
)
