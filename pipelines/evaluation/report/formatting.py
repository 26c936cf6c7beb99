"""Text for readers: tables, estimates with their intervals, the meaning of every metric, labels that tell runs apart."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from assets.records.estimate import LEAST_ROOM, NOTHING
from assets.records.readable import UNREADABLE
from assets.reporting.plurals import counted
from pipelines.embedded.bank import MODEL_FAMILY
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.own import ASKED, FIRED
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.options import PAPER_MODELS
from pipelines.evaluation.records import CALL_FAILED, RunManifest
from pipelines.memories.code_identity import ENVIRONMENT
from pipelines.memories.contract import MemorySpec
from pipelines.memories.hosting.confinement import IN_PROCESS, PROCESS_ALONE

LONGEST = 80  # characters of a setting that is shown: a policy would fill the page
FEW_UNREAD = 3  # answers
LONGEST_ANSWER = 240  # characters of an unread answer: its beginning and its end
NEARLY_ALL = 0.9  # of what a memory was told: whoever gives that back leaves the search to the reasoner
RED = 0.02  # the share of unscored answers that is marked
PINNED = "can be pinned"  # what a run is whose repetition depends on nothing that changes by itself
# What stands in no row, so that nobody can compute it again.
TAKEN_AS_TOLD = (
    "the replies themselves, and what the judge saw in the simulated user's messages",
    "the calls, tokens and money of dialogues and of the memory's own models, what the memory stores, lost and repeated calls",
    "why an item ended early",
    "what was asked of fresh users, whom only the owner of the run has",
    "the seconds in latency.json, the words of report.md and of the page's texts, and files that no run writes",
)


def embedded_model_note(run: FinishedRun) -> str:
    """Return the warning that scores on the embedded model say nothing about memories; "" for a real model."""
    if not run.manifest.models["assistant"].startswith(MODEL_FAMILY):
        return ""
    bound = run.results.baselines.get("upper_bound", NOTHING).value
    chance = run.results.baselines.get("random", NOTHING).value
    reads = "reads long contexts without fault"
    if bound is not None and chance is not None and bound - chance < LEAST_ROOM:
        reads = f"cannot read these texts: told the state, it is right {bound:.3f} of the time, and a guess {chance:.3f}"
    return (
        f"The reasoner is the embedded model, a program that {reads}. These scores show that the evaluation runs, and say "
        "nothing about which memory is better."
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
    # Nothing had left the window, so that there was nothing to give; or an agent asked by a call, and got something.
    if run.results.own_figure(ASKED) == 0 or run.results.own_figure(FIRED):
        return ""
    if not asked or spec.whole or spec.kind == "none":
        return ""
    return (
        f"{spec.name} gave back nothing for any of {counted(asked, 'question')}. It may pass over the kind of event that "
        "is written here: user, assistant or document."
    )


def gives_back_everything(run: FinishedRun) -> str:
    """Return the sentence on a memory that gives back (nearly) all that it is told; "" for others, and for `full-history`."""
    spec = run.manifest.memory
    share = run.results.operations.given_back
    if spec.kind == "full-history" or share is None or share < NEARLY_ALL:
        return ""
    return f"{spec.name} gives back {100 * share:.0f} % of all that it has been told: here it is full history by another name."


def reading_order(run: FinishedRun) -> str:
    """Return the hint that misread answers had an older value below the newer one; "" where none had."""
    misread = [row for row in run.answers if row.failure == "misread"]
    against_time = sum(row.against_time for row in misread)
    if not against_time:
        return ""
    return (
        f"In {against_time:,} of {counted(len(misread), 'misread answer')} an older value stood below the newer one: "
        f"{run.manifest.memory.name} should give texts back in order of time."
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


def opened_note(run: FinishedRun) -> str:
    """Return the sentence on files that the memory opened and its digest does not have; "" where there are none."""
    opened = sorted({name for row in run.usage for name in row.opened})
    if not opened:
        return ""
    return (
        f"{run.manifest.memory.name} opened {', '.join(opened)}, which its code does not name: the run's id does not tell what "
        "they held."
    )


def price_note(results: Results) -> str:
    """Return the sentence on what a thousand answers cost: all that the memory caused, and the reasoner's apart."""
    memory = results.costs["memory_usd_per_1000_answers"].value
    reasoner = results.costs["reasoner_usd_per_1000_answers"].value
    own = "an unknown sum for whatever models the memory asks by itself"
    if memory is not None:
        own = f"${memory:.4f} for all that the memory asks of its own models and of embeddings"
    ours = "an unknown sum" if reasoner is None else f"${reasoner:.4f}"
    return f"At list prices a thousand answers take {own}, and {ours} for the reasoner."


def more_models_note(manifest: RunManifest) -> str:
    """Return the sentence on models that the memory may ask beside its own; "" where it may ask none."""
    if not manifest.more_models:
        return ""
    return f"{manifest.memory.name} may also ask {', '.join(manifest.more_models)}: the setting more_models allows it."


def loss_mark(results: Results) -> str:
    """Return the mark that stands beside a score where writes or recalls were lost, or writes repeated; else ""."""
    return " (!)" if results.losses else ""


def loss_notes(run: FinishedRun) -> list[str]:
    """Return the sentences on what was lost or repeated of the memory's calls, and on texts that were embedded in parts."""
    notes = list[str]()
    work = run.results.operations.work
    if work.lost or work.repeated:
        share = 100 * work.repeated / max(1, work.calls)
        marked = (
            f"(!) {run.results.losses}, so that the score may be another than the memory's own. " if run.results.losses else ""
        )
        notes.append(
            f"{marked}Of {counted(work.calls, 'call')} of the memory, {work.repeated:,} ({share:.2f} %) failed for a reason "
            "that passes and were served when they were made again."
        )
    if work.halved_texts:
        notes.append(
            f"{counted(work.halved_texts, 'text')} had more tokens than the model of embeddings takes, and got the mean of the "
            "vectors of their parts."
        )
    return notes


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
    if ENVIRONMENT in manifest.memory_version:
        return f"{PINNED}: files, local models and the packages of its memory's environment decide everything"
    return f"{PINNED}: files and local models decide everything"


def is_local(host: str) -> bool:
    """Return True for a name or number of this machine, or of a private network."""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal"))


def beside_the_paper(manifest: RunManifest) -> str:
    """Return the sentence on standing beside the paper's Tables 2 and 6, which says why not; "" for documents."""
    if manifest.mode != "dialogue":
        return ""
    differing = [role for role, name in manifest.models.items() if PAPER_MODELS[role] != name]
    reasons = list[str]()
    if manifest.wording != "paper":
        reasons.append("the questions are not in the paper's form (wording: paper)")
    if differing:
        reasons.append(f"other models play {', '.join(differing)}")
    if manifest.extra_body:
        reasons.append("requests have further fields (extra_body)")
    if manifest.more_models:
        reasons.append("the memory may ask further models (more_models)")
    if manifest.recall_query == "question":
        reasons.append("memories are asked without the options")
    if manifest.later_holds:
        reasons.append("models are told that later entries hold")
    if manifest.probes != "question":
        reasons.append("the state probes are not asked as the reference asks them")
    if manifest.is_off_policy:
        reasons.append("the dialogues are another's")
    if reasons:
        return f"These scores may not stand beside the paper's Tables 2 and 6: {'; '.join(reasons)}."
    return (
        "Questions, order of options and models are the paper's: on the paper's own data these scores may stand beside its "
        "Tables 2 and 6."
    )


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


def recall_label(manifest: RunManifest) -> str:
    """Return what the memory was asked with; "" for documents, whose questions have no options for it."""
    if manifest.mode != "dialogue" or manifest.memory.whole:
        return ""
    return "asked with the question alone" if manifest.recall_query == "question" else "asked with the question and its options"


def mode_label(manifest: RunManifest) -> str:
    """On-policy, or off-policy with whose dialogues; of episodes, by which run's they were begun."""
    if not manifest.replayed_run:
        return manifest.policy
    what = "with the dialogues" if manifest.is_off_policy else "begun with the episodes"
    return f"{manifest.policy} {what} of {manifest.replayed_run}"
