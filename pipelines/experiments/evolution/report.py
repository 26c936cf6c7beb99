"""The report of an evolution: Markdown tables (Table 3), and a page with curves (Fig. 11) and each policy's history."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.records.estimate import Estimate, interval_note
from assets.reporting.plurals import counted
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.report.markdown import section_text
from pipelines.evaluation.report.numbers import format_number, metric_label
from pipelines.evaluation.report.page import SECTIONS, Json, Texts, plain, render_blocks
from pipelines.evaluation.report.sections import Block, ReportSection, ReportTable
from pipelines.experiments.evolution.plan import SPLITS
from pipelines.experiments.evolution.records import EVERYBODY, EvolutionManifest, PolicyStep, Protocol
from pipelines.experiments.evolution.results import EvolutionResults, FinishedEvolution
from pipelines.experiments.evolution.scores import ALL_CYCLES, GAINS, Score

PROTOCOLS: dict[Protocol, str] = {
    "paper": "The paper's protocol: every user's policy learns from all of its questions, and is scored on the same ones.",
    "held-out": "Held out: one policy for all users, which learns from some questions of some users; the rest is only scored.",
}
Line = Sequence[str | Estimate]
SCRIPTS = ("base", "charts", "run", "evolution")
WORD = re.compile(r"[^\W\d_]{3,}")  # shorter words, such as "of", are in every line
ROOT = 5  # letters that forms of one word share


def evolution_report(done: FinishedEvolution) -> str:
    """Return the report as Markdown."""
    parts = [_title(done.manifest), facts(done.manifest)]
    for section in evolution_sections(done):
        parts += section_text(section)
    return "\n\n".join(parts) + "\n"


def evolution_sections(done: FinishedEvolution) -> Iterator[ReportSection]:
    """Yield the tables of report and page: scores and gains by protocol, leaks, what became of the policies."""
    results = done.results
    for protocol in done.manifest.protocols:
        blocks: list[Block] = [PROTOCOLS[protocol], score_table(results, protocol)]
        gained = gain_table(results, protocol)
        if gained.rows:
            blocks += [GAINS_NOTE, gained]
        yield ReportSection(f"scores-{protocol}", PROTOCOLS[protocol].partition(":")[0], blocks)
    if results.leaks:
        yield ReportSection("learned", "Learned or leaked", [LEAKS, leak_table(results)])
    counts = outcome_table(results)
    blocks = [counts if counts.rows else "None evolved."]
    if results.unscored_facts:
        blocks.append(f"{results.unscored_facts:,} facts could not be checked.")
    if results.lost_writes:
        blocks.append(f"{results.lost_writes:,} writes to the memory failed at every try and were lost.")
    yield ReportSection("outcomes", "What became of the policies", blocks)


LEAKS = (
    "How much more the questions in the feedback gained than held-out questions of the same users. Near 0: the policy learned "
    "what to remember. Far above: it learned these questions."
)
GAINS_NOTE = (
    "The gain is that over no feedback, in all cycles after the first, paired over users; p is of the memory's gain, "
    "by Student's t. Failures are better when lower."
)


def _title(manifest: EvolutionManifest) -> str:
    return f"# Self-evolution of {manifest.run.memory.name} on {manifest.run.dataset}"


def facts(manifest: EvolutionManifest) -> str:
    """Return one paragraph on what was done."""
    return (
        f"Evolution `{manifest.run.run_id}`: {counted(len(manifest.run.users), 'user')}, "
        f"{counted(manifest.cycles, 'cycle')} of one period each; "
        f"sections rewritten by {manifest.improver}, memories checked by {manifest.run.models['judge']}. "
        f"{interval_note(len(manifest.run.users), 'user')} "
        "All cycles count, the first with the policy that everybody begins with."
    )


def score_table(results: EvolutionResults, protocol: Protocol) -> ReportTable:
    """Return all conditions over all cycles (as in the paper's Table 3); a line for each split and feedback."""
    rows: dict[tuple[str, str], dict[str, Score]] = {}
    for score in results.scores:
        if score.protocol == protocol and score.cycle == ALL_CYCLES:
            rows.setdefault((score.split, score.feedback), {})[score.metric] = score
    lines: list[Line] = []
    for (split, feedback), scores in rows.items():
        lines.append([metric_label(split), feedback, *(scores[name].estimate for name in GAINS)])
    return ReportTable(["scored on", "feedback", *map(metric_label, GAINS)], lines)


def gain_table(results: EvolutionResults, protocol: Protocol) -> ReportTable:
    """Return what feedback brought over none, a line for each split and feedback; p is that of the memory's gain."""
    lines: dict[tuple[str, str], list[str | Estimate]] = {}
    for gain in results.gains:
        if gain.protocol == protocol:
            key = (metric_label(gain.split), gain.feedback)
            # The memory's gain comes first, and its p stands at the end.
            line = lines.setdefault(key, [*key, format_number(gain.change.p_value)])
            line.insert(-1, gain.change.difference)
    return ReportTable(["gain on", "feedback", *map(metric_label, GAINS), "p"], list(lines.values()))


def leak_table(results: EvolutionResults) -> ReportTable:
    """Return the excess of seen questions, a line for each feedback."""
    lines: dict[str, list[str | Estimate]] = {}
    for leak in results.leaks:
        lines.setdefault(leak.feedback, [leak.feedback]).append(leak.excess)
    return ReportTable(["seen more than new", *map(metric_label, GAINS)], list(lines.values()))


def outcome_table(results: EvolutionResults) -> ReportTable:
    """Return how often each condition's policies were improved, by outcome."""
    lines: list[Line] = []
    for arm, found in results.outcomes.items():
        if found:
            counts = (found.get("improved", 0), found.get("unchanged", 0), found.get("kept", 0))
            lines.append([arm, *map(str, counts)])
    return ReportTable(["condition", "improved", "unchanged", "kept for want of a usable reply"], lines)


def evolution_page(done: FinishedEvolution, dataset: AMemGymDataset) -> str:
    """Return one file with everything; each policy's history is a block, parsed when it is first looked at."""
    manifest = done.manifest
    results = done.results
    names = {episode.user_id: episode.user_profile.name for episode in dataset.episodes} | {EVERYBODY: "all users"}
    histories: dict[tuple[str, str], list[PolicyStep]] = {}
    # What was learned for all users from everything stands first.
    for step in sorted(done.steps, key=lambda step: (step.learner != EVERYBODY, step.arm)):
        histories.setdefault((step.arm, step.learner), []).append(step)
    learners: list[Json] = []
    blocks: dict[str, Json] = {}
    for (arm, learner), steps in histories.items():
        block = f"history-{len(blocks)}"
        blocks[block] = _history(steps, dataset.episodes)
        learners.append({"arm": arm, "label": names[learner], "block": block})
    title = _title(manifest).removeprefix("# ")
    data = {
        "title": title,
        "subtitle": f"Evolution {manifest.run.run_id}: {counted(manifest.cycles, 'cycle')} of one period each. "
        f"{interval_note(len(manifest.run.users), 'user')}",
        "facts": list(_facts(manifest, names)),
        "cycles": manifest.cycles,
        "policy": manifest.initial_policy,
        "protocols": list(map(partial(_protocol, results.scores), manifest.protocols)),
        "sections": SECTIONS.dump_python(list(evolution_sections(done)), mode="json"),
        "learners": learners,
    }
    return render_blocks(title, {"data": data, **blocks}, scripts=SCRIPTS)


def _facts(manifest: EvolutionManifest, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    run = manifest.run
    yield "dataset", f"{run.dataset}, {counted(len(run.users), 'user')}, digest {run.dataset_digest[:16]}"
    yield "memory", f"{run.memory.name}: {run.memory.kind}, {run.models['memory']}"
    yield "policies by", f"{manifest.improver}; at most {manifest.most_characters:,} characters"
    feedback_questions = counted(manifest.feedback_questions, "question")
    yield "feedback", f"{', '.join(manifest.feedbacks)}; at most {feedback_questions} a cycle"
    if manifest.held_out_users:
        held_out = ", ".join(names[user] for user in manifest.held_out_users)
        questions = sum(map(len, manifest.held_out_questions.values()))
        yield "held out", f"{held_out}; {counted(questions, 'question')} of the others"
    yield "user simulated by", f"{run.models['user']}; memories checked by {run.models['judge']}"
    yield "seed", f"{run.seed}, attempt {run.attempt}"
    yield "made by", run.generator


def _protocol(scores: Sequence[Score], protocol: Protocol) -> Json:
    """Return a protocol's scores by split, feedback and metric, cycle by cycle."""
    splits: list[Json] = []
    for split in SPLITS[protocol]:
        by_feedback: dict[str, dict[str, list[Json]]] = {}
        for score in sorted(scores, key=lambda score: score.cycle):
            if (score.protocol, score.split) == (protocol, split) and score.cycle != ALL_CYCLES:
                by_metric = by_feedback.setdefault(score.feedback, {})
                by_metric.setdefault(score.metric, []).append(plain(score.estimate))
        splits.append({"name": split, "scores": by_feedback})
    return {"name": protocol, "words": PROTOCOLS[protocol], "splits": splits}


def _history(steps: Sequence[PolicyStep], episodes: Sequence[Episode]) -> Json:
    """Return one learner's steps. Texts that come again and again, such as memories, stand once."""
    texts = Texts()
    learner = steps[0].learner
    variables: set[str] = set()
    for episode in episodes:
        if learner in (EVERYBODY, episode.user_id):
            variables.update(episode.state_schema.choices)
    policies = [step.before for step in steps]
    policies.append(steps[-1].after)
    mentions: dict[str, list[float]] = {}
    for name in sorted(variables):
        mentions[name] = [mention(policy, name) for policy in policies]
    shown = list(map(partial(_step, texts), steps))
    return {"steps": shown, "mentions": mentions, "texts": texts.all()}


def _step(texts: Texts, step: PolicyStep) -> Json:
    summaries: list[dict[str, Any]] = json.loads(step.feedback)
    return {
        "cycle": step.cycle,
        "outcome": step.outcome,
        "problem": step.problem,
        "changes": step.changes,
        "diff": step.diff,
        "replies": step.replies,
        "feedback": list(map(partial(_summary, texts), summaries)),
    }


def _summary(texts: Texts, summary: dict[str, Any]) -> Json:
    asked: list[Json] = []
    for entry in summary["question_answer_history"]:
        shown: Json = {"question": texts.number(entry["question"])}
        if "ground_truth" in entry:
            memories = list(map(texts.number, entry["retrieved_memories"]))
            shown |= {"given": entry["assistant_response"], "truth": entry["ground_truth"], "memories": memories}
        asked.append(shown)
    return {"asked": asked, "updates": summary.get("user_information_updates", {})}


def mention(policy: str, variable: str) -> float:
    """Return the largest share of the name's words that stand in one line of the policy: 1 names it outright, 0 not at all."""
    wanted = _roots(variable.replace("_", " "))
    found = max([len(wanted & _roots(line)) for line in policy.splitlines()], default=0)
    return round(found / len(wanted), 4) if wanted else 0.0  # equal results give equal bytes


def _roots(text: str) -> set[str]:
    return {word[:ROOT] for word in WORD.findall(text.lower())}
