"""Tasks of sde-bench for the runner: a repair whose rule was decided in a chat, among many other chats that a memory is told.

The clone's own scripts build each repository, where commands of an agent run too. A task is scored only where its right repair
passes, and neither none nor one of its naive repairs does.
"""

import difflib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from assets.engine.seeded_random import SeededRandom
from assets.records.base import ItemFailed
from assets.records.paths import PathRefused, read_relative_path
from assets.records.problems import first_problem
from assets.reporting.plurals import counted
from dataset_card.release.digests import canonical_digest
from pipelines.agents.swe_world import BUILDING, FOLDER, Build, SweRow, SweUnusable, Workspace, refuse_where_nothing_runs
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.swe import BUDGET, WINDOW, RepositoryTask, row_identity
from pipelines.evaluation.acted.world_tasks import PROMPTS, REPLAY, Chain, WorldTasks
from pipelines.evaluation.run import DatasetInfo
from pipelines.memories.contract import MemoryEvent

T = TypeVar("T")
PREFIX = "sde:"
HOST = "SDEBENCH_BOLTONS_HOST"  # sde-bench's own name for the clone of the package that its scripts build on
REPO = "vectorize-io/boltons"
TASKS = "boltons-*/tasks/main/task.json"
DECOYS = "gen/decoy_conversations.json"
COMMIT = re.compile(r"^REF = ['\"]([0-9a-f]{40})['\"]", re.MULTILINE)
# What it takes to build is gone before the agent comes.
BUILD = f"""set -e
out=$(mktemp -d)
{HOST}={FOLDER} python {BUILDING}/task/build.py $out/made
cp {BUILDING}/test_regression.py $out/made/tests/
rm -rf $out/made/{BUILDING}
find {FOLDER} -mindepth 1 -delete
cp -a $out/made/. {FOLDER}
rm -rf $out
git add -A
git -c user.name=sde-bench -c user.email=sde-bench@localhost commit -q -m "test: a failing repro"
"""
# Each right and naive repair as the whole module, after the module as it is.
REPAIRS = f"""import json, sys
from pathlib import Path
sys.path.insert(0, "{BUILDING}/gen")
from realfn_traps import REALFN_TRAPS
from traps import TRAPS
found = dict()
for name, trap in TRAPS.items():
    found["planted " + name] = [trap["bug"], trap["correct"], *trap["naive"]]
for name, trap in REALFN_TRAPS.items():
    source = Path(trap["module"]).read_text()
    naive = [trap["naive"]] if isinstance(trap["naive"], str) else trap["naive"]
    found["real-function " + name] = [source, *(source.replace(trap["anchor"], text, 1) for text in (trap["correct"], *naive))]
print(json.dumps(found))
"""


class ChatTurn(BaseModel):
    """Something said in a chat between a developer and an agent."""

    role: Literal["user", "assistant"]
    text: str


class DecoyChat(BaseModel):
    """A chat that decides nothing."""

    turns: list[ChatTurn]


class SdeTask(BaseModel):
    """A task's file. `conversations` is one chat, or several where a later one amends what was decided."""

    task_id: str
    codebase: str
    source: str
    tier: str
    module: str
    bug_report: str
    fail_to_pass: list[str]
    pass_to_pass: list[str]
    hidden_to_pass: list[str]
    regression_test_file: str
    hidden_test_file: str
    conversations: list[list[ChatTurn]] | list[ChatTurn] = []

    @property
    def chats(self) -> list[list[ChatTurn]]:
        """The chats in which it was decided, in order; none where it stands in the repository's history."""
        several = [chat for chat in self.conversations if isinstance(chat, list)]
        return several or [[turn for turn in self.conversations if isinstance(turn, ChatTurn)]]

    @property
    def trap(self) -> str:
        """The name under which the clone has its repairs."""
        return f"{self.tier} {self.codebase.removeprefix('boltons-').removesuffix('-amended')}"


@dataclass(frozen=True)
class ChatTask(RepositoryTask):
    """A repair whose rule was decided in chats."""

    decided: tuple[str, ...]

    @property
    def needed_values(self) -> list[str]:
        """What was said in the chats that decide."""
        return list(self.decided)


def read_sde_tasks(source: str) -> WorldTasks:
    """Return the tasks of `sde:FOLDER`, a clone of sde-bench, that were decided in chats. Raises EvaluationError."""
    folder = Path(source.removeprefix(PREFIX)).expanduser()
    host = Path(os.environ.get(HOST, "")).expanduser()
    if not os.environ.get(HOST) or not host.is_dir():
        raise EvaluationError(f"{HOST} names no folder; set it to a clone of https://github.com/{REPO}, on which tasks build.")
    try:
        tasks = [_read_json(path, TypeAdapter(SdeTask)) for path in sorted(folder.glob(TASKS))]
        decided = [task for task in tasks if task.conversations]
        if not decided:
            raise EvaluationError(f"{folder} has no task with a chat at {TASKS}; give a clone of vectorize-io/sde-bench.")
        decoys = _read_json(folder / DECOYS, TypeAdapter(list[DecoyChat]))
        rows = _rows(folder, host, decided)
    except (OSError, PathRefused, ItemFailed, SweUnusable) as problem:
        raise EvaluationError(f"{folder} cannot be used as a clone of sde-bench: {str(problem).rstrip('.')}.") from problem
    chains: list[Chain] = []
    identity: list[object] = []
    for task, row in zip(decided, rows, strict=True):
        said = tuple(" ".join(turn.text.split()) for chat in task.chats for turn in chat)
        told = list(_tell_chats(task, [decoy.turns for decoy in decoys]))
        chains.append(Chain(row.instance_id, (ChatTask(row, said),), told))
        identity.append([*row_identity(row), *(event.line for event in told)])
    info = DatasetInfo(
        benchmark="sde",
        name="sde-bench",
        digest=canonical_digest(identity),
        language="English",
        noun="task",
        users=tuple(row.instance_id for row in rows),
        prompts=PROMPTS,
        tokens=BUDGET,
        notices=(
            f"Left out, because the agent itself can read their decision in the history of the repository: "
            f"{counted(len(tasks) - len(decided), 'task')}.",
        ),
    )
    return WorldTasks(info, tuple(chains), WINDOW, allowed_option=REPLAY)


def _read_json(path: Path, kind: TypeAdapter[T]) -> T:
    """Return what the file holds. Raises EvaluationError and OSError."""
    try:
        return kind.validate_json(path.read_bytes())
    except ValidationError as error:
        raise EvaluationError(f"{path} is no file of sde-bench: {' '.join(first_problem(error))}.") from error


def _tell_chats(task: SdeTask, decoys: Sequence[list[ChatTurn]]) -> Iterator[MemoryEvent]:
    """Yield what is said in all chats: those that decide at places drawn by chance, the earlier one first."""
    rng = SeededRandom("sde-bench", task.task_id)
    places = sorted(rng.integer_below(len(decoys) + 1) for _ in task.chats)
    chats = list(decoys)
    for place, chat in reversed(list(zip(places, task.chats, strict=True))):
        chats.insert(place, chat)
    for number, chat in enumerate(chats, start=1):
        for turn in chat:
            yield MemoryEvent(turn.text, turn.role, source=f"chat {number}")


def _rows(folder: Path, host: Path, tasks: Sequence[SdeTask]) -> list[SweRow]:
    """Return the tasks as rows with their repairs. Raises OSError, PathRefused, ItemFailed and SweUnusable."""
    generator = {f"gen/{path.name}": path for path in sorted((folder / "gen").glob("*.py"))}
    rows = [_row(folder, host, task, generator) for task in tasks]
    refuse_where_nothing_runs(rows, folder=host)
    repairs = _read_repairs(rows[0], generator)
    return [_with_repairs(row, task, repairs) for row, task in zip(rows, tasks, strict=True)]


def _row(folder: Path, host: Path, task: SdeTask, generator: Mapping[str, Path]) -> SweRow:
    place = folder / read_relative_path(task.codebase)
    tests = place / "tasks" / "main"
    script = place / "build.py"
    found = COMMIT.search(script.read_text(encoding="utf-8"))
    if found is None:
        raise ItemFailed("rule_violated", f"{script} names no commit that it builds on")
    (hidden,) = task.hidden_to_pass
    test = (tests / read_relative_path(task.hidden_test_file)).read_text(encoding="utf-8")
    files = {**generator, "task/build.py": script, "test_regression.py": tests / read_relative_path(task.regression_test_file)}
    return SweRow(
        instance_id=task.task_id,
        repo=REPO,
        base_commit=found[1],
        problem=task.bug_report,
        patch="",
        test_patch=_patch(read_relative_path(hidden), "", test),
        fail_to_pass=(*map(read_relative_path, task.fail_to_pass), hidden),
        pass_to_pass=tuple(map(read_relative_path, task.pass_to_pass)),
        image="",
        repository=host,
        build=Build(files, BUILD),
    )


def _read_repairs(row: SweRow, generator: Mapping[str, Path]) -> dict[str, list[str]]:
    """Return each trap's module as it is, the right one, and the naive ones; the clone's own code says them in a copy."""
    workspace = Workspace(replace(row, build=None))
    try:
        workspace.copy_in(generator)
        code, said = workspace.run(shlex.join(["python", "-c", REPAIRS]))
    finally:
        workspace.close()
    if code:
        raise ItemFailed("call_failed", f"its repairs cannot be read: {said.strip()[-300:]}")
    return TypeAdapter(dict[str, list[str]]).validate_json(said)


def _with_repairs(row: SweRow, task: SdeTask, repairs: Mapping[str, Sequence[str]]) -> SweRow:
    if task.trap not in repairs:
        raise ItemFailed("rule_violated", f"it has no repair of {task.task_id}")
    before, *after = repairs[task.trap]
    right, *naive = [_patch(read_relative_path(task.module), before, module) for module in after]
    return replace(row, patch=right, wrong_patches=tuple(naive))


def _patch(path: str, before: str, after: str) -> str:
    """Return the patch that makes one text of a file the other; of none a new file."""
    old = f"a/{path}" if before else "/dev/null"
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), old, f"b/{path}")
    return "".join(lines)
