"""The parts of AMemGym's releases beside items and flat tables: `data.json`, the card with its figures, Croissant, errata."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import expect_recipe
from dataset_card.amemgym.card import Card, render_card
from dataset_card.amemgym.croissant import croissant, croissant_path
from dataset_card.amemgym.errata import Corrector
from dataset_card.amemgym.example import Example, example_of
from dataset_card.amemgym.plots import Statistics, plots
from dataset_card.amemgym.reference.data_json import ReferenceError, to_reference
from dataset_card.amemgym.reference.settings import settings_bytes, settings_of, settings_path
from dataset_card.amemgym.statements import data_json_path
from dataset_card.diff.errata_files import (
    ERRATA,
    SETTLED,
    ErrataError,
    read_errata,
    settled_bytes,
)
from dataset_card.release.content import FAILURES, GATE_RECORDS, ReleaseContent, ReleaseExtras, ReleaseFormat
from dataset_card.release.manifest import CARD, REPORT, REPORT_PAGE, ManifestFile, ReleaseError
from dataset_card.release.writers import JsonArrayWriter
from validation.amemgym.report.contents import FactCounter
from validation.amemgym.report.page import render_quality_page
from validation.amemgym.tables import TABLE_EXPECTATIONS


class AMemGymExtras(ReleaseExtras):
    """Files of AMemGym's releases; errata in the variant's folder are part of each release."""

    def __init__(self, content: ReleaseContent, *, folder: Path, home: Path, stack: ExitStack) -> None:
        super().__init__(content, folder=folder, home=home, stack=stack)
        try:
            self._corrector = Corrector(read_errata(home / ERRATA))
        except ErrataError as error:
            raise ReleaseError(str(error)) from error
        self._example: Example | None = None
        self._facts = FactCounter()
        self._statistics = Statistics()
        self._data_json = stack.enter_context(JsonArrayWriter(folder / data_json_path(content.recipe.variant)))

    def correct_items(self, items: Iterable[Episode]) -> Iterable[Episode]:
        return self._corrector.correct_episodes(items)

    def add(self, item: Episode) -> None:
        super().add(item)
        self._example = self._example or example_of(item)
        self._facts.add(item)
        self._statistics.add(item)
        try:
            self._data_json.add(to_reference(item))
        except ReferenceError as error:
            raise ReleaseError(f"data.json cannot hold an episode: {error}") from error

    def data_files(self) -> list[ManifestFile]:
        return [self._data_json.close(root=self.folder)]

    def counts(self, rows: Mapping[str, int]) -> dict[str, int]:
        facts = self._facts.facts(failures=self.content.failures)
        return {**facts.counts, GATE_RECORDS: rows[GATE_RECORDS], FAILURES: rows[FAILURES]}

    def documents(self, files: Sequence[ManifestFile], *, rows: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        """Yield the files that are not data: at the top, where the card's links lead in the folder and on the Hub alike."""
        content = self.content
        errata = self._corrector.outcomes()
        report = content.report if isinstance(content.report, QualityReport) else None
        recipe = expect_recipe(content.recipe, AMemGymRecipe)
        card = Card(
            recipe=recipe,
            facts=self._facts.facts(failures=content.failures),
            tables=rows,
            usage=content.usage,
            generator=content.generator,
            prompts=content.prompts,
            plots=plots(self._statistics, report),
            report=report,
            example=self._example,
            errata=errata,
        )
        yield CARD, render_card(card).encode()
        yield settings_path(data_json_path(recipe.variant)), settings_bytes(settings_of(recipe))
        yield croissant_path(recipe.variant), croissant(recipe, files)
        for plot in card.plots.values():
            yield plot.path, plot.png
        if errata:
            yield SETTLED, settled_bytes(errata)
        if report is not None:
            yield REPORT, (report.model_dump_json(indent=2) + "\n").encode()
            yield REPORT_PAGE, render_quality_page(report).encode()


AMEMGYM_RELEASE = ReleaseFormat(
    AMEMGYM,
    extras=AMemGymExtras,
    reported=True,
    expectations=TABLE_EXPECTATIONS,
    as_json=to_reference,
    # Errata may take questions away, so their number is not what the recipe says.
    counts_per_item=lambda recipe: {"periods": recipe.num_periods + 1},
    # The bytes of `base` and `extra` stay as they are.
    canary_in_files=False,
    card_description="The README of the release: computed facts in a written template, under the header that the Hub reads. "
    "It tells what the set holds beside the paper's Table 4, how it was made, what it cost and where its limits are.",
    release_description="An immutable, versioned folder with nested Parquet, flat tables, data.json as in the paper's "
    "repository, recipe, card and a manifest of digests. The same recipe and replies give the same bytes.",
)
