"""Rows of SWE-bench and SWE-Gym for the runner: a repository to repair by commands of a shell, graded by the row's own tests.

A row is scored only where its own patch passes its tests here, and no patch does not.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from assets.records.base import ItemFailed, duplicates
from assets.records.json_text import JsonError, parse_json
from assets.records.paths import PathRefused, path_inside, read_relative_path
from assets.worlds.steps import EpisodeStep
from dataset_card.release.digests import canonical_digest
from pipelines.agents.swe_world import (
    LEFT,
    SweRow,
    SweUnusable,
    SweWorld,
    Workspace,
    changed_paths,
    failed_tests,
    refuse_where_nothing_runs,
)
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.world_tasks import PASSES, PROMPTS, REPLAY, BegunEpisode, Chain, WorldTasks
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.timeline.context import EvaluationContext

PREFIX = "swe:"
REPOSITORIES = "repositories"  # beside the rows: git repositories as OWNER/NAME
WINDOW = 8_000
BUDGET = 2_000
LEAST_LENGTH = 12  # characters of a line of code that a text would not hold by chance
NEEDED = ("instance_id", "repo", "base_commit", "problem_statement", "patch", "test_patch", "FAIL_TO_PASS", "PASS_TO_PASS")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,150}")
REPO = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*/[A-Za-z0-9_-][A-Za-z0-9_.-]*")
COMMIT = re.compile(r"[0-9a-f]{7,64}")
IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,250}")  # no option of Docker's begins so


def read_swe_tasks(source: str) -> WorldTasks:
    """Return the tasks of `swe:FILE`, with rows as JSON, JSON lines or Parquet. Raises EvaluationError."""
    if source == PREFIX:
        raise EvaluationError(f"{PREFIX} names no file; give one, as in swe:rows.jsonl.")
    path = Path(source.removeprefix(PREFIX)).expanduser()
    rows: list[SweRow] = []
    left_out: list[str] = []
    for number, content in enumerate(_read_rows(path), start=1):
        row = _row(content, where=f"Row {number} of {path}", folder=path.parent / REPOSITORIES)
        # The tests of other frameworks, such as Django's own, have other names.
        if row.fail_to_pass and all("::" in test for test in row.tests):
            rows.append(row)
        else:
            left_out.append(row.instance_id)
    twice = duplicates([row.instance_id for row in rows])
    if twice:
        raise EvaluationError(f"{path} has two rows of {twice[0]}; take one of them out.")
    if not rows:
        raise EvaluationError(
            f"{path} has no row whose tests are pytest's; FAIL_TO_PASS names them as tests/test_it.py::test_name."
        )
    try:
        refuse_where_nothing_runs(rows, folder=path.parent / REPOSITORIES)
    except SweUnusable as problem:
        raise EvaluationError(f"{source} cannot be used: {problem}") from problem
    info = DatasetInfo(
        benchmark="swe",
        name=f"swe {path.stem}",
        digest=canonical_digest([row_identity(row) for row in rows]),
        language="English",
        noun="row",
        users=tuple(row.instance_id for row in rows),
        prompts=PROMPTS,
        tokens=BUDGET,
        notices=(f"Left out, because their tests are not named as pytest's: {', '.join(left_out)}.",) if left_out else (),
    )
    chains = tuple(Chain(row.instance_id, (RepositoryTask(row),)) for row in rows)
    return WorldTasks(info, chains, WINDOW, allowed_option=REPLAY)


def _read_rows(path: Path) -> list[dict[str, Any]]:
    try:
        if path.suffix == ".parquet":
            # Its annotations are only partly known to type checkers.
            parquet: Any = pq
            return cast(list[dict[str, Any]], parquet.read_table(path).to_pylist())
        text = path.read_text(encoding="utf-8")
        content: object = parse_json(text) if path.suffix == ".json" else _read_lines(text)
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read as rows of SWE-bench: {error.strerror or error}.") from error
    except (UnicodeDecodeError, JsonError, pa.ArrowException) as error:
        raise EvaluationError(f"{path} cannot be read as rows of SWE-bench: {error}.") from error
    rows = cast(list[object], content) if isinstance(content, list) else []
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise EvaluationError(f"{path} has no rows; it is to be a list of objects with {', '.join(NEEDED)}.")
    return cast(list[dict[str, Any]], rows)


def _read_lines(text: str) -> list[Any]:
    """Return the content of each line that has some. Raises JsonError with the number of the line."""
    rows: list[Any] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            rows += [parse_json(line)] if line.strip() else []
        except JsonError as error:
            # Of one line, its parser says "line 1" of every line.
            raise JsonError(f"line {number}: {str(error).partition(': line 1 ')[0]}") from error
    return rows


def _row(content: dict[str, Any], *, where: str, folder: Path) -> SweRow:
    """Return a row. Raises EvaluationError."""
    missing = [name for name in NEEDED if name not in content]
    if missing:
        raise EvaluationError(f"{where} has no {missing[0]}; a row of SWE-bench has {', '.join(NEEDED)}.")
    instance_id = str(content["instance_id"])
    repo = str(content["repo"])
    if not ID.fullmatch(instance_id) or not REPO.fullmatch(repo):
        raise EvaluationError(
            f"{where} has the instance_id {instance_id!r} and the repo {repo!r}; write them as SWE-bench does."
        )
    commit = str(content["base_commit"])
    if not COMMIT.fullmatch(commit):
        raise EvaluationError(f"{where} has the base_commit {commit!r}; give the commit's digest, such as 4b825dc642cb.")
    # Docker takes no two underscores in a name.
    usual = f"docker.io/swebench/sweb.eval.x86_64.{instance_id.replace('__', '_1776_')}:latest".lower()
    image = str(content.get("image_name") or content.get("docker_image") or usual)
    if not IMAGE.fullmatch(image):
        raise EvaluationError(f"{where} has the image {image!r}; give a name that Docker knows, such as {usual}.")
    tests = (_tests(content["FAIL_TO_PASS"], where=where), _tests(content["PASS_TO_PASS"], where=where))
    try:
        for test in chain.from_iterable(tests):
            if "::" in test:
                read_relative_path(test.partition("::")[0])
        for path in changed_paths(str(content["test_patch"])):
            read_relative_path(path)
        repository = path_inside(folder, repo)
    except PathRefused as problem:
        raise EvaluationError(f"{where} cannot be used: {problem}.") from problem
    return SweRow(
        instance_id=instance_id,
        repo=repo,
        base_commit=commit,
        problem=str(content["problem_statement"]),
        patch=str(content["patch"]),
        test_patch=str(content["test_patch"]),
        fail_to_pass=tests[0],
        pass_to_pass=tests[1],
        image=image,
        repository=repository if repository.is_dir() else None,
    )


def _tests(given: object, *, where: str) -> tuple[str, ...]:
    """Return the names of tests, given as a list or as its JSON text."""
    try:
        names = parse_json(given) if isinstance(given, str) else given
    except JsonError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast(list[object], names)):
        raise EvaluationError(f"{where} has tests that are no list of names.")
    return tuple(cast(list[str], names))


def row_identity(row: SweRow) -> list[object]:
    """Return what decides the row's grade, wherever its repository lies."""
    place = row.image if row.repository is None else "repository"
    return [row.instance_id, row.base_commit, row.problem, row.patch, row.test_patch, *row.tests, place]


@dataclass(frozen=True)
class RepositoryTask:
    """A row, whose grade is that of its tests on the changes that the agent left."""

    row: SweRow

    @property
    def task_id(self) -> str:
        return self.row.instance_id

    @property
    def scenario(self) -> str:
        return self.row.problem

    @property
    def needed_values(self) -> list[str]:
        """The files of the right patch, and the lines that it changes or stands beside, as a shell shows them."""
        values = dict.fromkeys(changed_paths(self.row.patch))
        for line in self.row.patch.splitlines():
            if line.startswith((" ", "-")) and not line.startswith("---") and len(line.strip("- ")) >= LEAST_LENGTH:
                values[line[1:].strip()] = None
        return list(values)

    async def begin(self, context: EvaluationContext) -> BegunEpisode:
        """Return the repository as it was. Raises ItemFailed, also for a row whose tests say nothing here."""
        problem = await asyncio.to_thread(lambda: self.says_nothing)
        if problem:
            raise ItemFailed("call_failed", f"{self.task_id} is not scored: {problem}.")
        workspace = await asyncio.to_thread(Workspace, self.row)
        return BegunEpisode(SweWorld(workspace), self.row.problem)

    @cached_property
    def says_nothing(self) -> str:
        """Why the grade says nothing of an agent; "" where it does."""
        failed = failed_tests(self.row, self.row.patch)
        if failed:
            return f"with its own patch {failed} failed"
        for patch in ("", *self.row.wrong_patches):
            if not failed_tests(self.row, patch):
                return "its tests pass with a wrong patch" if patch else "its tests pass without any patch"
        return ""

    def grade_steps(self, asked: str, steps: Sequence[EpisodeStep]) -> str:
        """Run the tests on what the agent changed, in a new copy."""
        if not steps or not steps[-1].seen.startswith(LEFT):
            return "it did not begin"
        patch = steps[-1].seen.removeprefix(LEFT)
        if not patch.strip():
            return "nothing was changed"
        failed = failed_tests(self.row, patch)
        return f"{failed} failed" if failed else PASSES
