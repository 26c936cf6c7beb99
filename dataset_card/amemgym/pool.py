"""Where the personas of a release come from, and on which terms."""

import re

from assets.recipe.amemgym import PoolSpec
from assets.records.public_names import file_name

ON_THE_HUB = re.compile(r"(?:^|\s|datasets/)([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)")


def pool_terms(pool: PoolSpec) -> str:
    """Say in sentences where the personas come from and on which terms."""
    if not pool.paths:
        return "The personas are from the project's own pool of invented people, which is in the public domain (CC0 1.0)."
    names = ", ".join(f"`{file_name(path)}`" for path in pool.paths)
    source = f"{_plain(pool.attribution)} ({names})" if pool.attribution else names
    license_text = (
        f"Its license is {_plain(pool.license)}; keep to it and name the source when you share this data."
        if pool.license
        else "The recipe does not name the pool's license (`pool.license`): settle it before you share this data."
    )
    return f"The personas are from a pool of the maker's choice: {source}. {license_text}"


def source_datasets(pool: PoolSpec) -> list[str]:
    """Return the source as the Hub names it: a data set on it where the attribution names one, as OWNER/NAME."""
    if not pool.paths:
        return ["original"]
    named = ON_THE_HUB.search(pool.attribution)
    if named:
        return [named[1]]
    return ["extended|other"]


def _plain(text: str) -> str:
    """One line that a page shows as text."""
    return " ".join(text.split()).replace("<", "&lt;").rstrip(".")
