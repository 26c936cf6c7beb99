"""The parts of releases of tasks with documents in turns beside items and tables: a card with ablation, lengths and funnel."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from assets.memory_items.documents import TOKENIZER
from assets.memory_items.report import MemoryItemsReport
from assets.recipe.recipe import Recipe
from assets.records.estimate import with_interval
from dataset_card.card.basic import basic_card
from dataset_card.card.header import dataset_info
from dataset_card.card.recipe import embedded_model, shared_recipe
from dataset_card.release.content import ReleaseExtras
from dataset_card.release.manifest import CARD, REPORT, REPORT_PAGE, ManifestFile
from validation.memory_items.report import render_document_page

COUNTED_BY = {"tokens": TOKENIZER}
METRICS: dict[str, str] = {
    "hops of a task": "SELECT sum(hops) / count(*) FROM {tasks}",
    "documents of a task": "SELECT (SELECT count(*) FROM {documents}) / (SELECT count(*) FROM {tasks})",
    "characters of a document": "SELECT sum(length(text)) / count(*) FROM {documents}",
    "characters of a question": "SELECT sum(length(question)) / count(*) FROM {tasks}",
    "share of documents that an answer needs": "SELECT count(*) FILTER (role = 'support') / count(*) FROM {documents}",
}

FIGURES: dict[str, str] = {
    "conditions.right": "right readings, given {condition}",
    "told_apart": "support told from filler by {key}",
    "arrival.right": "solved by arrival alone: {rule}",
    "arrival_gap": "the first is right more often than the last",
}


class MemoryItemsExtras(ReleaseExtras):
    """The card and the quality report; a benchmark says in `about` what its items are."""

    about: ClassVar[str]

    def about_items(self, recipe: Recipe) -> str:
        """Return what the items of this recipe are."""
        return self.about

    def attribution(self, recipe: Recipe) -> str:
        """Return the authors of real documents; empty where there are none."""
        return ""

    def documents(self, files: Sequence[ManifestFile], *, rows: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        content = self.content
        report = content.report if isinstance(content.report, MemoryItemsReport) else None
        text = basic_card(
            content.form.benchmark,
            content.recipe,
            items=self.items,
            tables=rows,
            prompts=content.prompts,
            info=dataset_info(self.folder, variant=content.recipe.variant, tables=rows),
            template="items_card.md.j2",
            about=self.about_items(content.recipe),
            report=report,
            embedded=embedded_model(shared_recipe(content.recipe)),
            attribution=self.attribution(content.recipe),
            shown=with_interval,
        )
        yield CARD, text.encode()
        if report is not None:
            yield REPORT, (report.model_dump_json(indent=2) + "\n").encode()
            yield REPORT_PAGE, render_document_page(report).encode()
