"""A finished run as a log of Inspect, written from the run's rows: its viewer serves the transcripts (`inspect view`).

A sample is one question to one user after one period: what the reasoner was sent, what it answered, and the sessions' dialogue
before. Scores are those of the run; nothing is asked anew.
"""

from datetime import datetime
from pathlib import Path

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score

from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.reasoning import NOTHING_RECALLED
from pipelines.evaluation.records import AnswerRow, DialogueTurn, Status
from pipelines.export.folders import check_free
from pipelines.export.formats import RunExport
from prompts.catalogue import load_prompt

VALUES: dict[Status, str] = {"right": CORRECT, "wrong": INCORRECT, "unknown": INCORRECT, "unscored": NOANSWER}
SCORER = "choice"
LOG = "inspect.eval"


def write_run_log(export: RunExport) -> list[str]:
    """Write the log into the folder, and say how to look at it."""
    path = export.folder / LOG
    check_free(export.folder, (LOG,))
    export.folder.mkdir(parents=True, exist_ok=True)
    samples = counted(write_inspect_log(export.run, path, made_at=export.made_at), "sample")
    return [f"{samples} in {path}; look at them with: inspect view --log-dir {export.folder}"]


def write_inspect_log(run: FinishedRun, path: Path, *, made_at: datetime) -> int:
    """Write the log, and say how many samples it has. `made_at`: when the run's results were written."""
    manifest = run.manifest
    questions = [row for row in run.answers if row.kind == "question"]
    samples = list[EvalSample]()
    unscored = 0
    for row in questions:
        samples.append(_sample(run, row))
        unscored += row.status == "unscored"
    metrics = dict[str, EvalMetric]()
    for name, estimate in {**run.results.metrics, **run.results.baselines}.items():
        # Inspect has no metric without a value.
        if estimate.value is not None:
            metrics[name] = EvalMetric(name=name, value=estimate.value)
    score = EvalScore(
        name=SCORER,
        scorer=SCORER,
        metrics=metrics,
        scored_samples=len(questions) - unscored,
        unscored_samples=unscored,
    )
    spec = EvalSpec(
        created=made_at.isoformat(),
        task=f"amemgym/{manifest.memory.name}",
        run_id=manifest.run_id,
        dataset=EvalDataset(name=manifest.dataset, samples=len(samples)),
        model=manifest.models["assistant"],
        config=EvalConfig(),
        task_args=manifest.model_dump(mode="json", include={"memory", "tokens", "wording", "probes", "seed", "attempt"}),
    )
    results = EvalResults(total_samples=len(samples), completed_samples=len(samples), scores=[score])
    write_eval_log(EvalLog(status="success", eval=spec, results=results, samples=samples), path)
    return len(samples)


def _sample(run: FinishedRun, row: AnswerRow) -> EvalSample:
    messages = list[ChatMessage]()
    for turn in run.turns:
        if turn.user_id == row.user_id and turn.period == row.period:
            messages += _dialogue(turn)
    recalled = "\n".join(row.memories) or NOTHING_RECALLED
    prompt = load_prompt("evaluation/remember")
    sent = prompt.render(memories=recalled, later_holds=run.manifest.later_holds, message=row.asked)
    # A task over documents may be asked at several lengths.
    place = f"{row.user_id}/{row.length}" if row.length else row.user_id
    output = ModelOutput.from_content(run.manifest.models["assistant"], row.reply)
    return EvalSample(
        id=f"{place}/{row.period:02}/{row.item}",
        epoch=1,
        input=row.asked or row.item,
        target=row.expected,
        messages=[
            *messages,
            ChatMessageSystem(content=sent.messages[0].content),
            ChatMessageUser(content=row.asked or row.item),
            ChatMessageAssistant(content=row.reply, model=run.manifest.models["assistant"]),
        ],
        output=output,
        scores={SCORER: Score(value=VALUES[row.status], answer=row.given, explanation=row.reason or row.failure)},
        metadata={"user": row.user_id, "period": row.period, "question": row.item, "lost by": row.failure, "age": row.age},
    )


def _dialogue(turn: DialogueTurn) -> tuple[ChatMessage, ChatMessage]:
    when = f"[Current Time: {turn.at.isoformat(sep=' ')}]\n" if not turn.round else ""
    return ChatMessageUser(content=f"{when}{turn.message}"), ChatMessageAssistant(content=turn.reply)
