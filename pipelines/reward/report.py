"""What a reward model may be trusted with, in Markdown and as a page: held-out memories come first, floors beside all."""

from collections.abc import Iterator, Sequence

from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from pipelines.evaluation.report.contents import LineChart, ReportSection, ReportTable
from pipelines.evaluation.report.formatting import format_number
from pipelines.evaluation.report.markdown import section_text
from pipelines.evaluation.report.page import SECTIONS, render_blocks
from pipelines.reward.features import FEATURES
from pipelines.reward.measured import RewardReport
from pipelines.reward.models import RewardModel, TrainedModel

TITLES = {"logistic": "logistic regression", "trees": "boosted trees"}
TITLE = "A model of what a memory is worth"
SCRIPTS = ("base", "charts", "run", "reward")
SAVED_NOTE = (
    "Comparisons are pairs of memories, damaged ones too, with a true order. One is saved where the predictions are at least "
    "as far apart as a margin that leaves 5 % in a wrong order on the other benchmarks. Beside it: how many are wrong here."
)
TIES_NOTE = "A dash for tau: the memories tie in their true score, as with 0 comparisons, or in the predicted one."
BINS_NOTE = "Rows with like predictions for items that the model never saw. A calibrated model keeps what it predicts."


def report_text(model: TrainedModel) -> str:
    """Return the report as Markdown; its first line says whether a model beats the floors on a memory that it never saw."""
    parts = [model.report.verdict, _rows_sentence(model)]
    for section in report_sections(model):
        parts += section_text(section)
    return "\n\n".join(parts) + "\n"


def report_page(model: TrainedModel) -> str:
    """Return the report as one HTML page, which asks nothing of the network."""
    report = model.report
    data = {
        "title": TITLE,
        "verdict": report.verdict,
        "trusted": report.may_rank,
        "subtitle": _rows_sentence(model),
        "sections": SECTIONS.dump_python(list(report_sections(model)), mode="json"),
    }
    return render_blocks(TITLE, {"data": data}, scripts=SCRIPTS)


def _rows_sentence(model: TrainedModel) -> str:
    report = model.report
    return (
        f"{counted(report.rows, 'row')} with a label, of {', '.join(model.memories)}, on {', '.join(model.benchmarks)}; "
        f"{report.kept:.1%} kept what was needed. Brackets hold 95 % intervals over items."
    )


def report_sections(model: TrainedModel) -> Iterator[ReportSection]:
    """Yield the report's sections in order."""
    report = model.report
    yield ReportSection("areas", "Area under the ROC curve", [_areas(report)])
    floors = [[split.name, *split.floors.values()] for split in report.splits]
    yield ReportSection("floors", "Floors", [ReportTable(["on", *report.splits[0].floors], floors)])
    yield ReportSection("measures", "Other measures", [_measures(report)])
    if report.rankings:
        title = "Memories in order, by models that never saw them"
        ties = [TIES_NOTE] if any(one.tau is None for one in report.rankings) else []
        yield ReportSection("order", title, [SAVED_NOTE, *ties, _rankings(report)])
    yield ReportSection("calibration", "Calibration on new items", [BINS_NOTE, *_reliability(report)])
    title = "What the logistic regression weighs" if isinstance(model, RewardModel) else "What each feature tells"
    yield ReportSection("features", title, [_features(model)])


def _areas(report: RewardReport) -> ReportTable:
    kinds = [TITLES.get(kind, kind) for kind in report.splits[0].areas]
    rows: list[Sequence[str | Estimate]] = []
    for split in report.splits:
        floor = split.floors[split.best_floor]
        rows.append([split.name, f"{split.groups}", *split.areas.values(), split.best_floor, floor, split.gain])
    return ReportTable(["on", "groups", *kinds, "best floor", "its area", "better model minus best floor"], rows)


def _measures(report: RewardReport) -> ReportTable:
    rows: list[Sequence[str | Estimate]] = []
    for split in report.splits:
        for kind, own in split.measures.items():
            rows.append([split.name, TITLES.get(kind, kind), *own.values()])
    measures = next(iter(report.splits[0].measures.values()))
    return ReportTable(["on", "model", *measures], rows)


def _rankings(report: RewardReport) -> ReportTable:
    rows: list[Sequence[str | Estimate]] = []
    for one in report.rankings:
        # Where all memories are alike none is the best one.
        first = "-" if one.tau is None else "yes" if one.first_is_first else "no"
        figures = (format_number(one.tau, digits=2), first, f"{one.pairs:,}", _percent(one.saved), _percent(one.wrong))
        rows.append([one.benchmark, f"{one.budget:,}", f"{one.memories}", *figures])
    head = ("benchmark", "tokens", "memories", "Kendall's tau", "best memory found", "comparisons", "saved", "of these wrong")
    return ReportTable(head, rows)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _reliability(report: RewardReport) -> tuple[ReportTable, LineChart]:
    rows: list[Sequence[str | Estimate]] = []
    kept: list[tuple[float, Estimate]] = []
    perfect: list[tuple[float, Estimate]] = []
    for one in report.bins:
        rows.append([format_number(one.predicted), f"{one.rows:,}", one.kept])
        kept.append((one.predicted, one.kept))
        perfect.append((one.predicted, Estimate(value=one.predicted, low=None, high=None)))
    chart = LineChart("predicted", "kept", {"kept": kept, "as predicted": perfect}, top=1)
    return ReportTable(["predicted", "rows", "kept"], rows), chart


def _features(model: TrainedModel) -> ReportTable:
    weights = {}
    if isinstance(model, RewardModel):
        weights = dict(zip(model.features, model.logistic.weights, strict=True))
    formulas = {feature.name: feature.formula for feature in FEATURES}
    rows: list[Sequence[str | Estimate]] = []
    for name in sorted(formulas, key=lambda name: -abs(weights.get(name, 0.0))):
        weight = f"{weights[name]:+.2f}" if name in weights else "-"
        rows.append([name.replace("_", " "), weight, format_number(model.report.alone[name]), formulas[name]])
    return ReportTable(["feature", "weight for one standard deviation", "area alone", "formula"], rows)
