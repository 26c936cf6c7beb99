"""Stage `code_sources`: the package that each question is about, with its symbols, and the functions that are called."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from assets.code_qa.packages.examples import shown_calls
from assets.code_qa.packages.imports import files_taken
from assets.code_qa.packages.reading import read_package, with_content
from assets.code_qa.packages.symbols import callable_names, symbols_of
from assets.code_qa.records.sources import CallExample, CodeSources, CodeSymbol
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.isolation.boundary import NoBoundary, required_kind
from assets.memory_items.tasks import operation_at, rival_first_at, task_id_at
from assets.recipe.code_qa import PackageRecipe, PackageSpec
from assets.recipe.recipe import RecipeError, Unit
from assets.reporting.asset_description import AssetDescription, Row

MOST_CHARACTERS = 400_000  # of the files that a module takes; a package is read again for each question
MOST_SYMBOLS = 60  # of which code may be shown with a question


R = TypeVar("R", bound=PackageRecipe)


def with_package_digests(recipe: R) -> R:
    """Return the recipe with the digest of each package's files. Raises RecipeError for a package that is not what it pins."""
    return recipe.model_copy(update={"packages": tuple(with_content(spec) for spec in recipe.packages)})


def ready_to_execute(recipe: R) -> R:
    """Return the same, for a run that makes calls of them. Raises RecipeError as well where nothing keeps their code in."""
    try:
        required_kind()
    except NoBoundary as error:
        raise RecipeError(str(error)) from error
    return with_package_digests(recipe)


def draw_sources(recipe: PackageRecipe, unit: Unit) -> Iterator[tuple[int, CodeSources]]:
    """Yield the unit's questions by position, over all packages in equal numbers; each follows from seed and position alone."""
    for position in unit.positions:
        block, place = divmod(position, len(recipe.packages))
        spec = _packages_in(block, recipe)[place]
        parsed = _parse_package(spec.model_dump_json())
        if not parsed.callable_ids:
            raise RecipeError(f"The package {spec.name} has no public function that literals can be given to; leave it out.")
        # The same for all questions on a package, so that they share a world, and its documents as filler.
        rng = SeededRandom(recipe.world_seed, "code sources", spec.name)
        targets = sorted(rng.sample(parsed.callable_ids, recipe.behaviours.num_targets))
        modules = modules_of(targets)
        found = read_package(spec)
        sources = CodeSources(
            task_id=task_id_at(position, recipe),
            package=found.package,
            files=files_taken(modules, found.files),
            symbols=_symbols(parsed, modules, targets, rng=rng),
            targets=tuple(targets),
            examples=tuple(example for example in parsed.examples if example.symbol_id.rpartition(".")[0] in modules),
            operation=operation_at(position, recipe),
            rival_first=rival_first_at(position, recipe),
        )
        yield position, sources


def _packages_in(block: int, recipe: PackageRecipe) -> Sequence[PackageSpec]:
    """Return all packages in the order of this block of positions."""
    return SeededRandom(recipe.world_seed, "packages", block).shuffled(recipe.packages)


def position_in_package(number: int, package: str, recipe: PackageRecipe) -> int:
    """Return the position of the question of this number on the package."""
    names = [spec.name for spec in _packages_in(number, recipe)]
    return number * len(names) + names.index(package)


def modules_of(symbol_ids: Iterable[str]) -> list[str]:
    """Return the modules of these symbols, in order of their first."""
    return list(dict.fromkeys(symbol_id.rpartition(".")[0] for symbol_id in symbol_ids))


class _ParsedPackage(NamedTuple):
    """Ids of a package's functions that may be called, its public symbols, and the calls that it shows."""

    callable_ids: tuple[str, ...]
    symbols: tuple[CodeSymbol, ...]
    examples: tuple[CallExample, ...]


def _symbols(
    parsed: _ParsedPackage, modules: Sequence[str], targets: Sequence[str], *, rng: SeededRandom
) -> tuple[CodeSymbol, ...]:
    """Return the targets and other public symbols of their modules, in order of ids."""
    known: dict[str, CodeSymbol] = {}
    for symbol in parsed.symbols:
        if symbol.module in modules:
            known[symbol.symbol_id] = symbol  # of several definitions the last one counts
    others = [module for module in known if module not in targets]
    chosen = {*targets, *rng.sample(others, max(0, MOST_SYMBOLS - len(targets)))}
    return tuple(map(known.__getitem__, sorted(chosen)))


@lru_cache(maxsize=32)
def _parse_package(spec_json: str) -> _ParsedPackage:
    spec = PackageSpec.model_validate_json(spec_json)
    found = read_package(spec)
    files = found.files
    callable_ids: list[str] = []
    symbols: list[CodeSymbol] = []
    for file in files:
        if spec.modules and file.module not in spec.modules:
            continue
        symbols += symbols_of(file)
        if sum(len(taken.text) for taken in files_taken([file.module], files)) <= MOST_CHARACTERS:
            callable_ids += [f"{file.module}.{name}" for name in callable_names(file)]
    examples = shown_calls(callable_ids, files=files, texts=found.texts)
    return _ParsedPackage(tuple(callable_ids), tuple(symbols), tuple(examples))


def _rows(sources: CodeSources) -> list[Row]:
    package = f"{sources.package.name} {sources.package.version}"
    rows: list[Row] = []
    for target in sources.targets:
        row: Row = {"package": package, "license": sources.package.license, "function": target}
        rows.append({**row, "signature": sources.symbol(target).signature})
    return rows


CODE_SOURCES = Stage(
    name="code_sources",
    record=CodeSources,
    draw=draw_sources,
    version=6,
    description=AssetDescription(
        group="code",
        description="The package that each question is about: one of those that the recipe pins, with its license, files and "
        "public symbols, read from the syntax tree. It follows from the seed and the question's position.",
        rows=_rows,
        paper="MemGym",
    ),
)
