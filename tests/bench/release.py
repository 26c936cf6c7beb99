"""`python -m tests.bench.release [USERS]`: time and peak memory of releasing many users, 1000 by default.

A generated `base` is copied under new user ids until there are enough; then a process of its own does what the release
asset does: it reads the snapshots back and writes the folder with data, card, figures and metadata. Where other programs
are busy too, the time on a core says more than the whole time.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from assets.amemgym.pipeline import STAGES
from assets.amemgym.records.user import UserRecord
from assets.engine.ports import SnapshotRef
from assets.engine.provenance import Provenance, ReportValue
from assets.engine.serialized_record import serialized_rows
from assets.recipe.loading import load_recipe
from dataset_card.amemgym.release import AMEMGYM_RELEASE
from dataset_card.release.rows import FinishedRows, gated_stages
from dataset_card.release_store.asset import release_content
from dataset_card.release_store.folder import write_release
from pipelines.home import Home
from pipelines.opening.models import open_run_context
from pipelines.resources.storage.file_store import LocalFiles
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.snapshots import ParquetSnapshots, load_ref
from tests.bench.runs import generate
from tests.support.commands import clean_environment

VARIANT, MANY = "base", "many"
USERS_PER_PART = 200
FINISHED = ("episodes", *gated_stages(AMEMGYM_RELEASE.benchmark))
STAGE_NAMES: tuple[str, ...] = tuple(stage.name for stage in STAGES if stage.name in FINISHED)


def refs(root: Path, unit: str) -> dict[str, dict[str, SnapshotRef]]:
    """The newest snapshots of a work unit, by stage and unit."""
    found: dict[str, dict[str, SnapshotRef]] = {}
    for stage in STAGES:
        home = root / stage.name / unit
        if stage.name in FINISHED and home.is_dir():
            ref = load_ref(LocalFiles(home), (home / "LATEST").read_text().strip()[:16])
            assert ref is not None
            found[stage.name] = {unit: ref}
    return found


def renamed(record: UserRecord, user_id: str) -> UserRecord:
    """The same records about somebody else."""
    return type(record).model_validate_json(record.model_dump_json().replace(record.user_id, user_id))


def multiply(root: Path, users: int) -> None:
    """Write snapshots of so many users, each one of `base` under another id."""
    store, there = ParquetSnapshots(root), refs(root, VARIANT)
    finished = [one.user_id for one in rows(store, there, "episodes")]
    for name in STAGE_NAMES:
        known = {one.user_id: one for one in rows(store, there, name)}
        writer = store.writer(name, unit=MANY)
        for first in range(0, users, USERS_PER_PART):
            places = range(first, min(first + USERS_PER_PART, users))
            originals = {place: known.get(finished[place % len(finished)]) for place in places}
            writer.add(
                name, serialized_rows((place, renamed(one, f"user-{place:05d}")) for place, one in originals.items() if one)
            )
        writer.finish([])


def rows(store: ParquetSnapshots, there: Mapping[str, Mapping[str, SnapshotRef]], name: str) -> list[Any]:
    """A stage's records, the carried ones among them."""
    stage = next(stage for stage in STAGES if stage.name == name)
    found = [store.read(units[VARIANT], name, record=stage.record) for units in there.values()]
    return [one for records in found for one in records.values()]


def release(place: Home) -> None:
    """Read the snapshots back and write the release, as the asset does."""
    began = time.monotonic()
    recipe = load_recipe(VARIANT, {})
    with open_run_context(place) as run_context:
        there = {name: units[MANY] for name, units in refs(place.root / "snapshots", MANY).items()}
        made_from = Provenance(recipe=recipe, snapshots={MANY: there})
        finished = FinishedRows(AMEMGYM_RELEASE.benchmark, run_context.snapshots, made_from)
        report = cast(ReportValue, open_asset_values(place).find("quality_report", VARIANT)).report
        written = write_release(release_content(AMEMGYM_RELEASE, recipe, finished=finished, report=report), root=place.releases)
    size = sum(file.bytes for file in written.manifest.files) / 1e6
    users, took = written.manifest.counts["users"], time.monotonic() - began
    print(f"released {users} users in {size:.0f} MB after {took:.1f} s, {time.process_time():.1f} s of them on a core")


def main() -> None:
    """Measure, print."""
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        place = Home(Path(folder))
        generate(place.root, VARIANT)
        multiply(place.root / "snapshots", users)
        began = time.monotonic()
        line = [sys.executable, "-m", "tests.bench.release", "--in", folder]
        process = subprocess.Popen(line, env=clean_environment())
        _, status, usage = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        print(f"whole process: {time.monotonic() - began:.1f} s, peak {usage.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in"]:
        release(Home(Path(sys.argv[2])))
    else:
        main()
