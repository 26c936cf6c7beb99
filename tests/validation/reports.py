"""Reports on users given one by one."""

from collections.abc import Iterable, Sequence

from assets.amemgym.episode_parts import parts_of
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport, ShortcutLine
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Failure, GateRecord
from validation.amemgym.report.builder import QualityReportBuilder
from validation.amemgym.shortcuts.baselines import ShortcutBaselines
from validation.report.builder import SharedLines
from validation.rules import RecordsOfItem


def finished_user(episode: Episode, *, votes: Sequence[GateRecord] = (), audit: UserAudit | None = None) -> RecordsOfItem:
    """What a report sees of a user: the parts of the episode with votes of gates, and the audit where there is one."""
    parts = parts_of(episode)
    parts["answers"] = parts["answers"].model_copy(update={"gate_records": tuple(votes)})
    return {**parts, "audits": audit} if audit else parts


def report_of(recipe: AMemGymRecipe, *users: RecordsOfItem, failures: Sequence[Failure] = ()) -> QualityReport:
    builder = QualityReportBuilder(recipe, users=len(users))
    for user in users:
        builder.add(user)
    return builder.finished_report(SharedLines(failures=tuple(failures)))


def shortcut_lines(
    episodes: Iterable[Episode], audits: Sequence[UserAudit] = (), *, recipe: AMemGymRecipe
) -> tuple[ShortcutLine, ...]:
    """The shortcut baselines on these users."""
    baselines = ShortcutBaselines(recipe)
    for episode in episodes:
        baselines.add(episode, [one for audit in audits if audit.user_id == episode.user_id for one in audit.judgements])
    return baselines.lines()
