"""Code questions: their rules and their quality report."""

from assets.code_qa.pipeline import CODE_QA
from validation.code_qa import decisions, questions
from validation.code_qa.sources import packages_are_unchanged
from validation.memory_items import ablation
from validation.memory_items.documents import DOCUMENT_RULES
from validation.memory_items.facts import fact_rules
from validation.memory_items.lengths import length_rules
from validation.memory_items.questions import question_rules
from validation.memory_items.report import document_report
from validation.memory_items.turns import turn_rules
from validation.report.validation import Validation, rules_by_stage
from validation.rules import Rule

SHARED: dict[str, tuple[Rule, ...]] = {
    "code_documents": (*DOCUMENT_RULES, *fact_rules(sources="code_documents"), *decisions.NOTE_RULES),
    "code_questions": question_rules(facts="code_documents"),
    "code_lengths": (*turn_rules(questions="code_questions"), *length_rules(questions="code_questions")),
    "code_ablation": ablation.ablation_rules(lengths="code_lengths", questions="code_questions"),
    "code_instances": (*ablation.INSTANCE_RULES, *questions.INSTANCE_RULES),
}
RULES = rules_by_stage(CODE_QA, "validation.code_qa", shared=SHARED)

CODE_QA_VALIDATION = Validation(
    CODE_QA,
    RULES,
    report=document_report("facts found in their notes, ablation over all questions"),
    source_check=packages_are_unchanged,
)
