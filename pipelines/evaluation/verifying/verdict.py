"""A finished run checked after the fact: its id, rows and results are computed again, and its replies are graded again.

What nobody can see here is named in `TAKEN_AS_TOLD`, and what this run leaves open besides in `unverified`.
"""

import glob
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from assets.records.base import Record
from assets.records.json_text import parse_json
from assets.records.limits import MOST_ITEM_BYTES, read_bounded
from assets.records.paths import PathRefused, expect_file, files_inside
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import (
    CODE,
    FRESH,
    MANIFEST,
    PAGE,
    RESULTS,
    VERIFICATION,
    FinishedRun,
    RunFolder,
    alone_folder,
    find_run,
    read_file_of_run,
    read_run,
    read_table_of_run,
)
from pipelines.evaluation.fresh_users import FOLDER as FRESH_USERS
from pipelines.evaluation.metrics.fresh import compare_with_fresh, count_users
from pipelines.evaluation.metrics.isolated_scores import MemoryRow
from pipelines.evaluation.metrics.results import memory_rows, score
from pipelines.evaluation.plan import alone_manifest, run_id_of
from pipelines.evaluation.records import EventRow
from pipelines.evaluation.report.contents import FRESH_TITLE
from pipelines.evaluation.report.formatting import TAKEN_AS_TOLD, repeat_label
from pipelines.evaluation.report.page import Json, results_on_page
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.evaluation.spending import StepUsage
from pipelines.evaluation.timeline.perceived import events_of_run
from pipelines.evaluation.timeline.steps import Timeline
from pipelines.evaluation.verifying.again import NOT_ASKED, AskedAgain
from pipelines.evaluation.verifying.rows import row_problems
from pipelines.evaluation.verifying.usage import asked_problems, unlikely_usage
from pipelines.memories.code_identity import digest_of_code

PAGE_BLOCK = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
FILES = (MANIFEST, RESULTS, *(f"{name}.parquet" for name in ("answers", "turns", "usage", "events", "memory")))
NOBODY = "nobody has graded its replies again; amemgym verify RUN does"


class Verification(Record):
    """`verification.json`: a sentence for each problem, the answers that were graded again, and a digest of the files.

    `unverified`: what this run leaves open; `asked_again`: what came of a sample that was; `taken_as_told`: what no run's rows
    tell; `repeatable`: what a repetition needs.
    """

    problems: tuple[str, ...]
    graded: int
    files: str
    unverified: tuple[str, ...] = ()
    asked_again: str = ""
    taken_as_told: tuple[str, ...] = TAKEN_AS_TOLD
    repeatable: str = ""


def verify_run(run: FinishedRun, path: Path, tasks: BenchmarkTasks, *, again: AskedAgain = NOT_ASKED) -> Verification:
    """Check the run, leave the verdict in its folder, and return it. `again`: what came of asking a sample again."""
    _check_data(run, tasks)
    timelines = tasks.timelines(run.manifest)
    problems = list(problems_without_data(run))
    if tuple(run.manifest.users) != tuple(tasks.info.users):
        problems.append(f"the {run.manifest.noun}s of its manifest are not the first of the data set.")
    problems += row_problems(run, timelines)
    problems += _problems_of_tables(run, path, timelines)
    problems += _code_problems(run, path)
    problems += _fresh_problems(run, path)
    problems += again.problems
    of_conditions = _verify_alone(run, path, tasks)
    problems += of_conditions.problems
    verdict = Verification(
        problems=tuple(problems),
        graded=sum(bool(row.tries) for row in run.answers),
        files=_digest(path),
        unverified=(*unlikely_usage(run), *again.unverified, *of_conditions.unverified),
        asked_again=again.sentence,
        repeatable=repeat_label(run.manifest),
    )
    RunFolder(path).write(VERIFICATION, verdict.model_dump_json(indent=2) + "\n")
    return verdict


def _verify_alone(run: FinishedRun, path: Path, tasks: BenchmarkTasks) -> Verification:
    """Check the run that asked what is the same for every memory, and that this one has its rows."""
    manifest = run.manifest
    if not manifest.alone or manifest.is_alone:
        return Verification(problems=(), graded=0, files="")
    folder = alone_folder(path, manifest.alone)
    if not folder.is_dir():
        missing = (
            f"what the conditions and the baselines took, because {manifest.alone} is not in {folder.parent.name}/ beside it"
        )
        return Verification(problems=(), graded=0, files="", unverified=(missing,))
    alone = read_run(str(folder), runs=folder.parent)
    verdict = verify_run(alone, folder, tasks)
    problems = [f"{manifest.alone}: {problem}" for problem in verdict.problems]
    own = [row for row in run.answers if manifest.shares(row)]
    if sorted(own, key=repr) != sorted(alone.answers, key=repr):
        problems.append(f"its conditions and baselines are not the answers of {manifest.alone}.")
    planned = alone_manifest(manifest, places={}).model_copy(update={"places": alone.manifest.places})
    if planned.model_dump(exclude={"run_id"}) != alone.manifest.model_dump(exclude={"run_id"}):
        problems.append(f"{manifest.alone} is of another plan.")
    return verdict.model_copy(update={"problems": tuple(problems)})


def _check_data(run: FinishedRun, tasks: BenchmarkTasks) -> None:
    """Raise EvaluationError for another data set than the run's."""
    wanted = run.manifest.dataset_digest
    if tasks.info.digest != wanted:
        raise EvaluationError(
            f"{tasks.info.name} is not what {run.manifest.run_id} was evaluated on: its digest is {tasks.info.digest[:8]}, not "
            f"{wanted[:8]}; name the right one with --data."
        )


def problems_without_data(run: FinishedRun) -> Iterator[str]:
    """Yield what is wrong as it can be seen without the data set: id, results, and whom the items asked."""
    manifest = run.manifest
    computed = run_id_of(manifest)
    if computed != manifest.run_id:
        yield f"{MANIFEST} was edited: what it says is the run {computed}."
    told = run.results
    usage = sum((row.usage for row in run.usage), StepUsage())
    found = score(manifest, run.answers, run.turns, usage=usage, errors=told.errors)
    differing = [name for name in type(told).model_fields if getattr(found, name) != getattr(told, name)]
    if differing:
        yield f"{RESULTS} does not follow from the rows, in {', '.join(differing)}."
    yield from asked_problems(run)
    if run.fresh is not None:
        public = count_users(run.answers, users=manifest.users)
        if compare_with_fresh(public, run.fresh.users, run_id=run.fresh.run_id, noun=manifest.noun) != run.fresh:
            yield f"{FRESH} does not follow from the answers and from its counts."


def _problems_of_tables(run: FinishedRun, path: Path, timelines: Sequence[Timeline]) -> Iterator[str]:
    """Yield a sentence for each file that does not follow from the answers and turns: rows for reward models, events, page."""
    try:
        memory = read_table_of_run(path, "memory.parquet", MemoryRow)
        events = read_table_of_run(path, "events.parquet", EventRow)
        page = read_file_of_run(path, PAGE, page_data)
    except EvaluationError as error:
        yield str(error)
        return
    if memory != memory_rows(run.answers):
        yield "memory.parquet does not follow from the answers."
    if events != list(events_of_run(timelines, run.turns)):
        yield "events.parquet does not follow from the turns and the data set."
    if page.get("results") != results_on_page(run):
        yield f"{PAGE} does not show the results."
    if run.fresh is None and FRESH_TITLE in str(page.get("sections")):
        yield f"{PAGE} tells of fresh users, and {FRESH} is missing."


def page_data(page: Path) -> Json:
    """Return the data that a page draws. Raises OSError, and ValueError for a page without any."""
    block = PAGE_BLOCK.search(expect_file(page).read_text(encoding="utf-8"))
    data: object = parse_json(block[1].encode()) if block else None
    if not isinstance(data, dict):
        raise ValueError("it holds no data")
    return cast(Json, data)


def _fresh_problems(run: FinishedRun, path: Path) -> Iterator[str]:
    """Yield a sentence where the run on fresh users, which only its owner has, does not give the counts of them."""
    if run.fresh is None:
        return
    for folder in path.parent.with_name(FRESH_USERS).glob(f"*/{glob.escape(path.parent.name)}/{glob.escape(run.fresh.run_id)}"):
        fresh = read_run(str(folder), runs=folder.parent)
        if count_users(fresh.answers, users=fresh.manifest.users) != run.fresh.users:
            yield f"{FRESH} does not follow from the run on fresh users."


def _code_problems(run: FinishedRun, path: Path) -> Iterator[str]:
    files = dict[str, bytes]()
    try:
        for file in files_inside(path / CODE):
            files[file.relative_to(path / CODE).as_posix()] = file.read_bytes()
    except PathRefused as problem:
        yield f"the memory's code: {problem}."
    if run.manifest.boundary not in ("", "service") and digest_of_code(files) != run.manifest.memory_source:
        yield f"the memory's code in {CODE}/ is not what the run was made with."


def read_judged_run(name: str, *, runs: Path) -> FinishedRun:
    """Return a run for a board: with what its last verification found, and with what can be seen without the data set.

    Raises EvaluationError as `read_run` does.
    """
    run = read_run(name, runs=runs)
    path = find_run(name, runs=runs)
    verdict = _last_verdict(path)
    problems = tuple(problems_without_data(run))
    if verdict is None:
        return replace(run, problems=problems, unverified=(NOBODY,))
    return replace(run, problems=(*verdict.problems, *problems), unverified=verdict.unverified)


def _last_verdict(path: Path) -> Verification | None:
    """Return what the last verification of the run in this folder found; None where there was none."""
    problem = "it was changed after it had been verified; verify it again."
    try:
        verdict = Verification.model_validate(parse_json(read_bounded(path / VERIFICATION, most=MOST_ITEM_BYTES)))
        if verdict.files == _digest(path):
            return verdict
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        problem = f"its {VERIFICATION} cannot be read; verify it again."
    return Verification(problems=(problem,), graded=0, files="")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for name in FILES:
        file = path / name
        digest.update(name.encode() + (file.read_bytes() if file.is_file() else b"missing"))
    return digest.hexdigest()
