"""Releases that bring a quality report: a card that tells its figures, the report as JSON, and its page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from assets.records.base import Record
from assets.records.estimate import with_interval
from dataset_card.card.basic import basic_card
from dataset_card.release.content import ReleaseExtras
from dataset_card.release.manifest import CARD, REPORT, REPORT_PAGE, ManifestFile


class ReportedExtras(ReleaseExtras):
    """A benchmark names its card's template and the page of its report."""

    template: ClassVar[str]
    render_report: ClassVar[Callable[[Any], str]]

    def documents(self, files: Sequence[ManifestFile], *, rows: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        content = self.content
        report = content.report if isinstance(content.report, Record) else None
        text = basic_card(
            content.form.benchmark,
            content.recipe,
            items=self.items,
            tables=rows,
            prompts=content.prompts,
            template=self.template,
            about=content.form.about,
            report=report,
            attribution=content.form.attribution(content.recipe),
            shown=with_interval,
        )
        yield CARD, text.encode()
        if report is not None:
            yield REPORT, (report.model_dump_json(indent=2) + "\n").encode()
            yield REPORT_PAGE, type(self).render_report(report).encode()
