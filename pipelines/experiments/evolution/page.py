"""The page of an evolution: curves with intervals (Fig. 11's axes), what was learned or leaked, and each policy's history."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.report.page import page
from pipelines.evaluation.report.page_data import Json, Texts, plain
from pipelines.experiments.evolution.mentions import mention
from pipelines.experiments.evolution.records import EVERYBODY, EvolutionManifest, PolicyStep, Protocol
from pipelines.experiments.evolution.report import PROTOCOLS
from pipelines.experiments.evolution.results import FinishedEvolution
from pipelines.experiments.evolution.scores import ALL_CYCLES, CYCLE_METRICS, Score
from pipelines.experiments.evolution.splits import SPLITS

SCRIPTS = ("base", "charts", "evolution")


def evolution_page(done: FinishedEvolution, dataset: Dataset) -> str:
    """One file with everything; each policy's history is a block, parsed when it is first looked at."""
    histories = dict[tuple[str, str], list[PolicyStep]]()
    # What was learned for all users from everything stands first.
    for step in sorted(done.steps, key=lambda step: (step.learner != EVERYBODY, step.arm)):
        histories.setdefault((step.arm, step.learner), []).append(step)
    blocks = {f"history-{place}": _history(steps, dataset.episodes) for place, steps in enumerate(histories.values())}
    data = _data(done, dataset, learners=list(histories))
    return page(str(data["title"]), {"data": data, **blocks}, scripts=SCRIPTS)


def _data(done: FinishedEvolution, dataset: Dataset, *, learners: Sequence[tuple[str, str]]) -> Json:
    manifest, results = done.manifest, done.results
    names = {episode.user_id: episode.user_profile.name for episode in dataset.episodes} | {EVERYBODY: "all users"}
    return {
        "title": f"Self-evolution of {manifest.run.assistant.name} on {manifest.run.dataset}",
        "subtitle": f"Evolution {manifest.run.run_id}: {manifest.cycles} cycles of one {manifest.cycle} each. "
        "Bands and brackets hold 95 % intervals over users.",
        "facts": _facts(manifest, names),
        "cycle": manifest.cycle,
        "cycles": manifest.cycles,
        "policy": manifest.initial_policy,
        "protocols": [_protocol(results.scores, protocol) for protocol in manifest.protocols],
        "gains": [plain(gain) for gain in results.gains],
        "leaks": [plain(leak) for leak in results.leaks],
        "outcomes": results.outcomes,
        "learners": [
            {"arm": arm, "label": names[learner], "block": f"history-{place}"} for place, (arm, learner) in enumerate(learners)
        ],
    }


def _facts(manifest: EvolutionManifest, names: dict[str, str]) -> list[tuple[str, str]]:
    run, out = manifest.run, manifest.held_out_users
    told = sum(map(len, manifest.held_out_questions.values()))
    return [
        ("dataset", f"{run.dataset}, {len(run.users)} users, digest {run.dataset_digest[:16]}"),
        ("assistant", f"{run.assistant.name}: {run.assistant.kind}, {run.assistant.settings.get('model')}"),
        ("policies by", f"{manifest.improver}; at most {manifest.most_characters:,} characters"),
        ("feedback", f"{', '.join(manifest.feedbacks)}; at most {manifest.feedback_questions} questions a cycle"),
        *([("held out", f"{', '.join(names[user] for user in out)}; {told} questions of the others")] if out else []),
        ("user simulated by", f"{run.simulator}; memories checked by {run.judge}"),
        ("seed", f"{run.seed}, attempt {run.attempt}"),
        ("made by", run.generator),
    ]


def _protocol(scores: Sequence[Score], protocol: Protocol) -> Json:
    def by_metric(rows: Sequence[Score]) -> Json:
        found = {(row.metric, row.cycle): {"value": row.value, "low": row.low, "high": row.high} for row in rows}
        cycles = sorted({row.cycle for row in rows} - {ALL_CYCLES})
        return {
            name: {"all": found[name, ALL_CYCLES], "cycles": [found[name, one] for one in cycles]} for name in CYCLE_METRICS
        }

    def by_feedback(rows: Sequence[Score]) -> Json:
        return {
            told: by_metric([row for row in rows if row.feedback == told]) for told in _ordered(row.feedback for row in rows)
        }

    own = [score for score in scores if score.protocol == protocol]
    splits = [{"name": one, "scores": by_feedback([row for row in own if row.split == one])} for one in SPLITS[protocol]]
    return {"name": protocol, "words": PROTOCOLS[protocol], "splits": splits}


def _ordered(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _history(steps: Sequence[PolicyStep], episodes: Sequence[Episode]) -> Json:
    """One learner's steps. Texts that come again and again, such as memories, stand once."""
    texts, learner = Texts(), steps[0].learner
    own = [episode for episode in episodes if learner in (EVERYBODY, episode.user_id)]
    variables = sorted({name for episode in own for name in episode.state_schema.choices})
    policies = [*(step.before for step in steps), steps[-1].after]
    told = [_step(step, texts) for step in steps]
    mentions = {name: [mention(policy, name) for policy in policies] for name in variables}
    return {"steps": told, "mentions": mentions, "texts": texts.all()}


def _step(step: PolicyStep, texts: Texts) -> Json:
    summaries: list[dict[str, Any]] = json.loads(step.feedback)
    return {
        "cycle": step.cycle,
        "outcome": step.outcome,
        "problem": step.problem,
        "changes": step.changes,
        "diff": step.diff,
        "replies": step.replies,
        "feedback": [_summary(summary, texts) for summary in summaries],
    }


def _summary(summary: dict[str, Any], texts: Texts) -> Json:
    asked: list[Json] = []
    for one in summary["question_answer_history"]:
        shown: Json = {"question": texts.number(one["question"])}
        if "ground_truth" in one:
            memories = [texts.number(line) for line in one["retrieved_memories"]]
            shown |= {"given": one["assistant_response"], "truth": one["ground_truth"], "memories": memories}
        asked.append(shown)
    return {"asked": asked, "updates": summary.get("user_information_updates", {})}
