"""Tool dialogues: their rules and their quality report."""

from assets.tool_dialogue.pipeline import TOOL_DIALOGUE
from validation.memory_items import ablation
from validation.memory_items.documents import DOCUMENT_RULES
from validation.memory_items.facts import fact_rules
from validation.memory_items.lengths import length_rules
from validation.memory_items.questions import question_rules
from validation.memory_items.report import document_report
from validation.memory_items.turns import turn_rules
from validation.report.validation import Validation, rules_by_stage
from validation.rules import Rule
from validation.tool_dialogue.worlds import companies_are_unchanged

SHARED: dict[str, tuple[Rule, ...]] = {
    "td_sessions": (*DOCUMENT_RULES, *fact_rules(sources="td_sessions")),
    "td_requests": question_rules(facts="td_sessions"),
    "td_lengths": (*turn_rules(questions="td_requests"), *length_rules(questions="td_requests")),
    "td_certificates": ablation.ablation_rules(lengths="td_lengths", questions="td_requests"),
    "td_instances": ablation.INSTANCE_RULES,
}

TOOL_DIALOGUE_VALIDATION = Validation(
    TOOL_DIALOGUE,
    rules_by_stage(TOOL_DIALOGUE, "validation.tool_dialogue", shared=SHARED),
    report=document_report("facts found in their sessions"),
    source_check=companies_are_unchanged,
)
