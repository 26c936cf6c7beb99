"""Results of studies with annotators, as they stand beside a variant's versions and, with errata, in a release."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from assets.records.annotation import StudyResult
from assets.records.erratum import SettledErratum
from dataset_card.errata.apply import ErrataError

STUDIES = "studies.json"
SETTLED = "errata.json"
RESULTS: TypeAdapter[tuple[StudyResult, ...]] = TypeAdapter(tuple[StudyResult, ...])
OUTCOMES: TypeAdapter[tuple[SettledErratum, ...]] = TypeAdapter(tuple[SettledErratum, ...])


def read_studies(path: Path) -> tuple[StudyResult, ...]:
    """The results of a file, none where there is no file. Raises ErrataError."""
    if not path.is_file():
        return ()
    try:
        return RESULTS.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        told = f"{path} cannot be read; write it anew with amemgym annotate settle, or take it away."
        raise ErrataError(told) from error


def told_errata(folder: Path) -> dict[str, str]:
    """What a release says of its errata, by item: outcome and reason. Raises OSError or ValidationError."""
    path = folder / SETTLED
    settled = OUTCOMES.validate_json(path.read_bytes()) if path.is_file() else ()
    return {
        f"erratum {one.erratum.place} of {one.erratum.user_id}": f"{one.outcome} ({one.erratum.action}): {one.erratum.reason}"
        for one in settled
    }


def studies_bytes(studies: Sequence[StudyResult]) -> bytes:
    """The content of such a file."""
    return RESULTS.dump_json(tuple(studies), indent=2) + b"\n"


def settled_bytes(errata: Iterable[SettledErratum]) -> bytes:
    """The errata of a release with their outcomes, as JSON."""
    return OUTCOMES.dump_json(tuple(errata), indent=2) + b"\n"
