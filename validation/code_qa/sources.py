"""What must hold of the packages that questions are about."""

from collections.abc import Iterator

import dagster as dg

from assets.code_qa.packages.licenses import is_permissive
from assets.code_qa.packages.reading import read_package
from assets.code_qa.pipeline import CODE_QA
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.sources import CodeSources
from assets.recipe.loading import RecipeError
from assets.records.base import duplicates
from assets.reporting.plurals import counted, is_or_are
from validation.code_qa.reexecution import digest_of
from validation.rules import Rule, expect


def packages_are_pinned(sources: CodeSources, recipe: CodeQaRecipe) -> Iterator[str]:
    """The recipe names the package in this version, and where it was resolved, with these files."""
    pins = {(one.name, one.version): one.content for one in recipe.packages}
    package = sources.package
    content = pins.get((package.name, package.version))
    yield from expect(content is not None, f"the recipe does not pin {package.name} {package.version}")
    if content and content != package.content:
        yield f"the files of {package.name} are not those of the recipe"


def licenses_are_permissive(sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    package = sources.package
    yield from expect(is_permissive(package.license), f"{package.name} is under {package.license}")


def files_are_whole(sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    """Each file has its digest, and none is there twice."""
    for path in duplicates([file.path for file in sources.files]):
        yield f"{path} is there twice"
    for file in sources.files:
        if digest_of(file.text) != file.content:
            yield f"{file.path} is not what its digest is of"


def symbols_stand_in_files(sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    """A symbol's source is those lines of its file, and each function that is called is a symbol."""
    texts = {file.path: file.text.split("\n") for file in sources.files}
    for symbol in sources.symbols:
        lines = symbol.source.split("\n")
        place = texts.get(symbol.path, [])[symbol.line - 1 : symbol.line - 1 + len(lines)]
        if [line.strip() for line in place] != [line.strip() for line in lines]:
            yield f"{symbol.symbol_id} does not stand in line {symbol.line} of {symbol.path}"
    functions = {symbol.symbol_id for symbol in sources.symbols if symbol.kind == "function"}
    for target in sources.targets:
        if target not in functions:
            yield f"{target} is called, and is no function of the symbols"


RULES = (
    Rule("packages_are_pinned", "Every package is one that the recipe pins.", packages_are_pinned),
    Rule("licenses_are_permissive", "Every package has a license that lets its code be given on.", licenses_are_permissive),
    Rule("files_are_whole", "Every file is what its digest is of.", files_are_whole),
    Rule("symbols_stand_in_files", "Every symbol stands in its file.", symbols_stand_in_files),
)


@dg.asset_check(
    asset=CODE_QA.key("recipe"),
    name="packages_are_unchanged",
    blocking=True,
    partitions_def=CODE_QA.partitions.by_variant,
    description="Every package has the version, the license and the files that the recipe was resolved with.",
)
def packages_are_unchanged(code_recipe: CodeQaRecipe) -> dg.AssetCheckResult:
    """Read the packages again; the first that is another is told."""
    try:
        files = {spec.name: len(read_package(spec).files) for spec in code_recipe.packages}
    except RecipeError as error:
        return dg.AssetCheckResult(passed=False, description=str(error))
    return dg.AssetCheckResult(
        passed=True,
        description=f"{counted(len(files), 'package')} {is_or_are(len(files))} as the recipe says.",
        metadata=dict(files),
    )
