"""Where a wrong answer was lost: written badly, read badly, or known and not used (section 3.3, Figure 3).

A probe with k choices is right by luck in 1 of k cases, so that what is not known passes for known, and a write failure for
one of utilization. The shares correct this: a probe that is right counts 1, and one that is wrong -1 / (k - 1), which is on
the average 1 for what is known and 0 for what is guessed. Products of such counts of different probes stand for "and". Single
shares may be negative or above 1; their means estimate the rates without luck, and the three shares of an answer add up to 1.
"""

from collections.abc import Sequence
from math import prod

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.amemgym.interview import last_update_period
from pipelines.evaluation.records import AnswerRow, AskKind, Failure

NOT_KNOWN = ("wrong", "unknown")


class StateProbes:
    """One user's probes of one kind: by period, variable and, where they were asked per question, the question."""

    def __init__(self, answers: Sequence[AnswerRow], kind: AskKind) -> None:
        self._rows = {(row.period, row.item, row.probe): row for row in answers if row.kind == kind}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def of(self, question: str, name: str, period: int) -> AnswerRow:
        """The probe of the variable that goes with the question."""
        own = self._rows.get((period, name, question))
        return own if own is not None else self._rows[period, name, ""]


def diagnose(episode: Episode, answers: Sequence[AnswerRow]) -> list[AnswerRow]:
    """One user's answers, the wrong ones to questions with their failures by either kind of state probe.

    The others say whether all needed values were known, for the table of probes and answers.
    """
    forced, free = StateProbes(answers, "state"), StateProbes(answers, "state_or_unknown")
    needed = {question.question_id: question.required_info for question in episode.questions}

    def with_failure(answer: AnswerRow) -> AnswerRow:
        if answer.kind != "question" or not forced:
            return answer
        names, item = needed[answer.item], answer.item
        now = [forced.of(item, name, answer.period).status for name in names]
        answer = answer.model_copy(update={"known": all(status == "right" for status in now)})
        if answer.status != "wrong":
            return answer
        failure = failure_of(episode, names, forced, question=item, period=answer.period)
        unsure: Failure = failure_of(episode, names, free, question=item, period=answer.period) if free else ""
        # Where a probe of this period is unscored, guesses cannot be corrected for, and there are no shares.
        whole = failure != "undiagnosed" and "unscored" not in now
        shares = shares_of(episode, names, forced, question=item, period=answer.period) if whole else {}
        return answer.model_copy(update={"failure": failure, "failure_if_unsure": unsure, **shares})

    return [with_failure(answer) for answer in answers]


def failure_of(episode: Episode, names: Sequence[str], probes: StateProbes, *, question: str, period: int) -> Failure:
    """The stage that lost a wrong answer which needs these variables.

    utilization: every needed value is known now. Otherwise the values not known now decide by their probes at the
    period in which they were last updated: write, if one was not known even then, else read. undiagnosed: a probe is
    unscored without which nothing is decided, as one write failure decides alone.
    """
    now = {name: probes.of(question, name, period).status for name in names}
    lost = [name for name, status in now.items() if status in NOT_KNOWN]
    then = [probes.of(question, name, last_update_period(episode, name, period=period)).status for name in lost]
    if any(status in NOT_KNOWN for status in then):
        return "write"
    if "unscored" in (*now.values(), *then):
        return "undiagnosed"
    return "read" if lost else "utilization"


def shares_of(episode: Episode, names: Sequence[str], probes: StateProbes, *, question: str, period: int) -> dict[str, float]:
    """The shares of write, read and utilization in one wrong answer, corrected for guessed probes; they add up to 1.

    A value that is known now was written, whatever its earlier probe says. An unscored earlier probe counts as wrong.
    """
    known, written = list[float](), list[float]()
    for name in names:
        update = last_update_period(episode, name, period=period)
        now, then = _known(probes.of(question, name, period)), _known(probes.of(question, name, update))
        known.append(now)
        # Not written: neither known now nor then. In the period of the writing itself both are one probe.
        written.append(now if update == period else 1 - (1 - now) * (1 - then))
    utilization, stored = prod(known), prod(written)
    return {"write_share": 1 - stored, "read_share": stored - utilization, "utilization_share": utilization}


def _known(probe: AnswerRow) -> float:
    return 1.0 if probe.status == "right" else -1 / max(1, probe.options - 1)
