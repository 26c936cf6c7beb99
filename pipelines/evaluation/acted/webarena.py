"""Tasks of WebArena-Infinity for the runner: web applications of a clone, graded by the clone's own verifiers."""

import ast
import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from assets.isolation.boundary import NoBoundary, required_kind
from assets.records.base import ItemFailed, duplicates
from assets.records.json_text import parse_json
from assets.records.limits import MB, read_bounded
from assets.records.paths import PathRefused, expect_inside, leads_inside, path_inside
from assets.worlds.steps import EpisodeStep
from dataset_card.release.digests import canonical_digest, file_sha256
from pipelines.agents.browser_page import NoBrowser, browser_windows, expect_browser
from pipelines.agents.webarena_world import INDEX, LEFT, SHOWN, ApplicationInBrowser, Verifier, verdicts
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.world_tasks import PASSES, PROMPTS, REPLAY, BegunEpisode, Chain, WorldTasks
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.timeline.context import EvaluationContext

PREFIX = "webarena:"
CHAINED = "-chained"
VISITS = 5  # tasks of one application that one memory lives, where they are chained
TASKS = "real-tasks.json"
NEEDED = ("id", "instruction", "verify")
WINDOW = 8_000
BUDGET = 2_000
PASSES_AT_FIRST = "pass before anything is done"
NO_ANSWER = "give no answer"
LEAST_LENGTH = 3
LONGEST = 60
MOST_TEXT = 16 * MB  # of a file of theirs
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}")


def read_webarena_tasks(source: str) -> WorldTasks:
    """Return the tasks of `webarena:FOLDER`, a clone or one of its applications; chained as visits with `-chained` after it.

    Raises EvaluationError.
    """
    chained = source.endswith(CHAINED)
    folder = Path(source.removeprefix(PREFIX).removesuffix(CHAINED)).expanduser()
    found = [(place, _read_tasks(place)) for place in _applications(folder)]
    if not found:
        raise EvaluationError(
            f"{folder} has no tasks; give a clone of WebArena-Infinity, or one of its applications, which is a folder with "
            f"{INDEX} and {TASKS}."
        )
    try:
        expect_browser()
        required_kind()
    except (NoBrowser, NoBoundary) as error:
        raise EvaluationError(str(error)) from error
    left_out: dict[str, list[str]] = {}
    chains: list[Chain] = []
    for place, tasks in found:
        why = _without_grade(place, tasks)
        for task_id, reason in why.items():
            left_out.setdefault(reason, []).append(task_id)
        chains += _chains([task for task in tasks if task.task_id not in why], visits=VISITS if chained else 1)
    count = sum(len(tasks) for _, tasks in found)
    notices = [f"Left out of {count} tasks, because their verifiers {why}: {', '.join(ids)}." for why, ids in left_out.items()]
    if not chains:
        raise EvaluationError(f"{folder} has no task that says anything of an agent. {' '.join(notices)}")
    info = DatasetInfo(
        benchmark="webarena",
        name=f"webarena {folder.resolve().name}",
        digest=canonical_digest([chained, *(_identity(place, tasks) for place, tasks in found)]),
        language="English",
        noun="visitor" if chained else "task",
        users=tuple(chain.name for chain in chains),
        prompts=PROMPTS,
        tokens=BUDGET,
        notices=tuple(notices),
    )
    return WorldTasks(info, tuple(chains), WINDOW, allowed_option=REPLAY, turn=browser_windows)


def _applications(folder: Path) -> list[Path]:
    """Return the folders of the applications: the folder itself, or those below it. Raises EvaluationError."""
    for places in ([folder], sorted(folder.glob("apps/*")), sorted(folder.glob("*"))):
        found = [place for place in places if (place / TASKS).is_file() and (place / INDEX).is_file()]
        try:
            for place in found:
                expect_inside(folder, place)
                expect_inside(place, place / TASKS)
        except PathRefused as problem:
            raise EvaluationError(f"{folder} cannot be used: {problem}; take that link out.") from problem
        if found:
            return found
    return []


def _read_tasks(application: Path) -> "list[WebTask]":
    """Return an application's tasks. Raises EvaluationError."""
    path = application / TASKS
    try:
        content = parse_json(_read_text(path))
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{path} cannot be read as tasks: {error}.") from error
    rows = cast(list[object], content) if isinstance(content, list) else []
    if not rows:
        raise EvaluationError(f"{path} has no tasks; it is to be a list of objects with {', '.join(NEEDED)}.")
    tasks = [_task(row, application, where=f"Task {number} of {path}") for number, row in enumerate(rows, start=1)]
    twice = duplicates([task.task_id for task in tasks])
    if twice:
        raise EvaluationError(f"{path} has two tasks {twice[0]}; take one of them out.")
    return tasks


def _read_text(path: Path) -> str:
    """Return the text of a file of theirs. Raises OSError and ValueError."""
    return read_bounded(path, most=MOST_TEXT).decode()


def _task(row: object, application: Path, *, where: str) -> "WebTask":
    """Return a task with its verifier. Raises EvaluationError."""
    fields = cast(dict[str, object], row) if isinstance(row, dict) else {}
    task_id, instruction, verify = (fields.get(name) for name in NEEDED)
    if not isinstance(task_id, str) or not isinstance(instruction, str) or not isinstance(verify, str):
        raise EvaluationError(f"{where} lacks a text of {', '.join(NEEDED)}; a task has them all.")
    name = f"{application.resolve().name}.{task_id}"
    if not NAME.fullmatch(name):
        raise EvaluationError(f"{where} has the id {task_id!r}; write it with letters, digits, dots and dashes.")
    try:
        verifier = Verifier(verify, _read_text(path_inside(application, verify)))
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{where} has the verifier {verify!r}, which cannot be read: {error}.") from error
    return WebTask(name, application, instruction, verifier)


def _without_grade(application: Path, tasks: "Sequence[WebTask]") -> dict[str, str]:
    """Return why tasks say nothing of an agent, by their ids: verifiers are asked about the state at first.

    Raises EvaluationError where the application does not begin.
    """
    try:
        with closing(ApplicationInBrowser(application, "")) as world:
            verdicts_at_first = verdicts([task.verifier for task in tasks], world.state)
    except (NoBrowser, ItemFailed) as error:
        raise EvaluationError(f"{application} cannot be used: {error}") from error
    why: dict[str, str] = {}
    for task, verdict in zip(tasks, verdicts_at_first, strict=True):
        if verdict.passed is not False:
            why[task.task_id] = PASSES_AT_FIRST if verdict.passed else NO_ANSWER
    return why


def _chains(tasks: "Sequence[WebTask]", *, visits: int) -> Iterator[Chain]:
    """Yield chains of so many tasks of one application; the last one may be shorter."""
    for place in range(0, len(tasks), visits):
        several = tuple(tasks[place : place + visits])
        application = several[0].application.resolve().name
        yield Chain(several[0].task_id if visits == 1 else f"{application}.visits-{place // visits + 1}", several)


def _identity(application: Path, tasks: "Sequence[WebTask]") -> list[object]:
    """Return what decides the grades of an application's tasks."""
    pages: dict[str, str] = {}
    for path in sorted(application.rglob("*")):
        # A page is not shown what lies outside.
        if path.name.endswith(SHOWN) and path.is_file() and leads_inside(application, path):
            pages[str(path.relative_to(application))] = file_sha256(path)
    return [pages, *([task.task_id, task.instruction, task.verifier.source] for task in tasks)]


@dataclass(frozen=True)
class WebTask:
    """A task in one application, whose grade is its verifier's word on the state that the agent left."""

    task_id: str
    application: Path
    instruction: str
    verifier: Verifier

    @property
    def scenario(self) -> str:
        return self.instruction

    @property
    def needed_values(self) -> list[str]:
        """The texts that the verifier compares with, each once; nobody wrote down a right solution."""
        values: dict[str, None] = {}
        for node in ast.walk(_parse_source(self.verifier.source)):
            if isinstance(node, ast.Compare):
                for text in _texts([node.left, *node.comparators]):
                    if LEAST_LENGTH <= len(text) <= LONGEST:
                        values[text] = None
        return list(values)

    async def begin(self, context: EvaluationContext) -> BegunEpisode:
        """Return the application as it is at first. Raises ItemFailed."""
        return BegunEpisode(await asyncio.to_thread(self._open_application), self.instruction)

    def _open_application(self) -> ApplicationInBrowser:
        try:
            return ApplicationInBrowser(self.application, self.instruction)
        except NoBrowser as error:
            raise ItemFailed("call_failed", str(error)) from error

    def grade_steps(self, asked: str, steps: Sequence[EpisodeStep]) -> str:
        """Ask the verifier about the state that was left."""
        if not steps or not steps[-1].seen.startswith(LEFT):
            return "it did not begin"
        failed = self.verifier.find_failure(steps[-1].seen.removeprefix(LEFT))
        return f"its verifier says: {failed}" if failed else PASSES


def _texts(nodes: Sequence[ast.expr]) -> Iterator[str]:
    """Yield the texts among these, and those in lists among them."""
    for node in nodes:
        if isinstance(node, ast.List | ast.Set | ast.Tuple):
            yield from _texts(node.elts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _parse_source(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
