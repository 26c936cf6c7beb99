"""Report on the quality of users from elsewhere, who come as episodes; gates and audit ask judges only on request."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from assets.amemgym.audits.decoys import judge_decoys
from assets.amemgym.audits.given_texts import (
    judge_answers,
    judge_events,
    judge_profile_and_schema,
    judge_queries,
    judge_summaries,
)
from assets.amemgym.audits.stage import AUDITS, audit_user
from assets.amemgym.audits.user_parts import AuditedUser
from assets.amemgym.episode_parts import named_once, parts_of
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.report import QualityReport
from assets.amemgym.records.state import EventSet, SessionSet, StateSchema, StateTrajectory
from assets.amemgym.records.user import LeftOut
from assets.engine.ports import RunContext
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Failure, ItemFailed, ItemRecord
from validation.amemgym.report.diversity import shared_name
from validation.amemgym.report.gates import GateErrors, unfit_judges
from validation.finished_items import records_of_item
from validation.report.asset import report_on
from validation.report.validation import Validation
from validation.rules import RecordsByStage, RecordsOfItem

UNIT = "quality"
# The stages whose gates read texts of anybody; a data set without our kind of events has none to stand against it.
JUDGED = ("state_schema", "state_trajectory", "session_queries", "answers")


@dataclass(frozen=True)
class GivenUsers:
    """Users from elsewhere, in the form in which a report reads a finished set. `records` by stage and user."""

    run_context: RunContext
    recipe: AMemGymRecipe
    records: RecordsByStage
    voted_stages: Collection[str] = ()
    validated: bool = False

    @property
    def count(self) -> int:
        return len(self.records["episodes"])

    @property
    def stages(self) -> Collection[str]:
        return self.records.keys()

    def failures(self) -> Iterator[Failure]:
        return iter(())

    def items(self) -> Iterator[RecordsOfItem]:
        for user in self.records["episodes"]:
            yield records_of_item(user, self.records)


@dataclass(frozen=True)
class GivenData:
    """The data to report on. `recipe`: the wanted users, and the judges; `gates`, `audit`: judges are asked.

    `writer`: the model that wrote them, "" where the data do not say.
    """

    episodes: Sequence[Episode]
    recipe: AMemGymRecipe
    left_out: tuple[LeftOut, ...] = ()
    writer: str = ""
    gates: bool = False
    audit: bool = False

    @property
    def judged(self) -> bool:
        return self.gates or self.audit


async def report_on_given(
    data: GivenData, validation: Validation, *, run_context: RunContext, project: Path
) -> tuple[QualityReport, list[str]]:
    """Return the report, and sentences about what is left out of it. `project`: the folder of Great Expectations' files.

    Raises EndpointError and BudgetReached when judges are asked, SuiteError, OSError.
    """
    problems: list[str] = []
    unfit = ""
    parts: list[Mapping[str, ItemRecord]] = list(map(parts_of, data.episodes))
    if data.judged:
        model = run_context.for_unit(UNIT, recipe=data.recipe).model
        judged = await gather_all(*[_judge_user(own, data, model=model, problems=problems) for own in parts])
        unfit = _unfit_judges(judged, data)
        parts = parts if unfit else judged
    records: defaultdict[str, dict[str, ItemRecord]] = defaultdict(dict)
    for own in parts:
        for stage, record in own.items():
            records[stage][record.item_id] = record
    # The reference's shape has no place for a cast, so its absence is no fault.
    cast_is_there = any(episode.user_profile.cast.lines for episode in data.episodes)
    recipe = data.recipe.model_copy(update={"cast": data.recipe.cast and cast_is_there})
    users = GivenUsers(run_context, recipe, records, voted_stages=JUDGED if data.gates and not unfit else ())
    made, more = await report_on(users, validation, project=project)
    report = cast(QualityReport, made)
    known: dict[str, object] = {"judges": report.judges if data.judged else ()}
    if report.ceiling_sample and not data.writer:
        known["ceiling_sample"] = report.ceiling_sample.model_copy(update={"by": "unknown"})
    told = {"writer": shared_name(data.writer), "left_out": data.left_out, "unfit_judges": unfit}
    report = report.model_copy(update={**told, **known})
    return report, [*problems, *more]


def _unfit_judges(judged: Sequence[Mapping[str, ItemRecord]], data: GivenData) -> str:
    errors = GateErrors()
    for own in judged:
        if AUDITS.name in own:
            errors.add(cast(UserAudit, own[AUDITS.name]))
    return unfit_judges(errors.of_readings(), judges=map(shared_name, data.recipe.models.judge.panel))


async def _judge_user(
    parts: Mapping[str, ItemRecord], data: GivenData, *, model: LanguageModel, problems: list[str]
) -> Mapping[str, ItemRecord]:
    """Return one user's parts with votes and audit; without, when a judge gives no reply that can be used."""
    profile = cast(UserProfile, parts["user_profiles"])
    trajectory = cast(StateTrajectory, parts["state_trajectory"])
    sessions = cast(SessionSet, parts["session_queries"])
    everything = cast(AnswerSet, parts["answers"])
    written = cast(StateSchema, parts["state_schema"])
    schema, answers = named_once(written, everything)
    user = AuditedUser(profile, schema, trajectory, sessions, answers, data.recipe, model)
    judged = dict(parts)
    try:
        if data.gates:
            queries, replies = await gather_all(judge_queries(user), judge_answers(user))
            judged["session_queries"] = sessions.model_copy(update={"gate_records": queries})
            judged["answers"] = everything.model_copy(update={"gate_records": replies})
            if data.recipe.gates.consistency:
                judged["state_schema"] = await judge_profile_and_schema(profile, written, recipe=data.recipe, model=model)
                summaries, events = await gather_all(judge_summaries(user), judge_events(user))
                judged["state_trajectory"] = trajectory.model_copy(update={"gate_records": summaries})
                judged["events"] = cast(EventSet, parts["events"]).model_copy(update={"gate_records": events})
        if data.audit:
            judged[AUDITS.name] = await audit_user(
                profile, schema, trajectory, sessions, answers, recipe=data.recipe, model=model
            )
        else:
            judged[AUDITS.name] = UserAudit(user_id=profile.user_id, decoys=tuple(await judge_decoys(user)))
    except ItemFailed as error:
        problems.append(f"User {profile.user_id} could not be judged: {error.message}")
        if data.audit:
            judged[AUDITS.name] = UserAudit(user_id=profile.user_id)
    return judged
