"""The files of errata: that beside a variant's versions, and that inside a release."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from assets.records.erratum import Erratum, SettledErratum
from assets.records.limits import MOST_MANIFEST_BYTES, read_bounded
from assets.records.problems import requirement

ERRATA = "errata.yaml"
SETTLED = "errata.json"
LISTED: TypeAdapter[tuple[Erratum, ...]] = TypeAdapter(tuple[Erratum, ...])
OUTCOMES: TypeAdapter[tuple[SettledErratum, ...]] = TypeAdapter(tuple[SettledErratum, ...])


class ErrataError(ValueError):
    """A file of errata that cannot be used; the message is one sentence."""


def read_errata(path: Path) -> tuple[Erratum, ...]:
    """Read the errata of a file, none where there is no file. Raises ErrataError naming the first that is wrong."""
    if not path.is_file():
        return ()
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8")) or []
        return LISTED.validate_python(content)
    except ValidationError as error:
        problem = error.errors()[0]
        # People count the items of a list from 1.
        parts = [str(part + 1) if isinstance(part, int) else part for part in problem["loc"]]
        location = f" at erratum {'.'.join(parts)}" if parts else ""
        raise ErrataError(f"{path} is wrong{location}: {requirement(problem).rstrip('.')}.") from error
    except RecursionError as error:
        raise ErrataError(f"{path} cannot be read: it is nested too deeply.") from error
    # A date such as 2020-13-01, and a text that is not UTF-8, are a ValueError.
    except (OSError, ValueError, yaml.YAMLError) as error:
        problem_text = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise ErrataError(f"{path} cannot be read: {problem_text}.") from error


def read_settled(folder: Path) -> tuple[SettledErratum, ...]:
    """Read the errata of a release, none where it has no such file. Raises ErrataError."""
    path = folder / SETTLED
    try:
        return OUTCOMES.validate_json(read_bounded(path, most=MOST_MANIFEST_BYTES)) if path.is_file() else ()
    except (OSError, ValueError) as error:
        raise ErrataError(f"{path} cannot be read as the errata of a release.") from error


def errata_by_item(folder: Path) -> dict[str, str]:
    """Return outcome and reason of a release's errata, by item. Raises ErrataError."""
    outcomes: dict[str, str] = {}
    for erratum in read_settled(folder):
        name = f"erratum {erratum.erratum.place} of {erratum.erratum.user_id}"
        outcomes[name] = f"{erratum.outcome} ({erratum.erratum.action}): {erratum.erratum.reason}"
    return outcomes


def settled_bytes(errata: Iterable[SettledErratum]) -> bytes:
    return OUTCOMES.dump_json(tuple(errata), indent=2) + b"\n"
