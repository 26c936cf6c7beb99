"""A sample of a run's items evaluated anew, where local or pinned models and kept code make the same run possible."""

import math
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from assets.engine.seeded_random import SeededRandom
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import CODE, FinishedRun, RunFolder
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import RunAccount, alone_manifest, manifest_of
from pipelines.evaluation.records import AnswerRow, RunManifest, RunSettings
from pipelines.evaluation.report.formatting import PINNED, repeat_label
from pipelines.evaluation.run import BenchmarkTasks, PlayedItem, ReplayableTasks, Run, play_items
from pipelines.evaluation.verifying.rows import rows_by_item, tell_rows
from pipelines.home import Home
from pipelines.memories.contract import MemorySpec
from pipelines.memories.hosting.confinement import IN_PROCESS, Confinement
from pipelines.memories.registry import in_file
from pipelines.opening.models import OpenModels, open_models
from pipelines.resources.llm.settings import EndpointSettings

ACCOUNT = RunAccount(variant="verification")
# Today's price is not that of a run.
COMPARED = [name for name in AnswerRow.model_fields if name != "nano_usd"]


@dataclass(frozen=True)
class AskedAgain:
    """What came of asking a sample again: a sentence, and the differences where the same run gives the same bytes.

    `unverified`: differences where a model may answer otherwise.
    """

    sentence: str
    problems: Sequence[str] = ()
    unverified: Sequence[str] = ()


NOT_ASKED = AskedAgain("")


async def ask_again(
    run: FinishedRun, path: Path, tasks: BenchmarkTasks, *, percent: float, seed: int, home: Home
) -> AskedAgain:
    """Evaluate `percent` of the run's items anew, one at least, and compare all that they leave, byte by byte.

    `path`: the run's folder; `seed`: that of the sample. No reply comes from the cache.
    """
    depends = repeat_label(run.manifest)
    if not depends.startswith(PINNED):
        return AskedAgain(f"It cannot be asked again: it {depends}.")
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="again-")))
        find_endpoint = EndpointSettings.from_environment if run.manifest.places else _no_endpoint
        models = stack.enter_context(open_models(home, mode="off", find_endpoint=find_endpoint))
        if run.manifest.is_off_policy and isinstance(tasks, ReplayableTasks):
            tasks = tasks.replaying(run)
        try:
            manifest = await _same_plan(run.manifest, path, tasks, models=models, scratch=scratch)
        except EvaluationError as error:
            return AskedAgain(f"It cannot be asked again: {error}")
        differing = _differing_fields(manifest, run.manifest)
        if differing:
            return AskedAgain(f"It cannot be asked again, because these are others here: {', '.join(differing)}.")
        again = Run(
            manifest=manifest,
            tasks=tasks,
            models=models.for_account(ACCOUNT),
            folder=RunFolder(scratch / "again"),
            confinement=Confinement(manifest.boundary == IN_PROCESS, (home.root,)),
        )
        count = math.ceil(len(again.timelines) * percent / 100)
        sample = SeededRandom(seed, "again").sample(again.timelines, count)
        played = await play_items(again, sample)
        again.folder.close()
    return _compare(run, again, played, seed=seed)


def _no_endpoint() -> None:
    """Find none, so that the embedded model answers."""


async def _same_plan(
    manifest: RunManifest, path: Path, tasks: BenchmarkTasks, *, models: OpenModels, scratch: Path
) -> RunManifest:
    """Return the manifest of the same run here and now. Raises EvaluationError where it cannot be planned."""
    spec = _memory_of(manifest, path / CODE, scratch=scratch)
    settings = manifest.model_dump(include=set(RunSettings.model_fields))
    own = {"replay": manifest.replayed_run, "in_process": manifest.boundary == IN_PROCESS}
    options = EvaluationOptions.model_validate({**settings, **own})
    names = {*manifest.models.values(), *manifest.more_models}
    if models.embedded and names != {models.embedded}:
        raise EvaluationError(f"{', '.join(sorted(names))} was not asked at an address, and is not the embedded model.")
    places = {name: await models.place.of(name) for name in names}
    same = manifest_of(tasks, spec, options, models=manifest.models, places=places)
    return alone_manifest(same, places=places) if manifest.is_alone else same


def _memory_of(manifest: RunManifest, code: Path, *, scratch: Path) -> MemorySpec:
    """Return the memory as it was; one in a file with its code as the run kept it, in a place that its process may see."""
    spec = manifest.memory
    if not manifest.memory_files:
        return spec
    place = Path(shutil.copytree(code, scratch / CODE))
    return in_file(spec.model_copy(update={"kind": str(place / spec.kind)}))


def _differing_fields(run: RunManifest, again: RunManifest) -> list[str]:
    """Return the names of the fields that are not the same."""
    fields = run.shared().model_dump(exclude={"run_id"})
    others = again.model_dump(exclude={"run_id"})
    return [name.replace("_", " ") for name in fields if fields[name] != others[name]]


def _compare(run: FinishedRun, again: Run, played: Sequence[PlayedItem], *, seed: int) -> AskedAgain:
    """Hold what the items left against the run's own rows and turns."""
    recorded = {item.timeline.item_id: item.rows for item in rows_by_item(run, again.timelines)}
    differing = list[str]()
    turns = list[str]()
    answers = 0
    for item in played:
        item_id = item.timeline.item_id
        before = [row for row in recorded[item_id] if not run.manifest.shares(row)]
        answers += len(before)
        if len(before) != len(item.rows.answers):
            differing.append(f"{item_id}: {len(item.rows.answers):,} answers, and not {len(before):,}")
        for row, own in zip(before, item.rows.answers, strict=False):
            fields = [name for name in COMPARED if getattr(row, name) != getattr(own, name)]
            if fields:
                differing.append(f"{row.kind} {row.item} of {row.user_id}, period {row.period}: {', '.join(fields)}")
        if [turn for turn in run.turns if turn.user_id == item.timeline.cluster] != item.rows.turns:
            turns.append(item_id)
    differences = [*tell_rows(differing, "it is another when it is asked again")]
    if turns:
        differences.append(f"the dialogues are others when they are held again, of {', '.join(turns)}.")
    what = f"{counted(answers, 'answer')} of {counted(len(played), run.manifest.noun)}, drawn with the seed {seed}"
    if not differences:
        return AskedAgain(f"Asked again without the cache: {what}. All are the same, byte by byte.")
    sentence = f"Asked again without the cache: {what}. They differ."
    # A server may sum in another order, where the embedded model cannot.
    return AskedAgain(sentence, unverified=differences) if run.manifest.places else AskedAgain(sentence, problems=differences)
