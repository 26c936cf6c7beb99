"""Reports on users given one by one."""

from collections.abc import Iterable, Sequence

from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.recipe.recipe import Recipe
from assets.records.failure import Failure
from assets.records.report import QualityReport, WallLine
from validation.amemgym.report.build import Additions, Survey
from validation.amemgym.report.finished_users import FinishedUser
from validation.amemgym.shortcuts.baselines import Wall


def report_of(recipe: Recipe, *users: FinishedUser, failures: Sequence[Failure] = ()) -> QualityReport:
    """The report on these users."""
    survey = Survey(recipe, users=len(users))
    for user in users:
        survey.add(user)
    return survey.report(Additions(failures=failures))


def wall_of(episodes: Iterable[Episode], audits: Sequence[UserAudit] = (), *, recipe: Recipe) -> tuple[WallLine, ...]:
    """The wall on these users."""
    wall = Wall(recipe)
    for episode in episodes:
        wall.add(episode, [one for audit in audits if audit.user_id == episode.user_id for one in audit.judgements])
    return wall.lines()
