"""Where a wrong answer was lost: written badly, read badly, or known and not used (section 3.3, Figure 3).

A probe with k choices is right by luck in 1 of k cases, so that what is not known passes for known, and a write failure for
one of utilization. The shares correct this: a probe that is right counts 1, and one that is wrong -1 / (k - 1), which is on
the average 1 for what is known and 0 for what is guessed. Products of such counts of different probes stand for "and". Single
shares may be negative or above 1; their means estimate the rates without luck, and the three shares of an answer add up to 1.
"""

from collections.abc import Mapping, Sequence
from math import prod

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.interview import last_update_period
from pipelines.evaluation.records import AnswerRow, AskKind, Failure

Probes = Mapping[tuple[int, str], AnswerRow]
Shares = dict[str, float]
NOT_KNOWN = ("wrong", "unknown")


def diagnose(episode: Episode, answers: Sequence[AnswerRow]) -> list[AnswerRow]:
    """One user's answers, the wrong ones to questions with their failures by either kind of state probe."""
    forced, free = _probes(answers, "state"), _probes(answers, "state_or_unknown")
    needed = {question.question_id: question.required_info for question in episode.questions}

    def with_failure(answer: AnswerRow) -> AnswerRow:
        if answer.kind != "question" or answer.status != "wrong":
            return answer
        names = needed[answer.item]
        failure = failure_of(episode, names, forced, period=answer.period)
        unsure: Failure = failure_of(episode, names, free, period=answer.period) if free else ""
        # Where a probe of this period is unscored, guesses cannot be corrected for, and there are no shares.
        probed = failure != "undiagnosed" and all(forced[answer.period, name].status != "unscored" for name in names)
        shares = shares_of(episode, names, forced, period=answer.period) if probed else {}
        return answer.model_copy(update={"failure": failure, "failure_if_unsure": unsure, **shares})

    return [with_failure(answer) for answer in answers]


def failure_of(episode: Episode, names: Sequence[str], probes: Probes, *, period: int) -> Failure:
    """The stage that lost a wrong answer which needs these variables.

    utilization: every needed value is known now. Otherwise the values not known now decide by their probes at the
    period in which they were last updated: write, if one was not known even then, else read. undiagnosed: a probe is
    unscored without which nothing is decided, as one write failure decides alone.
    """
    now = {name: probes[period, name].status for name in names}
    lost = [name for name, status in now.items() if status in NOT_KNOWN]
    then = [probes[last_update_period(episode, name, period=period), name].status for name in lost]
    if any(status in NOT_KNOWN for status in then):
        return "write"
    if "unscored" in (*now.values(), *then):
        return "undiagnosed"
    return "read" if lost else "utilization"


def shares_of(episode: Episode, names: Sequence[str], probes: Probes, *, period: int) -> Shares:
    """The shares of write, read and utilization in one wrong answer, corrected for guessed probes; they add up to 1.

    A value that is known now was written, whatever its earlier probe says. An unscored earlier probe counts as wrong.
    """
    known, written = list[float](), list[float]()
    for name in names:
        update = last_update_period(episode, name, period=period)
        now, then = _known(probes[period, name]), _known(probes[update, name])
        known.append(now)
        # Not written: neither known now nor then. In the period of the writing itself both are one probe.
        written.append(now if update == period else 1 - (1 - now) * (1 - then))
    utilization, stored = prod(known), prod(written)
    return {"write_share": 1 - stored, "read_share": stored - utilization, "utilization_share": utilization}


def _known(probe: AnswerRow) -> float:
    return 1.0 if probe.status == "right" else -1 / max(1, probe.options - 1)


def _probes(answers: Sequence[AnswerRow], kind: AskKind) -> Probes:
    return {(answer.period, answer.item): answer for answer in answers if answer.kind == kind}
