"""Where a wrong answer was lost: written badly, read badly, or known and not used (section 3.3, Figure 3)."""

from collections.abc import Sequence

from assets.records.episode import Episode
from pipelines.evaluation.interview import last_written
from pipelines.evaluation.records import Answer, AskKind, Failure, Status

Probes = dict[tuple[int, str], Status]


def diagnosed(episode: Episode, answers: Sequence[Answer]) -> list[Answer]:
    """One user's answers, the wrong ones to questions with their failures by either kind of state probe."""
    forced, free = _probes(answers, "state"), _probes(answers, "state_or_unknown")
    return [
        answer.model_copy(
            update={
                "failure": failure_of(episode, answer, forced),
                "failure_if_unsure": failure_of(episode, answer, free) if free else "",
            }
        )
        for answer in answers
    ]


def failure_of(episode: Episode, answer: Answer, probes: Probes) -> Failure:
    """The stage that failed; "" for what is not a wrong answer to a question.

    utilization: every needed value is known now. Otherwise the values not known now decide by their probes at the
    period in which they were last told: write, if one was not known even then, else read. undiagnosed: a probe that
    would decide is unscored.
    """
    if answer.kind != "question" or answer.status != "wrong":
        return ""
    needed = next(q.required_info for q in episode.questions if q.question_id == answer.item)
    now = {name: probes[answer.period, name] for name in needed}
    if "unscored" in now.values():
        return "undiagnosed"
    lost = [name for name, status in now.items() if status != "right"]
    if not lost:
        return "utilization"
    then = [probes[last_written(episode, name, period=answer.period), name] for name in lost]
    if any(status in ("wrong", "unknown") for status in then):
        return "write"
    return "undiagnosed" if "unscored" in then else "read"


def _probes(answers: Sequence[Answer], kind: AskKind) -> Probes:
    return {(answer.period, answer.item): answer.status for answer in answers if answer.kind == kind}
