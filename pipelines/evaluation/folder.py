"""A run's folder: its manifest first, checkpoints while it lasts, tables and results at the end. Never changed afterwards."""

import os
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import AsyncFileLock, Timeout
from pydantic import ValidationError

from assets.records.base import Record
from assets.records.columnar import arrow_schema, from_table
from assets.records.json_text import parse_json
from assets.records.limits import MOST_ITEM_BYTES, read_bounded
from assets.records.paths import PathRefused, expect_file, path_inside
from assets.records.problems import describe_fault
from assets.reporting.plurals import counted
from assets.whole_files import name_aside
from dataset_card.release.writers import ParquetFileWriter, sync, write_durably
from pipelines.errors import EvaluationError
from pipelines.evaluation.metrics.fresh import FreshScore
from pipelines.evaluation.metrics.isolated_scores import MemoryRow
from pipelines.evaluation.metrics.latency import Latency
from pipelines.evaluation.metrics.results import Results, memory_rows
from pipelines.evaluation.records import AnswerRow, DialogueTurn, EventRow, RunManifest
from pipelines.evaluation.spending import ItemUsage
from pipelines.home import Home
from pipelines.resources.storage.key_value import KeyValueStore

R = TypeVar("R", bound=Record)
V = TypeVar("V")
MANIFEST = "manifest.json"
RESULTS = "results.json"
DIGEST = re.compile(r"-[0-9a-f]{12}$")  # the end of a run's id
LATENCY = "latency.json"
FRESH = "fresh.json"
REPORT = "report.md"
PAGE = "report.html"
CODE = "code"  # folder of the memory's own code, where it is not ours
ALONE = "alone"  # folder of the runs whose answers are the same for every memory
VERIFICATION = "verification.json"
# Counts are kept by user and period: no run has far more of these than answers.
COUNTED_ANYWAY = 100_000
COUNTED_PER_ANSWER = 10
LOCK = "steps.sqlite.lock"  # beside the checkpoints, and removed with them


def runs_folder(home: Home) -> Path:
    """Return the folder of all runs, each in a folder named after its id."""
    return home.root / "runs"


class RunFolder:
    """The folder `<runs>/<run id>/` and its checkpoints."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._steps = KeyValueStore(path / "steps.sqlite", table="steps", checked=True)

    @property
    def finished(self) -> bool:
        """True when the results are there, of all items; they are written last."""
        try:
            return not parse_json(read_bounded(self.path / RESULTS, most=MOST_ITEM_BYTES)).get("errors")
        except (OSError, ValueError, AttributeError):
            return False

    @property
    def made_at(self) -> datetime:
        """The time when the results were written, in UTC; a run that is shown again says so."""
        return datetime.fromtimestamp((self.path / RESULTS).stat().st_mtime, UTC)

    def keep_trace(self, item_id: str, text: str) -> None:
        """Keep what ended an item, for whoever mends it."""
        self.path.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", item_id)
        self.write(f"error-{name}.txt", text.rstrip() + "\n")

    @asynccontextmanager
    async def locked(self, notice: Callable[[str], None]) -> AsyncGenerator[None]:
        """Wait until no other process works on the run, and hold it; `notice` is told that somebody is waited for.

        Two at once would take different times for the same answers, and write over each other's files.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / LOCK
        lock = AsyncFileLock(path, fallback_to_soft=False)
        try:
            await lock.acquire(timeout=0)
        except Timeout:
            notice(f"{self.path.name} is being run by another process; waiting for it.")
            await lock.acquire()
        try:
            yield
        finally:
            if self.finished:
                path.unlink(missing_ok=True)
            await lock.release()

    def begin(self, manifest: Record) -> None:
        """Write the manifest; one that is there is the same, because its digest names the folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.write(MANIFEST, manifest.model_dump_json(indent=2) + "\n")

    def keep_code(self, files: Mapping[str, Path]) -> None:
        """Keep the memory's code as it is now, for whoever wants to know what was evaluated."""
        for name, path in files.items():
            place = self.path / CODE / name
            place.parent.mkdir(parents=True, exist_ok=True)
            write_durably(place, path.read_bytes())

    async def read_step(self, key: str, kind: type[R]) -> R | None:
        """Return a finished step of an earlier, interrupted try; None when it is still to do."""
        content = await self._steps.get(key)
        return None if content is None else kind.model_validate_json(content)

    async def write_step(self, key: str, record: Record) -> None:
        """Return when the step is on the disk."""
        await self._steps.put(key, record.model_dump_json().encode())

    def finish(self, run: "FinishedRun", *, events: Iterable[EventRow], report: str, page: str) -> None:
        """Write tables, reports and, last, the results. `events`: what was perceived."""
        # The results come last: once they are there, the checkpoints are removed, but for a run that left items out.
        write_table(self.path / "answers.parquet", run.answers, kind=AnswerRow)
        write_table(self.path / "turns.parquet", run.turns, kind=DialogueTurn)
        write_table(self.path / "events.parquet", list(events), kind=EventRow)
        write_table(self.path / "usage.parquet", run.usage, kind=ItemUsage)
        write_table(self.path / "memory.parquet", memory_rows(run.answers), kind=MemoryRow)
        self.write(REPORT, report)
        self.write(PAGE, page)
        self.write(LATENCY, run.latency.model_dump_json(indent=2) + "\n")
        self.write(RESULTS, run.results.model_dump_json(indent=2) + "\n")
        if not run.results.errors:
            self.drop_steps()

    def keep_fresh_score(self, fresh: FreshScore, *, report: str, page: str) -> None:
        """Write how the memory did on fresh users, with the reports that tell of it."""
        self.write(REPORT, report)
        self.write(PAGE, page)
        self.write(FRESH, fresh.model_dump_json(indent=2) + "\n")

    def drop_steps(self) -> None:
        """Remove the checkpoints, which are not needed any more."""
        self.close()
        for path in (*self.path.glob("steps.sqlite*"), *self.path.glob("error-*.txt")):
            path.unlink()

    def close(self) -> None:
        """Close the database of the checkpoints, which stay on the disk."""
        self._steps.close()

    def write(self, name: str, text: str) -> None:
        """Write a text file, whole or not at all, and return when it is on the disk."""
        write_durably(self.path / name, text.encode())


class DamagedRun(EvaluationError):
    """Files of a finished run are damaged. `problems`: what is wrong with each, by its name."""

    remedy = "The same evaluate command makes the run again from stored replies, and keeps each damaged file beside it."

    def __init__(self, path: Path, problems: Mapping[str, str]) -> None:
        self.problems = problems
        self.problem = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        super().__init__(f"The run {path} is damaged, or was changed: {self.problem}. {self.remedy}")


@dataclass(frozen=True)
class FinishedRun:
    """All of a run, as its folder holds it.

    `problems`: sentences on why its scores cannot be believed, as it was verified; `unverified`: what was left open then.
    `fresh`: how its memory did on users that nobody has seen, where somebody tried that.
    """

    manifest: RunManifest
    answers: Sequence[AnswerRow]
    turns: Sequence[DialogueTurn]
    usage: Sequence[ItemUsage]
    results: Results
    latency: Latency
    fresh: FreshScore | None = None
    problems: Sequence[str] = ()
    unverified: Sequence[str] = ()

    @property
    def unfinished(self) -> str:
        """A sentence on items that could not be evaluated to the end; "" where all were."""
        errors = self.results.errors
        if not errors:
            return ""
        lost = counted(len(errors), self.manifest.noun)
        return f"{lost} could not be evaluated to the end, and their other questions count as wrong: {errors[0].sentence}"


def read_run(name: str, *, runs: Path) -> FinishedRun:
    """Return a finished run by its folder or id (its beginning is enough). Raises EvaluationError."""
    path = find_run(name, runs=runs)
    if not (path / RESULTS).exists():
        raise EvaluationError(f"The run {path.name} is not finished; give the same evaluate command again to go on with it.")
    return read_files_of_run(path)


def set_damage_aside(path: Path) -> str:
    """Rename a finished run's damaged files and its results, so that the run is unfinished. Return the damage; "" for none."""
    try:
        if (path / RESULTS).exists():
            check_files_of_run(path)
    except DamagedRun as damaged:
        for name in dict.fromkeys((*damaged.problems, RESULTS)):
            if os.path.lexists(path / name):
                (path / name).rename(name_aside(path / name))
        return damaged.problem
    return ""


def check_files_of_run(path: Path) -> None:
    """Raise DamagedRun, which names every file of a finished run that cannot be read."""
    readers: dict[str, Callable[[Path], object]] = {
        "run": read_files_of_run,
        "events": partial(read_table_of_run, name="events.parquet", kind=EventRow),
        "memory": partial(read_table_of_run, name="memory.parquet", kind=MemoryRow),
        "page": partial(read_file_of_run, name=PAGE, read=_expect_whole_page),
    }
    _read_each(path, readers)


def _expect_whole_page(page: Path) -> None:
    if not page.read_text(encoding="utf-8").rstrip().endswith("</html>"):
        raise ValueError("it was cut")


def read_files_of_run(path: Path) -> FinishedRun:
    """Return what the files of a finished run hold. Raises DamagedRun, which names every damaged one of these."""
    readers: dict[str, Callable[[Path], object]] = {
        "manifest": partial(read_record_of_run, name=MANIFEST, kind=RunManifest),
        "answers": partial(read_table_of_run, name="answers.parquet", kind=AnswerRow),
        "turns": partial(read_table_of_run, name="turns.parquet", kind=DialogueTurn),
        "usage": partial(read_table_of_run, name="usage.parquet", kind=ItemUsage),
        "results": partial(read_record_of_run, name=RESULTS, kind=Results),
        "latency": partial(read_record_of_run, name=LATENCY, kind=Latency),
    }
    if (path / FRESH).exists():
        readers["fresh"] = partial(read_record_of_run, name=FRESH, kind=FreshScore)
    run = FinishedRun(**_read_each(path, readers))
    periods = 1 + max((row.period for row in run.answers), default=0)
    if len(run.manifest.users) * periods > COUNTED_ANYWAY + COUNTED_PER_ANSWER * len(run.answers):
        size = f"{counted(len(run.manifest.users), run.manifest.noun)} and {counted(periods, 'period')}"
        raise DamagedRun(path, {"answers.parquet": f"has {counted(len(run.answers), 'answer')}, too few for {size}"})
    return run


def _read_each(path: Path, readers: Mapping[str, Callable[[Path], object]]) -> dict[str, Any]:
    """Return what each reader finds in the run's folder. Raises DamagedRun for all that are damaged together."""
    found = dict[str, Any]()
    problems = dict[str, str]()
    for name, read in readers.items():
        try:
            found[name] = read(path)
        except DamagedRun as damaged:
            problems |= damaged.problems
    if problems:
        raise DamagedRun(path, problems)
    return found


def read_file_of_run(folder: Path, name: str, read: Callable[[Path], V]) -> V:
    """Return what is read from a run's file. Raises EvaluationError, which says what is wrong with which file."""
    try:
        return read(expect_file(path_inside(folder, name)))
    except FileNotFoundError:
        problem = "is missing"
    except ValidationError as error:
        problem = describe_fault(error)
    except PathRefused:
        problem = "is a link that leads out of the run"
    except (OSError, TypeError, ValueError, pa.ArrowException) as error:
        # Arrow's texts have several lines.
        [words, *_] = (getattr(error, "strerror", None) or str(error)).splitlines()
        problem = f"cannot be read: {words.rstrip('.')}"
    raise DamagedRun(folder, {name: problem})


def read_record_of_run(folder: Path, name: str, kind: type[R]) -> R:
    """Return the record in a run's JSON file. Raises EvaluationError."""
    return read_file_of_run(folder, name, lambda file: kind.model_validate_json(read_bounded(file, most=MOST_ITEM_BYTES)))


def read_table_of_run(folder: Path, name: str, kind: type[R]) -> list[R]:
    """Return the rows of a run's table, whose columns are those of such rows. Raises EvaluationError."""
    read_file_of_run(folder, name, lambda file: _expect_columns(file, kind))
    return read_file_of_run(folder, name, lambda file: read_table(file, kind=kind))


def _expect_columns(file: Path, kind: type[Record]) -> None:
    """Raise ValueError for a column that is missing, of another type or not of such rows; one with a default may be missing."""
    found: Any = pq.ParquetFile(file).schema_arrow
    known: Any = arrow_schema(kind)
    needed = {name for name, field in kind.model_fields.items() if field.is_required()}
    for name in sorted(needed - set(found.names)):
        raise ValueError(f"it has no column {name!r}")
    for field in found:
        if field.name not in known.names:
            raise ValueError(f"it has a column {field.name!r}, which no run writes")
        wanted = known.field(field.name).type
        if field.type != wanted:
            raise ValueError(f"its column {field.name!r} holds {field.type}, and not {wanted}")


def run_folder_of(source: str, *, home: Home) -> Path | None:
    """Return the folder of the run of this folder or id (its beginning is enough); None for what names no run, or several.

    A variant with a release here names its release, though the ids of its runs begin with it too. The run may be unfinished.
    """
    # A release has a manifest too. What is unfinished has a lock.
    if any((Path(source) / name).exists() for name in ("answers.parquet", LOCK)):
        return Path(source)
    if not source or "/" in source or (home.releases / source).is_dir():
        return None
    found = _runs_named(source, runs_folder(home))
    return found[0] if len(found) == 1 else None


def _runs_named(name: str, runs: Path) -> list[Path]:
    """Return what names of finished runs, else of others: an evaluation that failed or was stopped is not offered first."""
    named = _find_named(name, _folders_with(RESULTS, runs)) or _find_named(name, _folders_with(MANIFEST, runs))
    return named or _find_named(name, _folders_with(MANIFEST, runs / ALONE))


def _folders_with(name: str, runs: Path) -> list[Path]:
    return sorted(path.parent for path in runs.glob(f"*/{name}"))


def _find_named(name: str, folders: Sequence[Path]) -> list[Path]:
    """Return what an id names, else an id without its digest, else the beginning of an id."""
    whole = [path for path in folders if path.name == name]
    without_digest = [path for path in folders if DIGEST.sub("", path.name) == name]
    return whole or without_digest or [path for path in folders if path.name.startswith(name)]


def alone_folder(path: Path, alone: str) -> Path:
    """Return the folder of the run `alone`, whose answers the run in the folder `path` has among its own."""
    return path.parent / ALONE / alone


def find_run(name: str, *, runs: Path) -> Path:
    """Return the folder of a run by its path or id (its beginning is enough). Raises EvaluationError."""
    if (Path(name) / MANIFEST).exists():
        return Path(name)
    matching = _runs_named(name, runs)
    if len(matching) == 1:
        return matching[0]
    raise EvaluationError(runs_there(name, runs))


def runs_there(name: str, runs: Path) -> str:
    """Return a sentence about a name of no run, or of several: which there are."""
    matching = _runs_named(name, runs)
    found = counted(len(matching), "run") if matching else "no run"
    known = ", ".join(path.name for path in matching or _folders_with(RESULTS, runs)) or "none"
    return f"{name!r} names {found} in {runs}; there are {known}."


def write_table(path: Path, rows: Sequence[Record], *, kind: type[Record]) -> None:
    """Write rows of one kind as Parquet, and return when they are on the disk; equal rows give equal bytes."""
    with ParquetFileWriter(path, kind) as sink:
        sink.add(rows)
        sink.close(root=path.parent)
    sync(path)


def read_table(path: Path, *, kind: type[R]) -> list[R]:
    """Return the rows of such a file."""
    opened: Any = pq.ParquetFile(expect_file(path))  # in a third of the time that pyarrow's `read_table` takes
    with opened as file:
        return from_table(file.read(), record_type=kind)
