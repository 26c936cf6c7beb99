"""Reference pages as Markdown, read off what they describe: commands, recipe fields, assets, records."""

from collections.abc import Iterator, Sequence
from typing import Any

from typer.main import get_command

from assets.engine.benchmark import Benchmark
from assets.recipe.config_schema import recipe_fields
from assets.recipe.registry import RECIPE_TYPES
from dataset_card.card.fields import field_rows
from pipelines.benchmarks import BENCHMARKS
from pipelines.cli.main import PANELS, app, load_command

Cells = Sequence[str]
JSON = (
    "Commands that print a table have `--json`: one JSON document on standard output, and nothing else there. "
    "Notices, progress and errors are on standard error, and the exit status is the same. "
    "Each option names the keys of the document, or of each row of a list. A key keeps its name and meaning; new ones may come."
)


def commands_page() -> str:
    """Every command with its arguments and options, in the order of the help."""
    # Commands of typer, whose annotations are only partly known to type checkers.
    group: Any = get_command(app)
    context = group.make_context("amemgym", ["--help"], resilient_parsing=True)
    lines = ["# Commands", "", "`amemgym COMMAND --help` says the same.", "", JSON, ""]
    for panel, names in PANELS.items():
        lines += [f"## {panel}", ""]
        for name in names:
            lines += _command(load_command(name), name, context=context)
    return "\n".join(lines)


def _command(command: Any, name: str, *, context: Any) -> Iterator[str]:
    inner = command.context_class(command, info_name=name, parent=context)
    yield from (f"### amemgym {name}", "", " ".join((command.help or "").split()), "")
    subcommands = getattr(command, "commands", {})
    if not subcommands:
        usage = " ".join(command.collect_usage_pieces(inner))
        yield from ("```text", f"{inner.command_path} {usage}".strip(), "```", "")
        yield from _parameters(command, inner)
    for below, subcommand in subcommands.items():
        deeper = subcommand.context_class(subcommand, info_name=below, parent=inner)
        usage = " ".join(subcommand.collect_usage_pieces(deeper))
        yield from ("```text", f"{deeper.command_path} {usage}".strip(), "```", "")
        yield from (" ".join((subcommand.help or "").split()), "")
        yield from _parameters(subcommand, deeper)


def _parameters(command: Any, context: Any) -> Iterator[str]:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [(f"`{name}`", _plain(words)) for name, words in filter(None, records) if not name.startswith("--help")]
    if rows:
        yield from (*table(("argument or option", "meaning"), rows), "")


def recipe_page() -> str:
    """Every field that a recipe may set, by benchmark."""
    lines = ["# Recipe fields", "", "What a recipe file, `--set` and the launchpad of the asset `recipe` may say.", ""]
    for benchmark, kind in RECIPE_TYPES.items():
        rows = [
            (f"`{one.path}`", _plain(one.meaning), one.kind, one.unit, _plain(one.range), _plain(one.default))
            for one in recipe_fields(kind)
        ]
        lines += [f"## {benchmark}", "", *table(("field", "meaning", "kind", "unit", "range", "default"), rows), ""]
    return "\n".join(lines)


def assets_page() -> str:
    """The stages of every benchmark with what they need, make and ask, and the tables of its releases."""
    lines = ["# Assets and tables", ""]
    for benchmark in (entry.benchmark for entry in BENCHMARKS):
        rows = [
            (
                f"`{stage.name}`",
                _plain(stage.description.description),
                ", ".join(f"`{need.name}`" for need in stage.direct_needs),
                ", ".join(f"`{name}`" for name in stage.prompts),
            )
            for stage in benchmark.stages
        ]
        lines += [f"## {benchmark.name}", "", *table(("asset", "makes", "from", "prompts"), rows), ""]
        lines += list(_tables(benchmark))
    return "\n".join(lines)


def _tables(benchmark: Benchmark) -> Iterator[str]:
    for name, flat in benchmark.tables.items():
        yield from (f"### Table `{name}` of {benchmark.name}", "")
        yield from (f"{(flat.row.__doc__ or '').partition(chr(10))[0]} Key: {', '.join(f'`{key}`' for key in flat.key)}.", "")
        rows = [(f"`{row.name}`", row.kind, _plain(row.meaning)) for row in field_rows(flat.row)]
        yield from (*table(("column", "type", "meaning"), rows), "")


def records_page() -> str:
    """The fields of a finished item of every benchmark: a row of the nested Parquet."""
    lines = ["# Records", "", "One row of a release's nested Parquet is everything about one item.", ""]
    for benchmark in (entry.benchmark for entry in BENCHMARKS):
        rows = [(f"`{row.name}`", row.kind, _plain(row.meaning)) for row in field_rows(benchmark.final.record)]
        lines += [f"## {benchmark.name}: one {benchmark.noun}", "", *table(("field", "type", "meaning"), rows), ""]
    return "\n".join(lines)


def table(head: Cells, rows: Sequence[Cells]) -> list[str]:
    """A table of Markdown; cells hold Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _plain(words: str) -> str:
    """Words that stay words in a cell."""
    escaped = "".join(f"\\{letter}" if letter in "\\`*_|<>[]" else letter for letter in words)
    return " ".join(escaped.split())


PAGES = {
    "commands.md": commands_page,
    "recipe.md": recipe_page,
    "assets.md": assets_page,
    "records.md": records_page,
}
