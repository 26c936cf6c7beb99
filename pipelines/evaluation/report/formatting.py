"""Text for readers: tables, estimates with their intervals, the meaning of every metric, labels that tell runs apart."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from assets.records.estimate import FEWEST_ITEMS, ROUGH, Estimate, rough_told
from assets.reporting.plurals import counted
from pipelines.embedded.bank import MODEL_FAMILY
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.options import PAPER_MODELS
from pipelines.evaluation.records import MemorySpec, RunManifest

LONGEST = 80  # characters of a setting that is shown
RED = 0.02  # the share of unscored answers that is marked


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars in its cells are escaped."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def format_estimate(estimate: Estimate, *, digits: int = 3, missing: str = "-", users: int = FEWEST_ITEMS) -> str:
    """The number with its 95 % interval, as in .412 [.350, .471]; marked where it is over few users."""
    if estimate.value is None:
        return missing
    low, high = estimate.low, estimate.high
    if low is None or high is None:
        return format_number(estimate.value, digits=digits)
    mark = ROUGH if users < FEWEST_ITEMS else ""
    return (
        f"{format_number(estimate.value, digits=digits)} [{format_number(low, digits=digits)}, "
        f"{format_number(high, digits=digits)}]{mark}"
    )


def interval_note(users: int, noun: str) -> str:
    """What brackets hold, and what a mark behind them means."""
    rough = f" {rough_told(users, noun)}".rstrip()
    way = f"bootstrap, expanded percentile; Wilson's where all {noun}s are alike"
    return f"Brackets hold 95 % intervals over {noun}s ({way}).{rough}"


def plumbing_note(manifest: RunManifest) -> str:
    """The warning that scores on the embedded model are about the plumbing; "" for a real model."""
    if not manifest.models["assistant"].startswith(MODEL_FAMILY):
        return ""
    return (
        "The reasoner is the embedded model, a program that reads long contexts without fault: these scores test the plumbing "
        "and say nothing about which memory is better."
    )


def nothing_recalled(run: FinishedRun) -> str:
    """The warning that a memory gave nothing back for any question; "" where it did, and for `none`, which never does."""
    asked = [row for row in run.answers if row.kind == "question" and row.tries]
    spec = run.manifest.memory
    if not asked or spec.whole or spec.kind == "none" or any(row.memories for row in asked):
        return ""
    return (
        f"{spec.name} gave back nothing for any of {counted(len(asked), 'question')}. It may pass over the kind of event that "
        "is written here: user, assistant or document."
    )


def beside_the_paper(manifest: RunManifest) -> str:
    """Whether a score may stand beside the paper's Tables 2 and 6, as a sentence that says why not; "" for documents."""
    if manifest.mode == "documents":
        return ""
    differing = [role for role, name in manifest.models.items() if PAPER_MODELS[role] != name]
    reasons = [
        "the questions are not in the paper's form (--wording paper)" if manifest.wording != "paper" else "",
        f"other models play {', '.join(differing)}" if differing else "",
        "the state probes are not asked as the reference asks them" if manifest.probes != "question" else "",
        "the dialogues are another's" if manifest.mode == "off-policy" else "",
    ]
    given = [reason for reason in reasons if reason]
    if given:
        return f"These scores may not stand beside the paper's Tables 2 and 6: {'; '.join(given)}."
    return (
        "Questions, order of options and models are the paper's: on the paper's own data these scores may stand beside its "
        "Tables 2 and 6."
    )


def format_number(value: float | None, *, digits: int = 3) -> str:
    """A number in few characters; large ones without decimals."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    # Halves go away from 0, as the pages' JavaScript rounds them.
    text = str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def settings_line(spec: MemorySpec) -> str:
    """A memory's settings in one line."""
    return ", ".join(setting_labels(spec).values())


def setting_labels(spec: MemorySpec) -> dict[str, str]:
    """Each setting of a memory with its name; of long ones only the length."""
    lengths = {name: len(str(value)) for name, value in spec.settings.items()}
    return {
        name: f"{name} {value if lengths[name] <= LONGEST else f'of {lengths[name]:,} characters'}"
        for name, value in spec.settings.items()
    }


def metric_label(name: str) -> str:
    """A metric's name for a reader."""
    return name.replace("_", " ")


def mode_label(manifest: RunManifest) -> str:
    """On-policy, or off-policy with whose dialogues."""
    return manifest.mode + (f" with the dialogues of {manifest.replayed_run}" if manifest.replayed_run else "")
