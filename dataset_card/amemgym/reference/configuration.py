"""A configuration of the paper's code, read as the fields of a recipe."""

from typing import Any, cast

from assets.text.languages import LANGUAGES

# Fields of a configuration, and ours.
REFERENCE_NAMES = {
    "num_user_profiles": "num_users",
    "num_users": "num_users",
    "num_questions": "num_questions",
    "num_periods": "num_periods",
    "num_months_per_period": "num_months_per_period",
    "num_states_per_question": "num_states_per_question",
    "num_choices_per_state": "num_choices_per_state",
    "num_changes_per_period": "num_changes_per_period",
    "max_changes_per_state": "max_changes_per_state",
    "min_variants_per_question": "min_variants_per_question",
    "num_rounds_initial": "num_rounds_initial",
    "num_rounds_update": "num_rounds_update",
    "start_date": "start_date",
    "seed": "seed",
    "random_seed": "seed",
    "prompt_lang": "language",
    "language": "language",
    "exclude_ids": "exclude_ids",
}
MODEL_NAMES = {
    "llm_config_high_temp": "creative_temperature",
    "llm_config_low_temp": "temperature",
    "llm_config": "temperature",
}
LANGUAGE_CODES = {name.casefold(): code for code, name in LANGUAGES.items()} | {"chinese": "zh"}


def read_configuration(content: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a recipe's fields, and the names of the configuration's fields that a recipe does not have."""
    fields: dict[str, Any] = {}
    writer: dict[str, Any] = {}
    unknown: list[str] = []
    for key, value in content.items():
        if key in REFERENCE_NAMES:
            plain = LANGUAGE_CODES.get(str(value).casefold(), value) if key in ("prompt_lang", "language") else value
            fields[REFERENCE_NAMES[key]] = plain
        elif key in MODEL_NAMES and isinstance(value, dict):
            spec = cast(dict[str, Any], value)
            writer["model"] = spec.get("llm_model") or spec.get("model") or writer.get("model", "gpt-4.1")
            if "temperature" in spec:
                writer[MODEL_NAMES[key]] = spec["temperature"]
        else:
            unknown.append(key)
    if writer:
        fields["models"] = {"writer": writer}
    return fields, unknown
