"""The content of a small release, for this folder's tests."""

from pathlib import Path
from typing import Any

import duckdb

from assets.amemgym.records.audit import GateErrorRate
from assets.amemgym.records.report import (
    CoverageLine,
    OptionPosition,
    QualityReport,
    ShortcutLine,
    Spread,
    StateMovement,
    Verdict,
)
from assets.records.estimate import Estimate
from assets.records.report import GateLine, RuleLine
from dataset_card.amemgym.release import AMEMGYM_RELEASE
from dataset_card.release.content import ReleaseContent
from dataset_card.release.manifest import CARD, ManifestUsage
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
            changes={"1": 3},
            returns=0.0,
            golden_changes=(0.75,),
        ),
        "positions": [
            OptionPosition(position=number, options=4, right=0.25 * number, right_length=9, other_length=8) for number in (1, 2)
        ],
        "coverage": [CoverageLine(column="sex", distance=0.25, by_chance=0.4, groups=())],
    }
    return QualityReport.model_validate({**fields, **changes})


def _shortcut(name: str, meaning: str, share: tuple[float | None, ...], *, verdict: Verdict) -> ShortcutLine:
    value, low, high = share
    limit = 1.0 if verdict == "unlimited" else 0.45
    accuracy = Estimate(value=value, low=low, high=high)
    return ShortcutLine(
        shortcut=name, meaning=meaning, items=4, accuracy=accuracy, random=0.4, luck=0.5, limit=limit, verdict=verdict
    )
