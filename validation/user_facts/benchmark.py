"""User facts: their rules and their quality report."""

from assets.user_facts.pipeline import USER_FACTS
from validation.report.validation import Validation, rules_by_stage
from validation.user_facts.report import USER_FACTS_REPORT

USER_FACTS_VALIDATION = Validation(USER_FACTS, rules_by_stage(USER_FACTS, "validation.user_facts"), report=USER_FACTS_REPORT)
