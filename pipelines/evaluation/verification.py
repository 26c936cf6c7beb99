"""A finished run checked after the fact: its replies are graded again by the data set, and its results follow from its rows.

What nobody can see here is named in `TAKEN_AS_TOLD`. Replies that were made up as a whole would show in the reply cache of
whoever ran it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assets.records.base import Record
from assets.records.json_text import parse_json
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import CODE, MANIFEST, PAGE, RESULTS, VERIFICATION, FinishedRun, RunFolder, read_table
from pipelines.evaluation.isolated import KIND_OF, EventRow, MemoryRow
from pipelines.evaluation.metrics.results import memory_rows, score
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.report.formatting import repeat_label
from pipelines.evaluation.report.page import Json, results_on_page
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.evaluation.spending import MemoryWork, StepUsage
from pipelines.memories.code_identity import digest_of_code
from pipelines.memories.contract import cut_to_budget

TOLD = 3  # rows of one kind of problem that are named
TAKEN_AS_TOLD = (
    "the replies themselves, and what the judge saw in the simulated user's messages",
    "calls, tokens and money by purpose, lost writes, errors, and the counts of the memory's operations",
    "the seconds in latency.json",
)
PAGE_BLOCK = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
FILES = (MANIFEST, RESULTS, "answers.parquet", "turns.parquet", "memory.parquet")


class Verification(Record):
    """`verification.json`: a sentence for each problem, the answers that were graded again, and a digest of the files.

    `taken_as_told`: what stands in no row and cannot be recomputed. `repeatable`: what a repetition of the run depends on.
    """

    problems: tuple[str, ...]
    graded: int
    files: str
    taken_as_told: tuple[str, ...] = TAKEN_AS_TOLD
    repeatable: str = ""


def verify_run(run: FinishedRun, path: Path, tasks: BenchmarkTasks) -> Verification:
    """Check the run, leave the verdict in its folder, and return it."""
    problems = [*_data_problems(run, tasks), *_row_problems(run, tasks), *results_problems(run)]
    problems += _rows_for_models_problems(run, path)
    problems += _code_problems(run, path)
    problems += _shown_problems(run, path, tasks)
    graded = sum(bool(row.tries) for row in run.answers)
    verdict = Verification(problems=tuple(problems), graded=graded, files=_digest(path), repeatable=repeat_label(run.manifest))
    RunFolder(path).write(VERIFICATION, verdict.model_dump_json(indent=2) + "\n")
    return verdict


def _rows_for_models_problems(run: FinishedRun, path: Path) -> Iterator[str]:
    """Yield a sentence where the rows for reward models are missing, or are not those of the answers."""
    table = path / "memory.parquet"
    if not table.is_file():
        yield "memory.parquet is missing."
    elif read_table(table, kind=MemoryRow) != memory_rows(run.answers):
        yield "memory.parquet does not follow from the answers."


def _shown_problems(run: FinishedRun, path: Path, tasks: BenchmarkTasks) -> Iterator[str]:
    """Yield a sentence where the events are not those of the turns, or the page's numbers are not those of the results."""
    if read_table(path / "events.parquet", kind=EventRow) != list(tasks.events(run.turns)):
        yield "events.parquet does not follow from the turns and the data set."
    try:
        shown = page_data(path / PAGE)["results"]
    except (OSError, ValueError, KeyError):
        yield f"{PAGE} cannot be read."
        return
    if shown != results_on_page(run):
        yield f"{PAGE} does not show the results."


def page_data(page: Path) -> Json:
    """Return the data that a page draws. Raises OSError, and ValueError for a page without any."""
    block = PAGE_BLOCK.search(page.read_text(encoding="utf-8"))
    if block is None:
        raise ValueError(f"{page} holds no data")
    return parse_json(block[1].encode())


def known_problems(path: Path) -> tuple[str, ...]:
    """Return what the last verification of the run in this folder found; nothing where there was none."""
    try:
        verdict = Verification.model_validate(parse_json((path / VERIFICATION).read_bytes()))
    except FileNotFoundError:
        return ()
    except ValueError:
        return (f"its {VERIFICATION} cannot be read; verify it again.",)
    if verdict.files != _digest(path):
        return ("it was changed after it had been verified; verify it again.",)
    return verdict.problems


def results_problems(run: FinishedRun) -> list[str]:
    """Return a sentence where the results are not those of the rows. What calls took is in no row and not checked."""
    told = run.results
    work = told.operations.work if told.operations else MemoryWork()
    usage = StepUsage(spending=told.spending, lost_writes=told.lost_writes, work=work)
    found = score(run.manifest, run.answers, run.turns, usage=usage, errors=told.errors)
    differing = list[str]()
    for name in type(told).model_fields:
        # Older results have no operations.
        if getattr(found, name) != getattr(told, name) and getattr(told, name) is not None:
            differing.append(name)
    if not differing:
        return []
    return [f"{RESULTS} does not follow from the rows, in {', '.join(differing)}."]


def problems_seen_without_data(run: FinishedRun, path: Path) -> tuple[str, ...]:
    """Return what the last verification found, or, where there was none, whether the results follow from the rows."""
    return known_problems(path) or tuple(results_problems(run))


def _data_problems(run: FinishedRun, tasks: BenchmarkTasks) -> Iterator[str]:
    manifest = run.manifest
    if tasks.info.digest != manifest.dataset_digest:
        raise EvaluationError(
            f"{tasks.info.name} is not what {manifest.run_id} was evaluated on: its digest is {tasks.info.digest[:8]}, not "
            f"{manifest.dataset_digest[:8]}; name the right one with --data."
        )
    if tuple(manifest.users) != tuple(tasks.info.users):
        yield f"the {manifest.noun}s of its manifest are not the first of the data set."


def _row_problems(run: FinishedRun, tasks: BenchmarkTasks) -> Iterator[str]:
    """Yield what is wrong with answers: those that are missing or twice there, graded otherwise, or longer than the budget."""
    manifest = run.manifest
    wanted = list[AnswerRow]()
    controls = list[AnswerRow]()
    ended = {error.item_id for error in run.results.errors}
    for item_id in tasks.items:
        wanted += tasks.unasked(manifest, item_id, (), reason="")
        if item_id not in ended:
            controls += tasks.controls(manifest, item_id)
    if Counter(row.question_key for row in controls) - Counter(
        row.question_key for row in run.answers if row.kind == "permuted"
    ):
        yield "questions of the permutation control are missing among the answers."
    kinds = ["question", *(KIND_OF[name] for name in manifest.conditions)]
    for kind in kinds:
        found = Counter(row.question_key for row in run.answers if row.kind == kind)
        given_up = {row.question_key for row in run.answers if row.kind == "question" and not row.tries}
        asked = Counter(row.question_key for row in wanted if kind == "question" or row.question_key not in given_up)
        if found != asked:
            wrong = counted(len({*(found - asked), *(asked - found)}), "question")
            yield f"{kind}: {wrong} of the data set missing, or too many, among the answers."
    otherwise = list[str]()
    over_budget = list[str]()
    for row in run.answers:
        graded = tasks.graded(manifest, row)
        if (graded.expected, graded.given, graded.status) != (row.expected, row.given, row.status):
            otherwise.append(f"{row.kind} {row.item} of {row.user_id}, period {row.period}: {graded.status}, not {row.status}")
        if row.budget and row.memories and tuple(cut_to_budget(row.memories, row.budget)) != row.memories:
            over_budget.append(f"{row.item} of {row.user_id}")
    yield from _told(otherwise, "its reply is graded otherwise by the data set")
    yield from _told(over_budget, "more was recalled than its budget")


def _told(rows: Sequence[str], what: str) -> Iterator[str]:
    if rows:
        more = f"; and {len(rows) - TOLD:,} more" if len(rows) > TOLD else ""
        yield f"{counted(len(rows), 'answer')}: {what} ({'; '.join(rows[:TOLD])}{more})."


def _code_problems(run: FinishedRun, path: Path) -> Iterator[str]:
    files = dict[str, bytes]()
    for file in _files_below(path / CODE):
        files[file.relative_to(path / CODE).as_posix()] = file.read_bytes()
    if run.manifest.boundary not in ("", "service") and digest_of_code(files) != run.manifest.memory_source:
        yield f"the memory's code in {CODE}/ is not what the run was made with."


def _files_below(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for name in FILES:
        file = path / name
        digest.update(name.encode() + (file.read_bytes() if file.is_file() else b"missing"))
    return digest.hexdigest()
