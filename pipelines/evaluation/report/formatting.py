"""Text for readers: tables, estimates with their intervals, the meaning of every metric, labels that tell runs apart."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from ipaddress import ip_address
from urllib.parse import urlsplit

from assets.records.estimate import FEWEST_ITEMS, ROUGH, Estimate, rough_note
from assets.records.readable import UNREADABLE
from assets.reporting.plurals import counted
from pipelines.embedded.bank import MODEL_FAMILY
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.options import PAPER_MODELS
from pipelines.evaluation.records import CALL_FAILED, RunManifest
from pipelines.memories.contract import MemorySpec
from pipelines.memories.registry import IN_PROCESS, PROCESS_ALONE

LONGEST = 80  # characters of a setting that is shown: a policy would fill the page
FEW_UNREAD = 3  # answers
LONGEST_ANSWER = 240  # characters of an unread answer: its beginning and its end
RED = 0.02  # the share of unscored answers that is marked


def headed_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; bars in its cells are escaped."""
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        # A bar would begin another cell.
        lines.append(_line([cell.replace("|", "\\|") for cell in row]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def format_estimate(estimate: Estimate, *, digits: int = 3, missing: str = "-", users: int = FEWEST_ITEMS) -> str:
    """The number with its 95 % interval, as in .412 [.350, .471]; marked where it is over few users."""
    if estimate.value is None:
        return missing
    value = format_number(estimate.value, digits=digits)
    if estimate.low is None or estimate.high is None:
        return value
    low = format_number(estimate.low, digits=digits)
    high = format_number(estimate.high, digits=digits)
    if low == value == high:  # all users alike, as where calls cost nothing
        return value
    mark = ROUGH if users < FEWEST_ITEMS else ""
    return f"{value} [{low}, {high}]{mark}"


def interval_note(users: int, noun: str) -> str:
    """Return the sentence on brackets, and on a mark behind them."""
    rough = f" {rough_note(users, noun)}".rstrip()
    way = f"bootstrap, expanded percentile; Wilson's where all {noun}s are alike"
    return f"Brackets hold 95 % intervals over {noun}s ({way}).{rough}"


def embedded_model_note(manifest: RunManifest) -> str:
    """Return the warning that scores on the embedded model say nothing about memories; "" for a real model."""
    if not manifest.models["assistant"].startswith(MODEL_FAMILY):
        return ""
    return (
        "The reasoner is the embedded model, a program that reads long contexts without fault: these scores show "
        "that the evaluation runs, and say nothing about which memory is better."
    )


def nothing_recalled(run: FinishedRun) -> str:
    """The warning that a memory gave nothing back for any question; "" where it did, and for `none`, which never does."""
    spec = run.manifest.memory
    asked = 0
    for row in run.answers:
        if row.kind == "question" and row.tries:
            asked += 1
            if row.memories:
                return ""
    episodes = next((figures for figures in run.results.episodes if figures.kind == "question"), None)
    if episodes is not None and not episodes.asked:  # nothing had left the window, so that there was nothing to give
        return ""
    if not asked or spec.whole or spec.kind == "none":
        return ""
    return (
        f"{spec.name} gave back nothing for any of {counted(asked, 'question')}. It may pass over the kind of event that "
        "is written here: user, assistant or document."
    )


def unread_answers(run: FinishedRun) -> str:
    """The warning that answers could not be read, with one of them; "" for a few, which any model may spoil."""
    unread = [row for row in run.answers if row.status == "unscored" and row.tries and not row.reason.startswith(CALL_FAILED)]
    if len(unread) <= FEW_UNREAD:
        return ""
    # One with words shows more than one without.
    shown = next((row for row in unread if row.reply.strip()), unread[0])
    words = UNREADABLE.sub(" ", " ".join(shown.reply.split()))
    if len(words) > LONGEST_ANSWER:
        words = f"{words[: LONGEST_ANSWER // 2]} … {words[-LONGEST_ANSWER // 2 :]}"
    said = f"`{words.replace('`', chr(39))}`" if words else "nothing that counts as an answer"
    return (
        f"{counted(len(unread), 'answer')} could not be read and count as wrong. One of them, to {shown.item} of "
        f"{shown.user_id}, is {said}; {shown.reason.rstrip('.')}."
    )


def boundary_note(manifest: RunManifest) -> str:
    """Return the sentence on what kept the memory's code in; "" for code of ours."""
    name = manifest.memory.name
    boundary = manifest.boundary
    if not boundary:
        return ""
    if boundary == IN_PROCESS:
        return f"{name} ran in the runner's own process, for debugging: its code could read the answers and change the scores."
    if boundary == "service":
        return f"{name} is a service: nothing here says what it can read on the machine that it runs on."
    if boundary.startswith(PROCESS_ALONE):
        return f"{name} ran in a process of its own, without a boundary of the system: its code could read the release."
    return f"{name} ran in a process of its own, kept in by {boundary}."


def repeat_label(manifest: RunManifest) -> str:
    """Return what a repetition of the run depends on: files that can be kept, a service, or a model that others host."""
    services = list[str]()
    for place in manifest.places:
        address, _, identity = place.partition(" ")
        host = urlsplit(address).hostname or ""
        if not is_local(host):
            return f"depends on a hosted model at {address}, which can change or end"
        # A server that tells a digest or the like serves a file that can be kept.
        if not identity:
            services.append(f"what serves its models at {address}, which does not say which file it reads")
    if manifest.boundary == "service":
        services.append("the service that is its memory")
    elif manifest.boundary.endswith("with network"):
        services.append("whatever its memory asks in the network")
    if services:
        return f"depends on {' and '.join(services)}"
    return "can be pinned: files and local models decide everything"


def is_local(host: str) -> bool:
    """Return True for a name or number of this machine, or of a private network."""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal"))


def beside_the_paper(manifest: RunManifest) -> str:
    """Return the sentence on standing beside the paper's Tables 2 and 6, which says why not; "" for documents."""
    if manifest.mode == "documents":
        return ""
    differing = [role for role, name in manifest.models.items() if PAPER_MODELS[role] != name]
    reasons = list[str]()
    if manifest.wording != "paper":
        reasons.append("the questions are not in the paper's form (--wording paper)")
    if differing:
        reasons.append(f"other models play {', '.join(differing)}")
    if manifest.extra_body:
        reasons.append("requests have further fields (--extra-body)")
    if manifest.recall_query == "question":
        reasons.append("memories are asked without the options")
    if manifest.probes != "question":
        reasons.append("the state probes are not asked as the reference asks them")
    if manifest.mode == "off-policy":
        reasons.append("the dialogues are another's")
    if reasons:
        return f"These scores may not stand beside the paper's Tables 2 and 6: {'; '.join(reasons)}."
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
    """Return each setting of a memory with its name; of long ones only the length."""
    labels = dict[str, str]()
    for name, value in spec.settings.items():
        text = str(value)
        if len(text) <= LONGEST:
            labels[name] = f"{name} {' '.join(text.split())}"
        else:
            labels[name] = f"{name} of {len(text):,} characters"
    return labels


def metric_label(name: str) -> str:
    """A metric's name for a reader."""
    return name.replace("_", " ")


def recall_label(manifest: RunManifest) -> str:
    """Return what the memory was asked with; "" for documents, whose questions have no options for it."""
    if manifest.mode == "documents" or manifest.memory.whole:
        return ""
    return "asked with the question alone" if manifest.recall_query == "question" else "asked with the question and its options"


def mode_label(manifest: RunManifest) -> str:
    """On-policy, or off-policy with whose dialogues; of episodes, by which run's they were begun."""
    if not manifest.replayed_run:
        return manifest.mode
    what = "begun with the episodes" if manifest.mode == "documents" else "with the dialogues"
    return f"{manifest.mode} {what} of {manifest.replayed_run}"
