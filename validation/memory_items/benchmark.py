"""What must hold of every benchmark of documents, whatever its world, its questions and its way to certify."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.memory_items.ablation import Certificate, certificate_problems
from assets.memory_items.final_ablation import certified_digest, required_conditions, uncertified_lengths
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskLengths, TaskQuestion, TaskTurns
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.recipe.recipe import RecipeError
from assets.records.base import ItemRecord
from assets.reporting.plurals import counted, is_or_are, plural
from validation.memory_items.documents import DOCUMENT_RULES, fact_rules
from validation.memory_items.lengths import length_rules, turn_rules
from validation.memory_items.questions import question_rules
from validation.memory_items.report import document_report
from validation.report.validation import Validation, rules_by_stage
from validation.rules import OneRowPerItem, Rule, SetRule

Rules = tuple[Rule, ...]


def certificates_stand_for_the_bytes(
    task: TaskAblation, lengths: TaskLengths, question: TaskQuestion, _: DocumentTaskRecipe
) -> Iterator[str]:
    certified: dict[int, Certificate] = {}
    for certificate in task.certificates:
        certified[certificate.target_tokens] = certificate
    for sized in lengths.lengths:
        if sized.target_tokens not in certified:
            yield f"{sized.target_tokens} tokens have no certificate"
            continue
        digest = certified_digest(question, sized)
        conditions = required_conditions(question)
        yield from certificate_problems(certified[sized.target_tokens], digest=digest, conditions=conditions)


def instances_are_certified(task: MemoryTask, _: DocumentTaskRecipe) -> Iterator[str]:
    yield from uncertified_lengths(task)


def ablation_rules(*, lengths: str, questions: str) -> tuple[Rule, ...]:
    """Return the rules of the stage that reads the final bytes. `lengths`, `questions`: those that fill and ask."""
    return (
        Rule(
            "certificates_hold",
            "Each length has a certificate of its final bytes, and every condition passed.",
            certificates_stand_for_the_bytes,
            reads=(lengths, questions),
        ),
    )


INSTANCE_RULES = (
    Rule(
        "instances_are_certified", "A released task has the bytes that its certificates were made on.", instances_are_certified
    ),
    SetRule("one_row_each", "No task is there twice.", OneRowPerItem),
)


def document_validation(
    benchmark: Benchmark, package: str = "", *, read: str, own: Mapping[str, Rules] | None = None, source_check: Any = None
) -> Validation:
    """Return the rules of each stage by what it makes, then the `own` ones of a benchmark, then those of its module.

    `package`, and the names in `own`: as `rules_by_stage` takes them. `read`: what readers did, for the quality report.
    """
    documents = _stage_with(benchmark, "filler")
    facts = _stage_with(benchmark, "facts")
    questions = _stage_of(benchmark, TaskQuestion)
    lengths = _stage_of(benchmark, TaskLengths)
    shared: dict[str, Rules] = {documents: DOCUMENT_RULES}
    shared[facts] = (*shared.get(facts, ()), *fact_rules(sources=documents))
    shared[questions] = question_rules(facts=facts)
    # Turns may have a stage of their own. What a memory receives is checked again at each length, on its final bytes.
    shared.update(
        (stage.name.removeprefix(benchmark.prefix), turn_rules(questions=questions))
        for stage in benchmark.stages
        if stage.record is TaskTurns
    )
    shared[lengths] = (*turn_rules(questions=questions), *length_rules(questions=questions))
    shared[_stage_of(benchmark, TaskAblation)] = ablation_rules(lengths=lengths, questions=questions)
    shared[benchmark.final.name.removeprefix(benchmark.prefix)] = INSTANCE_RULES
    for name, rules in (own or {}).items():
        shared[name] = (*shared.get(name, ()), *rules)
    return Validation(
        benchmark,
        rules_by_stage(benchmark, package, shared=shared),
        report=document_report(read),
        source_check=source_check,
    )


def source_check(benchmark: Benchmark, *, noun: str, read: Callable[[Any], int]) -> dg.AssetChecksDefinition:
    """Return the check that what a recipe's tasks are made from is as it was when the recipe was resolved.

    `read`: reads it again for a recipe and returns how many there are. Raises RecipeError where one is not as it was.
    """

    @dg.asset_check(
        asset=benchmark.asset_key("recipe"),
        name=f"{plural(noun)}_are_unchanged",
        blocking=True,
        partitions_def=benchmark.partitions.by_variant,
        description=f"Every {noun} is as it was when the recipe was resolved.",
    )
    def sources_are_unchanged(recipe: Any) -> dg.AssetCheckResult:
        try:
            count = read(recipe)
        except RecipeError as error:
            return dg.AssetCheckResult(passed=False, description=str(error))
        sentence = f"{counted(count, noun)} {is_or_are(count)} as the recipe says."
        if count == 0:
            sentence = f"The recipe names no {plural(noun)} that could change."
        return dg.AssetCheckResult(passed=True, description=sentence, metadata={"count": count})

    return sources_are_unchanged


def expect_digest(found: str, resolved: str, *, noun: str) -> None:
    """Raise RecipeError where what was read is not what the recipe was resolved with."""
    if found != resolved:
        raise RecipeError(f"The {noun} have the digest {found[:16]}, and {resolved[:16]} when the recipe was resolved.")


def _stage_with(benchmark: Benchmark, field: str) -> str:
    """Return the name, without prefix, of the first stage whose records have this field."""
    stage = next(stage for stage in benchmark.stages if field in stage.record.model_fields)
    return stage.name.removeprefix(benchmark.prefix)


def _stage_of(benchmark: Benchmark, record: type[ItemRecord]) -> str:
    """Return the name, without prefix, of the stage that makes records of this kind."""
    stage = next(stage for stage in benchmark.stages if issubclass(stage.record, record))
    return stage.name.removeprefix(benchmark.prefix)
