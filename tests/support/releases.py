"""The content of a small release, for this folder's tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from assets.amemgym.records.report import (
    GateErrorRate,
    QualityReport,
    ShortcutLine,
    ShortcutVerdict,
    Spread,
    StateMovement,
)
from assets.records.estimate import Estimate
from assets.records.report import GateLine, RuleLine
from dataset_card.amemgym.release import AMEMGYM_RELEASE
from dataset_card.release.content import ReleaseContent
from dataset_card.release.digests import file_sha256
from dataset_card.release.manifest import CARD, MANIFEST, Manifest, ManifestBody, ManifestUsage, read_manifest
from dataset_card.release.verify import logical_digest
from dataset_card.release_store.folder import write_release
from tests.support import gate_votes, scenario


def content(**changes: Any) -> ReleaseContent:
    """Two users, votes of the first, one replaced user."""
    first, second = scenario.episode(), scenario.episode("5f0c-ada-003")
    fields: dict[str, Any] = {
        "form": AMEMGYM_RELEASE,
        "recipe": scenario.recipe(num_users=2),
        "items": [first, second],
        "generator": "amemgym-synth 0.1.0",
        "prompts": {"questions/draft": "b" * 12, "answers/write": "a" * 12},
        "gate_records": [(first.user_id, gate_votes.gate_records())],
        "failures": [gate_votes.failure()],
        "usage": ManifestUsage(calls=12, input_tokens=3456, output_tokens=789),
    }
    return ReleaseContent(**{**fields, **changes})


def queried(sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(sql).fetchall()


def all_bytes(folder: Path) -> dict[str, bytes]:
    """Relative path to content, of every file."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sign(folder: Path, path: str, **changes: Any) -> None:
    """Make the manifest agree with what lies there now, as the one who spoils it would."""
    manifest = read_manifest(folder)
    changes |= {"bytes": (folder / path).stat().st_size, "sha256": file_sha256(folder / path)}
    files = [file.model_copy(update=changes) if file.path == path else file for file in manifest.files]
    body = ManifestBody.model_validate({**manifest.model_dump(include=set(ManifestBody.model_fields)), "files": files})
    (folder / MANIFEST).write_bytes(Manifest.of(body, version=manifest.version).to_bytes())


def read_rows(path: Path) -> list[dict[str, Any]]:
    parquet: Any = pq
    return parquet.read_table(path).to_pylist()


def spoil_table(folder: Path, path: str, rows: Sequence[dict[str, Any]], *, digest: str = "") -> None:
    """Write other rows into a table, and sign it. `digest`: that of the rows, which `verify` alone reads; "" to compute it.

    The files may be links of the disk to those of another copy, which stay as they are.
    """
    parquet: Any = pq
    arrow: Any = pa
    schema = parquet.read_schema(folder / path)
    (folder / path).unlink()
    parquet.write_table(arrow.Table.from_pylist(rows, schema=schema), folder / path)
    content = (folder / MANIFEST).read_bytes()
    (folder / MANIFEST).unlink()
    (folder / MANIFEST).write_bytes(content)
    sign(folder, path, rows=len(rows), logical_digest=digest or logical_digest(folder / path))


def readme(root: Path, **changes: Any) -> str:
    """The card of a release with this content."""
    return (write_release(content(**changes), root=root).folder / CARD).read_text(encoding="utf-8")


def report(**changes: Any) -> QualityReport:
    """A report with a line of everything that the card shows."""
    gate = {"items": 11, "readings": 22, "passed_at_once": 7, "passed_after_refining": 3, "passed_after_redrafting": 1}
    share = Estimate(value=0.05, low=0.01, high=0.125)
    fields: dict[str, Any] = {
        "variant": "demo",
        "users_wanted": 1,
        "counts": {"users": 1},
        "lengths": {"options": Spread(unit="options", least=2, mean=2, most=2)},
        "turns_per_user": 3.0,
        "golden_changes": 0.75,
        "replaced": {},
        "gates": [GateLine(gate="exposure", **gate)],
        "gate_errors": [
            GateErrorRate(gate="exposure", error="false_accept", kind="", decoys=40, errors=2, readings=44, share=share)
        ],
        "rules": [RuleLine(stage="episodes", rule="r", truth="Values | stay", blocking=True, users=1, violations=0)],
        "shortcuts": [
            _shortcut("longest", "taking the longest option", (0.6, None, None), verdict="crossed"),
            _shortcut("initial", "saying what was true at first", (0.5, 0.4, 0.625), verdict="unlimited"),
        ],
        "ceiling": Estimate(value=0.95, low=0.9, high=1.0),
        "movement": StateMovement(
            choice_shares=((0.5, 0.25, 0.25), (0.25, 0.5, 0.25)),
            choices_reached=0.6,
            evenness=0.5,
        ),
    }
    return QualityReport.model_validate({**fields, **changes})


def _shortcut(name: str, meaning: str, share: tuple[float | None, ...], *, verdict: ShortcutVerdict) -> ShortcutLine:
    value, low, high = share
    limit = 1.0 if verdict == "unlimited" else 0.45
    accuracy = Estimate(value=value, low=low, high=high)
    return ShortcutLine(
        shortcut=name, meaning=meaning, items=4, accuracy=accuracy, random=0.4, luck=0.5, limit=limit, verdict=verdict
    )
