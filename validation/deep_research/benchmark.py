"""What must hold of deep research: its rules, and its quality report."""

from assets.deep_research.pipeline import DEEP_RESEARCH
from validation.benchmark import Validation
from validation.deep_research import instances, lengths, worlds
from validation.memory_items.ablation import ablation_rules
from validation.memory_items.documents import DOCUMENT_RULES
from validation.memory_items.facts import fact_rules
from validation.memory_items.questions import question_rules
from validation.memory_items.report import document_report
from validation.memory_items.turns import turn_rules
from validation.rules import Rule

RULES: dict[str, tuple[Rule, ...]] = {
    "dr_worlds": worlds.RULES,
    "dr_sources": DOCUMENT_RULES,
    "dr_facts": fact_rules(sources="dr_sources"),
    "dr_questions": question_rules(facts="dr_facts"),
    "dr_turns": turn_rules(questions="dr_questions"),
    "dr_lengths": lengths.RULES,
    "dr_ablation": ablation_rules(lengths="dr_lengths", questions="dr_questions"),
    "dr_instances": instances.RULES,
}


DEEP_RESEARCH_VALIDATION = Validation(DEEP_RESEARCH, RULES, report=document_report("ablation over all tasks"))
