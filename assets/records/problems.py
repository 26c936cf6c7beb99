"""Words for what is wrong: what a value has to be, and the name that a wrong one most likely stands for."""

import difflib
from collections.abc import Iterable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

# What a value has to be, by how the type of pydantic's error begins.
KINDS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "date": "a date such as 2020-10-01",
    "finite_number": "a finite number",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "string_too_long": "a text of {max_length} characters at most",
    "tuple_type": "a list",
    "too_short": "a list of {min_length} or more",
    "too_long": "a list of {max_length} at most",
    "list_type": "a list",
    "dict_type": "a group of fields",
    "model_type": "a group of fields",
    "literal_error": "{expected}",
    "missing": "given",
    "extra_forbidden": "left out",
    "json_invalid": "valid JSON ({error})",
}


def requirement(problem: ErrorDetails) -> str:
    """Return what a value has to be, for the end of a sentence whose subject has the value: "has to be a whole number"."""
    bounds: dict[str, object] = {}
    for name, bound in problem.get("ctx", {}).items():
        bounds[name] = f"{bound:g}" if isinstance(bound, float) else bound
    for begin, words in KINDS.items():
        if problem["type"].startswith(begin):
            return f"has to be {words.format_map(bounds)}"
    # A validator of ours says it in such words itself.
    return problem["msg"].removeprefix("Value error, ").replace("Input should", "has to")


def first_problem(error: ValidationError, *, whole: str = "it") -> tuple[str, str]:
    """Return where a record's first violation is, `whole` where that is nowhere in it, and what has to be there instead."""
    problem = error.errors(include_input=False)[0]
    return ".".join(map(str, problem["loc"])) or whole, requirement(problem)


def describe_fault(error: ValidationError) -> str:
    """Return what is wrong in a file, for the end of a sentence about it: "is wrong at users: has to be a list"."""
    place, needed = first_problem(error, whole="")
    return f"is wrong at {place}: {needed}" if place else f"is wrong: {needed}"


def nearest_first(wrong: str, names: Iterable[str]) -> str:
    """Return the names there are, with commas between: first those spelled like the wrong one, then the others in order."""
    known = list(names)
    near = difflib.get_close_matches(wrong, known)
    return ", ".join([*near, *(name for name in known if name not in near)]) or "none"


def name_meant(wrong: str, names: Iterable[str]) -> str:
    """Return a sentence on the name that a wrong one most likely stands for, " " before it; "" where none is near."""
    by_small_letters = {known.lower(): known for known in names}
    near = difflib.get_close_matches(wrong.lower(), by_small_letters, n=1)
    return f" Did you mean {by_small_letters[near[0]]!r}?" if near else ""
