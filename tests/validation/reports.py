"""Reports on users given one by one."""

from collections.abc import Iterable, Sequence

from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport, ShortcutLine
from assets.recipe.recipe import Recipe
from assets.records.failure import Failure
from validation.amemgym.report.build import MeasuredElsewhere, ReportBuilder
from validation.amemgym.report.finished_users import FinishedUser
from validation.amemgym.shortcuts import ShortcutBaselines


def report_of(recipe: Recipe, *users: FinishedUser, failures: Sequence[Failure] = ()) -> QualityReport:
    """The report on these users."""
    builder = ReportBuilder(recipe, users=len(users))
    for user in users:
        builder.add(user)
    return builder.report(MeasuredElsewhere(failures=failures))


def shortcut_lines(
    episodes: Iterable[Episode], audits: Sequence[UserAudit] = (), *, recipe: Recipe
) -> tuple[ShortcutLine, ...]:
    """The shortcut baselines on these users."""
    baselines = ShortcutBaselines(recipe)
    for episode in episodes:
        baselines.add(episode, [one for audit in audits if audit.user_id == episode.user_id for one in audit.judgements])
    return baselines.lines()
