"""Stage `code_sources`: the package that each question is about, with its symbols, and the functions that are called."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from assets.code_qa.packages.imports import files_taken
from assets.code_qa.packages.reading import read_package, with_content
from assets.code_qa.packages.symbols import callable_names, symbols_of
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.sources import CodeSources, CodeSymbol, PackageSpec
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.memory_items.world.positions import task_id
from assets.recipe.loading import RecipeError, Unit
from assets.reporting.asset_description import AssetDescription, Row

MOST_CHARACTERS = 400_000  # of the files that a module takes; a package is read again for each question
MOST_SYMBOLS = 60


def with_package_digests(recipe: CodeQaRecipe) -> CodeQaRecipe:
    """The recipe with the digest of each package's files. Raises RecipeError for a package that is not what it pins."""
    return recipe.model_copy(update={"packages": tuple(with_content(spec) for spec in recipe.packages)})


def draw_sources(recipe: CodeQaRecipe, unit: Unit) -> Iterator[tuple[int, CodeSources]]:
    """The unit's questions by position, over all packages in equal numbers; each follows from seed and position alone."""
    for position in unit.positions:
        block, place = divmod(position, len(recipe.packages))
        spec = SeededRandom(recipe.seed, "packages", block).shuffled(recipe.packages)[place]
        found = read_package(spec)
        rng = SeededRandom(recipe.seed, "code sources", position)
        targets = sorted(rng.sample(_callable(spec), recipe.behaviours.num_targets))
        modules = list(dict.fromkeys(target.rpartition(".")[0] for target in targets))
        yield (
            position,
            CodeSources(
                task_id=task_id(recipe, position),
                package=found.package,
                files=files_taken(modules, found.files),
                symbols=_symbols(spec, modules, targets, rng=rng),
                targets=tuple(targets),
            ),
        )


class _ByPackage(NamedTuple):
    """Ids of a package's functions that may be called, and its public symbols."""

    callable_ids: tuple[str, ...]
    symbols: tuple[CodeSymbol, ...]


def _callable(spec: PackageSpec) -> Sequence[str]:
    ids = _parsed(spec.model_dump_json()).callable_ids
    if not ids:
        raise RecipeError(f"The package {spec.name} has no public function that literals can be given to; leave it out.")
    return ids


def _symbols(spec: PackageSpec, modules: Sequence[str], targets: Sequence[str], *, rng: SeededRandom) -> tuple[CodeSymbol, ...]:
    """The targets and other public symbols of their modules, in order of ids."""
    known = {one.symbol_id: one for one in _parsed(spec.model_dump_json()).symbols if one.module in modules}
    others = rng.sample([one for one in known if one not in targets], max(0, MOST_SYMBOLS - len(targets)))
    return tuple(known[one] for one in sorted({*targets, *others}))


@lru_cache(maxsize=32)
def _parsed(spec_json: str) -> _ByPackage:
    spec = PackageSpec.model_validate_json(spec_json)
    files = read_package(spec).files
    wanted = [file for file in files if not spec.modules or file.module in spec.modules]
    small = [file for file in wanted if sum(len(one.text) for one in files_taken([file.module], files)) <= MOST_CHARACTERS]
    return _ByPackage(
        tuple(f"{file.module}.{name}" for file in small for name in callable_names(file)),
        tuple(symbol for file in wanted for symbol in symbols_of(file)),
    )


def _rows(sources: CodeSources) -> list[Row]:
    return [
        {
            "package": f"{sources.package.name} {sources.package.version}",
            "license": sources.package.license,
            "function": target,
            "signature": sources.symbol(target).signature,
        }
        for target in sources.targets
    ]


CODE_SOURCES = Stage(
    name="code_sources",
    record=CodeSources,
    draw=draw_sources,
    description=AssetDescription(
        group="code",
        description="The package that each question is about: one of those that the recipe pins, with its license, files and "
        "public symbols, read from the syntax tree. It follows from the seed and the question's position.",
        rows=_rows,
        paper="MemGym",
    ),
)
