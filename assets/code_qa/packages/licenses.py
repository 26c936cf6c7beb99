"""Licenses that let a package's code be given on, and the license that a package says of itself."""

import re
from email.message import Message

from assets.recipe.recipe import RecipeError

# SPDX identifiers of licenses that allow copies of parts, if the notice goes with them.
PERMISSIVE = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib")
)
JOINED = PERMISSIVE | {"AND", "OR", "(", ")"}
# What packages of before SPDX expressions say. Those that name a family of licenses alone are not here.
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}
WORDS = re.compile(r"[A-Za-z0-9.+-]+|[()]")


def license_of(metadata: Message, *, name: str, declared: str) -> str:
    """Return the package's license as SPDX expression; `declared`: the recipe's. Raises RecipeError unless it is permissive."""
    said = metadata.get("License-Expression") or _license_of_classifiers(metadata) or (metadata.get("License") or "").strip()
    known = said if said and is_expression(said) else ""
    if declared and known and declared != known:
        raise RecipeError(f"packages.license of {name} is {declared!r}, but the package says {known!r}; leave the field out.")
    expression = known or declared
    if not expression:
        raise RecipeError(
            f"The license of {name} is not known (the package says {said[:60]!r}); set packages.license to an SPDX expression."
        )
    if not is_permissive(expression):
        raise RecipeError(
            f"The license of {name}, {expression}, is none of {', '.join(sorted(PERMISSIVE))}; leave the package out."
        )
    return expression


def is_expression(text: str) -> bool:
    """Return True for a text of identifiers that are known or have a hyphen, and of what joins them."""
    return all(word in JOINED or "-" in word for word in WORDS.findall(text))


def is_permissive(expression: str) -> bool:
    """Return True where an SPDX expression leaves a choice of permissive licenses alone: one of each OR, all of each AND."""
    if "(" in expression:
        return JOINED.issuperset(WORDS.findall(expression))
    return any(PERMISSIVE.issuperset(map(str.strip, part.split(" AND "))) for part in expression.split(" OR "))


def _license_of_classifiers(metadata: Message) -> str:
    """Return the license of the package's classifiers, where they name one alone."""
    named: set[str] = set()
    for line in metadata.get_all("Classifier", []):
        if line.startswith("License :: OSI"):
            named.add(line.rpartition(" :: ")[2])
    return CLASSIFIERS.get(named.pop(), "") if len(named) == 1 else ""
