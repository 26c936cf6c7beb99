"""Stage `code_questions`: one question that the notes answer, and neither the question nor the code shown with it."""

from collections.abc import Sequence
from datetime import date

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import CODE_DECISIONS
from assets.code_qa.documents import CODE_DOCUMENTS
from assets.code_qa.packages.symbols import function_in
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions, CodeQuestion
from assets.code_qa.records.sources import CodeSources, CodeSymbol
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.calls import TeamCode, keep_tellable, patches_of
from assets.code_qa.team.relations import EDIT, EXECUTED, OUTCOME, WRONG_RESULT
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ, ReadingSizes, condition_with
from assets.memory_items.chains import planned_chain
from assets.memory_items.documents import ItemDocument
from assets.memory_items.facts import Fact
from assets.memory_items.questions import CHECK, MOST_NEAR_MISSES, TaskChain, ask_chain, chain_question_rows
from assets.memory_items.tasks import TaskDocuments
from assets.recipe.code_qa import CodeQaRecipe
from assets.records.answers import TypedAnswer, normalize_answer
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription
from assets.text.words import count_tokens

WORD = "code_questions/word"
READING = ReadingSizes(hop=650, task=500, shown=850)
# Told before every question.
OUTCOME_RULE = "What a call gives is the value that it returns, or the name of the error that it raises."
INTRODUCTION = (
    "Where notes disagree, the latest date counts; what is only proposed counts for nothing. Functions go by the names that "
    f"notes give them. {OUTCOME_RULE} Since when something is so: the date of what counts. "
    "A day without a year is of the year of its note; an answer has the year."
)


async def ask_code_question(
    sources: CodeSources,
    behaviours: CodeBehaviours,
    decisions: CodeDecisions,
    documents: TaskDocuments,
    *,
    recipe: CodeQaRecipe,
    model: LanguageModel,
) -> CodeQuestion:
    """Word the question; judges must read its steps back. Raises ItemFailed where it has no answer, or several."""
    hops = planned_chain(decisions.chain, documents.facts)
    if sources.operation == "still_so":
        hops = with_first_said(hops, documents.facts)
    operations = tuple(dict.fromkeys(recipe.operations_of(len(hops))))
    chain = TaskChain(sources.task_id, hops, documents.facts, documents.documents, sources.operation, operations)
    chain.expect_one_answer()
    code = shown_code(sources, behaviours, decisions, most=recipe.max_code_tokens)
    conditions = [condition_with("question alone", (), "wrong"), condition_with("question and code", code, "wrong")]
    if len(hops) > 1:
        conditions.append(chain.last_hop_alone())
    asked = await ask_chain(
        chain,
        _with_mutants(chain.typed_answer(seed=recipe.world_seed), hops[-1], behaviours),
        stage="code_questions",
        introduction=INTRODUCTION,
        conditions=conditions,
        recipe=recipe,
        model=model,
    )
    return CodeQuestion.model_validate({**dict(asked), "code": code})


def with_first_said(hops: Sequence[Fact], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts, followed by the one that says otherwise where that was said first: the question is about the first.

    A day would name the note for who does not know what it is about. Raises ItemFailed where not one document says otherwise.
    """
    other = other_fact(hops[-1], facts)
    said_first = min(hops[-1], other, key=lambda fact: fact.as_of or date.min)
    return [*hops, other] if said_first is other else list(hops)


def other_fact(counts: Fact, facts: Sequence[Fact]) -> Fact:
    """Return the one fact that says otherwise. Raises ItemFailed where there is none, or there are several."""
    about = [fact for fact in facts if (fact.subject, fact.relation) == (counts.subject, counts.relation)]
    others = [fact for fact in about if fact.value != counts.value]
    if len(others) != 1:
        raise ItemFailed("ambiguous", f"Documents say {len(others)} other things of {counts.subject}, and not one.")
    return others[0]


def _with_mutants(answer: TypedAnswer, last: Fact, behaviours: CodeBehaviours) -> TypedAnswer:
    """Put what the function gives otherwise before other near misses, where the answer was executed."""
    known = {normalize_answer(answer.kind, answer.value)}
    rivals: list[str] = []
    for text in [*_executed_rivals(last, behaviours), *answer.near_misses]:
        spelling = normalize_answer(answer.kind, text)
        if spelling not in known:
            known.add(spelling)
            rivals.append(text)
    return answer.model_copy(update={"near_misses": tuple(rivals[:MOST_NEAR_MISSES])})


def _executed_rivals(last: Fact, behaviours: CodeBehaviours) -> list[str]:
    """Return what the call comes to with and without changes of its function, or the changes; nothing for a decision."""
    patch = patches_of(keep_tellable(behaviours.behaviours)).get(last.subject)
    for behaviour in behaviours.behaviours:
        results = [near.result.text for near in behaviour.near_misses]
        if last.relation == OUTCOME and behaviour.call == last.subject:
            return results
        if patch is not None and behaviour == patch.behaviour:
            if last.relation == EDIT:
                return [near.change for near in behaviour.near_misses]
            if last.relation == WRONG_RESULT:
                return [behaviour.result.text, *results]
    return []


def shown_code(
    sources: CodeSources, behaviours: CodeBehaviours, decisions: CodeDecisions, *, most: int
) -> tuple[ItemDocument, ...]:
    """Return source of the functions that the chain or its rivals are about, an equal share of each, in order of names.

    The heads alone where something that was executed is to be remembered: a body would give it.
    """
    shown = _symbols_of_relations(sources, behaviours, decisions) or [sources.symbol(sources.targets[0])]
    is_executed = any(hop.relation in EXECUTED for hop in decisions.chain)
    documents: list[ItemDocument] = []
    for symbol in shown:
        source = head_of(symbol, sources) if is_executed and symbol.kind == "function" else symbol.source
        if not source:
            continue
        document = ItemDocument(
            document_id=f"code-{symbol.symbol_id}",
            title=f"{symbol.path}, line {symbol.line}",
            text=_first_lines(source, most // len(shown)),
            role="code",
            source=f"{sources.package.name} {sources.package.version}",
            license=sources.package.license,
        )
        documents.append(document)
    return tuple(documents)


def _symbols_of_relations(sources: CodeSources, behaviours: CodeBehaviours, decisions: CodeDecisions) -> list[CodeSymbol]:
    """Return the functions of all statements of the chain's relations: none of them tells what the chain is about."""
    relations = {hop.relation for hop in decisions.chain}
    code = TeamCode.of(sources, behaviours.behaviours)
    named: set[str] = set()
    for plan in decisions.plans:
        for statement in plan.statements:
            if statement.relation not in relations:
                continue
            named.update((code.function_of(statement.subject), code.function_of(statement.value)))
    shown = [code.functions[name] for name in named if name]
    return sorted(shown, key=lambda symbol: symbol.symbol_id)


def head_of(symbol: CodeSymbol, sources: CodeSources) -> str:
    """Return the function's lines before its body, whose docstring may have examples; empty where both share a line."""
    file = next(candidate for candidate in sources.files if candidate.path == symbol.path)
    function = function_in(file, symbol.name)
    return "\n".join(symbol.source.split("\n")[: function.body[0].lineno - symbol.line])


def _first_lines(source: str, most: int) -> str:
    """Return the first lines that have so many tokens together, at least one."""
    kept: list[str] = []
    for line in source.splitlines():
        if kept and count_tokens("\n".join((*kept, line))) > most:
            break
        kept.append(line)
    return "\n".join(kept)


CODE_QUESTIONS = Stage(
    name="code_questions",
    record=CodeQuestion,
    make=ask_code_question,
    version=8,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_DECISIONS, CODE_DOCUMENTS),
    prompts=(WORD, CHECK, READ),
    calls={
        WORD: PromptCalls(reading=560, writing=30),
        CHECK: PromptCalls(2, reading=610, writing=30),
        READ: READING.short_readings(3),
    },
    description=AssetDescription(
        group="tasks",
        description="One question on behaviours, reasons or decisions that takes several facts, graded by program. Wrong "
        "answers beside it are what was agreed before, what holds of others, and what a changed function returns.",
        rows=chain_question_rows,
        paper="MemGym",
    ),
)
