"""The parts of releases of tasks with documents in turns beside items and tables: a card with ablation, lengths and funnel."""

from assets.memory_items.documents import TOKENIZER
from dataset_card.reported import ReportedExtras
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


class MemoryItemsExtras(ReportedExtras):
    """The card and the quality report of tasks with documents in turns."""

    template = "items_card.md.j2"
    render_report = staticmethod(render_document_page)
