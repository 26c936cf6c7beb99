"""Reports on users given one by one."""

from collections.abc import Iterable, Sequence

from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport, ShortcutLine
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Failure
from validation.amemgym.report.builder import FinishedUser, QualityReportBuilder
from validation.amemgym.shortcuts.baselines import ShortcutBaselines
from validation.report.builder import SharedLines


def report_of(recipe: AMemGymRecipe, *users: FinishedUser, failures: Sequence[Failure] = ()) -> QualityReport:
    builder = QualityReportBuilder(recipe, users=len(users))
    for user in users:
        builder.add_user(user)
    return builder.finished_report(SharedLines(failures=tuple(failures)))


def shortcut_lines(
    episodes: Iterable[Episode], audits: Sequence[UserAudit] = (), *, recipe: AMemGymRecipe
) -> tuple[ShortcutLine, ...]:
    """The shortcut baselines on these users."""
    baselines = ShortcutBaselines(recipe)
    for episode in episodes:
        baselines.add(episode, [one for audit in audits if audit.user_id == episode.user_id for one in audit.judgements])
    return baselines.lines()
