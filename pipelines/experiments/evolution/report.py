"""The report of an evolution: Markdown tables (Table 3), and a page with curves (Fig. 11) and each policy's history."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.report.formatting import format_estimate, format_number, metric_label, table
from pipelines.evaluation.report.page import Json, Texts, plain, render_page
from pipelines.experiments.evolution.plan import SPLITS
from pipelines.experiments.evolution.records import EVERYBODY, EvolutionManifest, PolicyStep, Protocol
from pipelines.experiments.evolution.results import EvolutionResults, FinishedEvolution
from pipelines.experiments.evolution.scores import ALL_CYCLES, CYCLE_METRICS, GAINS, Gain, Score

PROTOCOLS: dict[Protocol, str] = {
    "paper": "The paper's protocol: every user's policy learns from all of its questions, and is scored on the same ones.",
    "held-out": "Held out: one policy for all users, which learns from some questions of some users; the rest is only scored.",
}
SCRIPTS = ("base", "charts", "evolution")
WORD = re.compile(r"[^\W\d_]{3,}")
ROOT = 5  # letters that forms of one word share


def evolution_report(done: FinishedEvolution) -> str:
    manifest, results = done.manifest, done.results
    parts = [f"# Self-evolution of {manifest.run.memory.name} on {manifest.run.dataset}", facts(manifest)]
    for protocol in manifest.protocols:
        parts += [f"## {PROTOCOLS[protocol].partition(':')[0]}", PROTOCOLS[protocol], score_table(results, protocol)]
        parts.append(gain_table(results, protocol))
    if results.leaks:
        parts += ["## Learned or leaked", LEAKS, leak_table(results)]
    parts += ["## Policies", outcome_table(results), *notes(results)]
    return "\n\n".join(filter(None, parts)) + "\n"


LEAKS = (
    "What the questions that feedback told gained more than held-out questions of the same users. Near 0: the policy learned "
    "what to remember. Far above: it learned these questions."
)


def facts(manifest: EvolutionManifest) -> str:
    """One paragraph on what was done."""
    return (
        f"Evolution `{manifest.run.run_id}`: {counted(len(manifest.run.users), 'user')}, "
        f"{counted(manifest.cycles, 'cycle')} of one {manifest.cycle} each; "
        f"sections rewritten by {manifest.improver}, memories checked by {manifest.run.models['judge']}. "
        "Brackets hold 95 % intervals over users; "
        "all cycles count, the first with the policy that everybody begins with."
    )


def score_table(results: EvolutionResults, protocol: Protocol) -> str:
    """All conditions over all cycles; a line for each split."""
    rows = [score for score in results.scores if score.protocol == protocol and score.cycle == ALL_CYCLES]
    keys = dict.fromkeys((row.split, row.feedback) for row in rows)
    head = ["scored on", "feedback", *map(metric_label, GAINS)]
    return table(head, [[metric_label(split), feedback, *_cells(rows, split, feedback)] for split, feedback in keys])


def _cells(rows: Sequence[Score], split: str, feedback: str) -> list[str]:
    found = {row.metric: row for row in rows if (row.split, row.feedback) == (split, feedback)}
    return [format_estimate(_estimate(found[name])) for name in GAINS]


def _estimate(score: Score) -> Estimate:
    return Estimate(value=score.value, low=score.low, high=score.high)


def gain_table(results: EvolutionResults, protocol: Protocol) -> str:
    """What feedback brought over none, a line for each split and feedback; p is that of the memory's gain."""
    rows = dict[tuple[str, str], list[Gain]]()
    for gain in results.gains:
        if gain.protocol == protocol:
            rows.setdefault((metric_label(gain.split), gain.feedback), []).append(gain)
    head = ["gain over no feedback, after the first cycle", "feedback", *map(metric_label, GAINS), "p"]
    lines = [
        [split, feedback, *(format_estimate(gain.change.difference) for gain in gains), format_number(gains[0].change.p_value)]
        for (split, feedback), gains in rows.items()
    ]
    return table(head, lines) if lines else ""


def leak_table(results: EvolutionResults) -> str:
    """The excess of seen questions, a line for each feedback."""
    rows = dict[str, list[str]]()
    for leak in results.leaks:
        rows.setdefault(leak.feedback, []).append(format_estimate(leak.excess))
    return table(["seen more than new", *map(metric_label, GAINS)], [[feedback, *cells] for feedback, cells in rows.items()])


def outcome_table(results: EvolutionResults) -> str:
    """How often each condition's policies were improved, by outcome."""
    kinds = ("improved", "unchanged", "kept")
    rows = [[arm, *(str(found.get(kind, 0)) for kind in kinds)] for arm, found in results.outcomes.items() if found]
    return table(["condition", "improved", "unchanged", "kept for want of a usable reply"], rows) if rows else "None evolved."


def notes(results: EvolutionResults) -> list[str]:
    """A sentence for each kind of failure that occurred."""
    failures = {
        "facts could not be checked": results.unscored_facts,
        "writes to the memory failed twice and were lost": results.lost_writes,
    }
    return [f"{count:,} {what}." for what, count in failures.items() if count]


def evolution_page(done: FinishedEvolution, dataset: AMemGymDataset) -> str:
    """One file with everything; each policy's history is a block, parsed when it is first looked at."""
    histories = dict[tuple[str, str], list[PolicyStep]]()
    # What was learned for all users from everything stands first.
    for step in sorted(done.steps, key=lambda step: (step.learner != EVERYBODY, step.arm)):
        histories.setdefault((step.arm, step.learner), []).append(step)
    blocks = {f"history-{index}": _history(steps, dataset.episodes) for index, steps in enumerate(histories.values())}
    data = _data(done, dataset, learners=list(histories))
    return render_page(str(data["title"]), {"data": data, **blocks}, scripts=SCRIPTS)


def _data(done: FinishedEvolution, dataset: AMemGymDataset, *, learners: Sequence[tuple[str, str]]) -> Json:
    manifest, results = done.manifest, done.results
    names = {episode.user_id: episode.user_profile.name for episode in dataset.episodes} | {EVERYBODY: "all users"}
    return {
        "title": f"Self-evolution of {manifest.run.memory.name} on {manifest.run.dataset}",
        "subtitle": f"Evolution {manifest.run.run_id}: {counted(manifest.cycles, 'cycle')} of one {manifest.cycle} each. "
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
            {"arm": arm, "label": names[learner], "block": f"history-{index}"} for index, (arm, learner) in enumerate(learners)
        ],
    }


def _facts(manifest: EvolutionManifest, names: dict[str, str]) -> list[tuple[str, str]]:
    run, out = manifest.run, manifest.held_out_users
    questions = sum(map(len, manifest.held_out_questions.values()))
    return [
        ("dataset", f"{run.dataset}, {counted(len(run.users), 'user')}, digest {run.dataset_digest[:16]}"),
        ("memory", f"{run.memory.name}: {run.memory.kind}, {run.models['memory']}"),
        ("policies by", f"{manifest.improver}; at most {manifest.most_characters:,} characters"),
        ("feedback", f"{', '.join(manifest.feedbacks)}; at most {counted(manifest.feedback_questions, 'question')} a cycle"),
        *(
            [("held out", f"{', '.join(names[user] for user in out)}; {counted(questions, 'question')} of the others")]
            if out
            else []
        ),
        ("user simulated by", f"{run.models['user']}; memories checked by {run.models['judge']}"),
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
            feedback: by_metric([row for row in rows if row.feedback == feedback])
            for feedback in _ordered(row.feedback for row in rows)
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
    mentions = {name: [mention(policy, name) for policy in policies] for name in variables}
    return {"steps": [_step(step, texts) for step in steps], "mentions": mentions, "texts": texts.all()}


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


def mention(policy: str, variable: str) -> float:
    """The largest share of the name's words that stand in one line of the policy: 1 names it outright, 0 not at all."""
    wanted = _roots(variable.replace("_", " "))
    found = max((len(wanted & _roots(line)) for line in policy.splitlines()), default=0)
    return round(found / len(wanted), 4) if wanted else 0.0


def _roots(text: str) -> set[str]:
    return {word[:ROOT] for word in WORD.findall(text.lower())}
