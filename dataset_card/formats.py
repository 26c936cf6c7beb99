"""The release formats of all benchmarks, and which of them a folder on the disk has."""

from pathlib import Path
from typing import cast

import yaml

from dataset_card.amemgym import AMEMGYM_RELEASE
from dataset_card.release.content import ReleaseFormat
from dataset_card.release.manifest import RECIPE, ManifestError

FORMATS: dict[str, ReleaseFormat] = {form.benchmark.name: form for form in (AMEMGYM_RELEASE,)}
# Recipes of the first releases name no benchmark.
DEFAULT = AMEMGYM_RELEASE.benchmark.name


def format_of(folder: Path) -> ReleaseFormat:
    """The format of a release, by its recipe. Raises ManifestError for a recipe that names no benchmark of ours, OSError."""
    recipe: object = yaml.safe_load((folder / RECIPE).read_text(encoding="utf-8"))
    name = str(cast(dict[str, object], recipe).get("benchmark", DEFAULT)) if isinstance(recipe, dict) else ""
    if name not in FORMATS:
        raise ManifestError(f"{RECIPE} is that of {name!r}; this version knows {', '.join(FORMATS)}.")
    return FORMATS[name]
