"""The files of a release that hold no rows: card, figures, quality report, metadata, recipe, license."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from dataset_card.card.croissant import Described, croissant, croissant_path
from dataset_card.card.recipe import shared_recipe
from dataset_card.card.render import Card, render_card
from dataset_card.card.statements import LICENSE_TEXT
from dataset_card.diff.compare import RECIPE, REPORT
from dataset_card.errata.annotations import SETTLED, STUDIES, settled_bytes, studies_bytes
from dataset_card.release.manifest import CARD, ManifestFile
from dataset_card.release.writers import written
from validation.report.page import render_page

REPORT_PAGE = "quality_report.html"


def write_documents(card: Card, *, data_files: Sequence[ManifestFile], folder: Path) -> list[ManifestFile]:
    """Write them beside the data files, which are there already, and describe them."""
    return [written(folder / name, content, root=folder) for name, content in _contents(card, data_files)]


def _contents(card: Card, data_files: Sequence[ManifestFile]) -> Iterator[tuple[str, bytes]]:
    """Paths and bytes. What is not data lies at the top, where the card's links find it here and on the Hub alike."""
    recipe = shared_recipe(card.recipe).model_dump(mode="json")
    yield CARD, render_card(card).encode()
    yield RECIPE, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True).encode()
    yield "LICENSE", LICENSE_TEXT.encode()
    yield croissant_path(card.recipe.variant), croissant(Described(card.recipe, data_files, card.repository))
    for plot in card.plots.values():
        yield plot.path, plot.png
    if card.errata:
        yield SETTLED, settled_bytes(card.errata)
    if card.studies:
        yield STUDIES, studies_bytes(card.studies)
    if card.report is not None:
        yield REPORT, (card.report.model_dump_json(indent=2) + "\n").encode()
        yield REPORT_PAGE, render_page(card.report).encode()
