"""The report of an evolution: Markdown tables (Table 3)."""

from collections.abc import Iterator, Sequence

from assets.records.estimate import Estimate, interval_note
from assets.reporting.plurals import counted
from pipelines.evaluation.report.markdown import section_text
from pipelines.evaluation.report.numbers import format_number, metric_label
from pipelines.evaluation.report.sections import Block, ReportSection, ReportTable
from pipelines.experiments.evolution.records import EvolutionManifest, Protocol
from pipelines.experiments.evolution.results import EvolutionResults, FinishedEvolution
from pipelines.experiments.evolution.scores import ALL_CYCLES, GAINS, Score

PROTOCOLS: dict[Protocol, str] = {
    "paper": "The paper's protocol: every user's policy learns from all of its questions, and is scored on the same ones.",
    "held-out": "Held out: one policy for all users, which learns from some questions of some users; the rest is only scored.",
}
Line = Sequence[str | Estimate]


def evolution_report(done: FinishedEvolution) -> str:
    """Return the report as Markdown."""
    manifest = done.manifest
    parts = [f"# Self-evolution of {manifest.run.memory.name} on {manifest.run.dataset}", facts(manifest)]
    for section in evolution_sections(done):
        parts += section_text(section)
    return "\n\n".join(parts) + "\n"


def evolution_sections(done: FinishedEvolution) -> Iterator[ReportSection]:
    """Yield the tables: scores and gains by protocol, leaks, what became of the policies."""
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
