"""A configuration of the paper's code, read as the fields of a recipe."""

from collections.abc import Mapping
from typing import Any, cast

from assets.recipe.recipe import RecipeError
from assets.text.languages import LANGUAGES

# Fields of a configuration, and ours. Forks have other names for some.
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
    "min_state_variants": "min_variants_per_question",
    "min_variants_per_question": "min_variants_per_question",
    "num_rounds_init": "num_rounds_initial",
    "num_rounds_initial": "num_rounds_initial",
    "num_rounds_update": "num_rounds_update",
    "start_date": "start_date",
    "seed": "seed",
    "random_seed": "seed",
    "lang": "language",
    "prompt_lang": "language",
    "language": "language",
    "exclude_ids": "exclude_ids",
}
MODEL_NAMES = {
    "llm_config_high_temp": "creative_temperature",
    "llm_config_low_temp": "temperature",
    "llm_config": "temperature",
}
# Of a model: where it is asked, with which key, and under which name its tokens are counted. None of them is of a recipe.
NOT_OF_A_RECIPE = frozenset({"base_url", "api_key", "source"})
LANGUAGE_CODES = {name.casefold(): code for code, name in LANGUAGES.items()} | {"chinese": "zh"}


def read_configuration(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe's fields. Raises RecipeError for what a recipe has no field for, as its rows would be others."""
    fields: dict[str, Any] = {}
    writer: dict[str, Any] = {}
    unknown: list[str] = []
    for key, value in content.items():
        ours = REFERENCE_NAMES.get(key)
        if key in MODEL_NAMES and isinstance(value, dict):
            model = cast(dict[str, Any], value)
            unknown += [f"{key}.{name}" for name in _read_model(model, writer, temperature=MODEL_NAMES[key])]
        elif ours is None:
            unknown.append(key)
        else:
            plain = LANGUAGE_CODES.get(str(value).casefold(), value) if ours == "language" else value
            if fields.setdefault(ours, plain) != plain:
                raise RecipeError(
                    f"{key} is {value!r}, but another field of the configuration says {fields[ours]!r} of the same."
                )
    if unknown:
        raise RecipeError(
            f"A recipe has nothing for these fields of the configuration: {', '.join(unknown)}. Take out those that change no "
            "row; a benchmark that needs the others cannot be made here."
        )
    if writer:
        fields["models"] = {"writer": writer}
    return fields


def _read_model(model: Mapping[str, Any], writer: dict[str, Any], *, temperature: str) -> list[str]:
    """Put a model's settings into those of the writer. Return the names of settings that it does not have."""
    names = {"llm_model": "model", "model": "model", "temperature": temperature, "max_tokens": "max_output_tokens"}
    for name, value in model.items():
        ours = names.get(name)
        if ours and writer.setdefault(ours, value) != value:
            raise RecipeError(f"The configuration has two models that differ in {name}; a recipe has one writer.")
    return [name for name in model if name not in names and name not in NOT_OF_A_RECIPE]
