"""An evolution told in Markdown: scores over all cycles (Table 3), and what was learned or leaked."""

from collections.abc import Sequence

from assets.records.estimate import Estimate
from pipelines.evaluation.report.formatting import figure, shown, table, words
from pipelines.experiments.evolution.records import EvolutionManifest, Protocol
from pipelines.experiments.evolution.results import EvolutionResults, FinishedEvolution
from pipelines.experiments.evolution.scores import ALL_CYCLES, GAINS, Gain, Score

PROTOCOLS: dict[Protocol, str] = {
    "paper": "The paper's protocol: every user's policy learns from all of its questions, and is scored on the same ones.",
    "held-out": "Held out: one policy for all users, which learns from some questions of some users; the rest is only scored.",
}


def evolution_report(done: FinishedEvolution) -> str:
    """The whole report."""
    manifest, results = done.manifest, done.results
    parts = [f"# Self-evolution of {manifest.run.assistant.name} on {manifest.run.dataset}", facts(manifest)]
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
        f"Evolution `{manifest.run.run_id}`: {len(manifest.run.users)} users, {manifest.cycles} cycles of one {manifest.cycle} "
        f"each; sections rewritten by {manifest.improver}, memories checked by {manifest.run.judge}. Brackets hold 95 % "
        "intervals over users; all cycles count, the first with the policy that everybody begins with."
    )


def score_table(results: EvolutionResults, protocol: Protocol) -> str:
    """All conditions over all cycles; a line for each split."""
    rows = [score for score in results.scores if score.protocol == protocol and score.cycle == ALL_CYCLES]
    keys = dict.fromkeys((row.split, row.feedback) for row in rows)
    head = ["scored on", "feedback", *map(words, GAINS)]
    return table(head, [[words(split), feedback, *_cells(rows, split, feedback)] for split, feedback in keys])


def _cells(rows: Sequence[Score], split: str, feedback: str) -> list[str]:
    found = {row.metric: row for row in rows if (row.split, row.feedback) == (split, feedback)}
    return [shown(_estimate(found[name])) for name in GAINS]


def _estimate(score: Score) -> Estimate:
    return Estimate(value=score.value, low=score.low, high=score.high)


def gain_table(results: EvolutionResults, protocol: Protocol) -> str:
    """What feedback brought over none, a line for each split and feedback; p is that of the memory's gain."""
    rows = dict[tuple[str, str], list[Gain]]()
    for gain in results.gains:
        if gain.protocol == protocol:
            rows.setdefault((words(gain.split), gain.feedback), []).append(gain)
    head = ["gain over no feedback, after the first cycle", "feedback", *map(words, GAINS), "p"]
    lines = [
        [split, feedback, *(shown(gain.change.difference) for gain in gains), figure(gains[0].change.p_value)]
        for (split, feedback), gains in rows.items()
    ]
    return table(head, lines) if lines else ""


def leak_table(results: EvolutionResults) -> str:
    """The excess of seen questions, a line for each feedback."""
    rows = dict[str, list[str]]()
    for leak in results.leaks:
        rows.setdefault(leak.feedback, []).append(shown(leak.excess))
    return table(["seen more than new", *map(words, GAINS)], [[feedback, *cells] for feedback, cells in rows.items()])


def outcome_table(results: EvolutionResults) -> str:
    """What became of the policies."""
    kinds = ("improved", "unchanged", "kept")
    rows = [[arm, *(str(found.get(kind, 0)) for kind in kinds)] for arm, found in results.outcomes.items() if found]
    return table(["condition", "improved", "unchanged", "kept for want of a usable reply"], rows) if rows else "None evolved."


def notes(results: EvolutionResults) -> list[str]:
    """Mishaps, where there are any."""
    told = {
        "facts could not be checked": results.unscored_facts,
        "writes to the memory failed twice and were lost": results.failed_writes,
        "calls had no room for the oldest messages": results.cut_calls,
    }
    return [f"{count:,} {what}." for what, count in told.items() if count]
