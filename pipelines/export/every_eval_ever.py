"""A finished run as a record of Every Eval Ever (0.3.0): scores with our intervals, and a line for each question.

The formats' own schemas are in the repository evaleval/every_eval_ever. Nothing is asked anew.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import UUID

from assets.reporting.intervals import CONFIDENCE, RESAMPLES
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import TABLE, MetricEntry
from pipelines.evaluation.records import AnswerRow
from pipelines.export.folders import path_part
from pipelines.export.formats import RunExport

SCHEMA_VERSION = "0.3.0"
OVERALL = "overall"  # the metric that the lines of questions belong to
LOSSES = {"write_failure", "read_failure", "utilization_failure", "undiagnosed", "unscored"}
BELOW_ZERO = {"memory", "memory_of_means"}  # worse than chance is below 0
Json = dict[str, object]


def write_run_record(export: RunExport) -> list[str]:
    """Write the record and its lines, and say where."""
    path = write_record(export.run, export.folder, made_at=export.made_at)
    return [f"{path} is a record of Every Eval Ever {SCHEMA_VERSION}; its lines lie beside it."]


def write_record(run: FinishedRun, folder: Path, *, made_at: datetime) -> Path:
    """Write the record and its lines where the shared repository has them; return the record's path.

    `made_at`: when the results were written.
    """
    developer, _, model = run.manifest.shared().models["assistant"].rpartition("/")
    place = Path("data") / run.manifest.benchmark / path_part(developer or "unknown") / path_part(model)
    (folder / place).mkdir(parents=True, exist_ok=True)
    # The format wants the form of random ids; this one follows from the run.
    name = UUID(bytes=hashlib.sha256(run.manifest.run_id.encode()).digest()[:16], version=4)
    lines = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in _samples(run, made_at))
    samples = place / f"{name}_samples.jsonl"
    (folder / samples).write_text(lines, encoding="utf-8")
    record = _record(run, made_at)
    record["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": samples.as_posix(),
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(lines.encode()).hexdigest(),
        "total_rows": lines.count("\n"),
    }
    path = folder / place / f"{name}.json"
    path.write_text(json.dumps(record, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path


def _evaluation_id(run: FinishedRun, made_at: datetime) -> str:
    manifest = run.manifest
    return f"amemgym/{manifest.models['assistant']}/{manifest.run_id}/{int(made_at.timestamp())}"


def _record(run: FinishedRun, made_at: datetime) -> Json:
    manifest = run.manifest.shared()
    program, _, version = manifest.generator.partition(" ")
    results: list[Json] = []
    for entry in TABLE:
        if entry.group == "score" and entry.name in run.results.metrics:
            results.extend(_result(run, entry, made_at))
    model = manifest.models["assistant"]
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": _evaluation_id(run, made_at),
        "evaluation_timestamp": made_at.isoformat(),
        "retrieved_timestamp": str(int(made_at.timestamp())),
        "source_metadata": {
            "source_name": manifest.run_id,
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": program, "version": version},
        "model_info": {
            "name": model,
            "id": model,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "memory": manifest.memory.name,
                "memory_source": manifest.memory_source,
                "memory_tokens": str(manifest.tokens),
                "asked_at": manifest.asks,
            },
        },
        "evaluation_results": results,
    }


def _result(run: FinishedRun, entry: MetricEntry, made_at: datetime) -> Iterator[Json]:
    """Yield the metric's result; nothing where it has no value."""
    estimate = run.results.metrics[entry.name]
    if estimate.value is None:
        return
    manifest = run.manifest
    score: Json = {"score": estimate.value}
    if estimate.low is not None and estimate.high is not None:
        interval = {"lower": estimate.low, "upper": estimate.high, "confidence_level": CONFIDENCE}
        score["uncertainty"] = {
            "confidence_interval": {**interval, "method": f"bootstrap over {manifest.noun}s, expanded percentile"},
            "num_samples": run.results.users,
            "num_bootstrap_samples": RESAMPLES,
        }
    yield {
        "evaluation_result_id": _result_id(run, entry.name),
        "evaluation_name": f"{manifest.benchmark}.{entry.name}",
        "source_data": {
            "dataset_name": manifest.dataset,
            "source_type": "other",
            "additional_details": {"digest": manifest.dataset_digest, "language": manifest.language, "mode": manifest.mode},
        },
        "evaluation_timestamp": made_at.isoformat(),
        "metric_config": {
            "evaluation_description": entry.meaning,
            "metric_id": f"amemgym.{entry.name}",
            "metric_name": entry.name.replace("_", " "),
            "metric_unit": "proportion",
            "lower_is_better": entry.name in LOSSES,
            "score_type": "continuous",
            "min_score": "-Infinity" if entry.name in BELOW_ZERO else 0,
            "max_score": 1,
            "additional_details": {"formula": entry.formula},
        },
        "score_details": score,
        "generation_config": {"generation_args": {"max_tokens": manifest.reply_tokens}},
    }


def _result_id(run: FinishedRun, metric: str) -> str:
    return f"{run.manifest.run_id}/{metric}"


def _samples(run: FinishedRun, made_at: datetime) -> Iterator[Json]:
    """Yield a line for each question, in the order of the run's answers."""
    for row in run.answers:
        if row.kind == "question":
            yield {
                "schema_version": SCHEMA_VERSION,
                "evaluation_id": _evaluation_id(run, made_at),
                "model_id": run.manifest.shared().models["assistant"],
                "evaluation_name": f"{run.manifest.benchmark}.{OVERALL}",
                "evaluation_result_id": _result_id(run, OVERALL),
                **_sample(row),
            }


def _sample(row: AnswerRow) -> Json:
    right = row.status == "right"
    place = f"{row.user_id}/{row.length}" if row.length else row.user_id
    asked = row.asked or row.item
    return {
        "sample_id": f"{place}/{row.period:02}/{row.item}",
        "sample_hash": hashlib.sha256(f"{asked}{row.expected}".encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": asked, "reference": [row.expected]},
        "output": {"raw": [row.reply]},
        "messages": None,
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": row.given,
                "extraction_method": "custom",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(right), "is_correct": right},
        "token_usage": {
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "total_tokens": row.input_tokens + row.output_tokens,
        },
        "error": row.reason or None,
        "metadata": {
            "status": row.status,
            "lost_by": row.failure,
            "needed_values": str(row.required),
            "age_in_periods": str(row.age),
            "recalled_texts": str(len(row.memories)),
        },
    }
