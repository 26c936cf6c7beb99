"""Rules about the packages that questions are about."""

from collections.abc import Iterator

import dagster as dg

from assets.code_qa.packages.licenses import is_permissive
from assets.code_qa.packages.reading import read_package, text_digest
from assets.code_qa.pipeline import CODE_QA
from assets.code_qa.records.sources import CodeSources
from assets.recipe.code_qa import CodeQaRecipe
from assets.recipe.loading import RecipeError
from assets.records.base import duplicates
from assets.reporting.plurals import counted, is_or_are
from validation.rules import Rule, expect


def packages_are_pinned(sources: CodeSources, recipe: CodeQaRecipe) -> Iterator[str]:
    """The recipe names the package in this version, and where it was resolved, with these files."""
    package = sources.package
    for pin in recipe.packages:
        if (pin.name, pin.version) == (package.name, package.version):
            # A pin has no content until the recipe is resolved.
            if pin.content and pin.content != package.content:
                yield f"the files of {package.name} are not those of the recipe"
            return
    yield f"the recipe does not pin {package.name} {package.version}"


def licenses_are_permissive(sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    package = sources.package
    yield from expect(is_permissive(package.license), f"{package.name} is under {package.license}")


def files_are_whole(sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    for path in duplicates([file.path for file in sources.files]):
        yield f"{path} is there twice"
    for file in sources.files:
        if text_digest(file.text) != file.content:
            yield f"{file.path} does not have its digest"


def symbols_stand_in_files(sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    texts: dict[str, list[str]] = {}
    for file in sources.files:
        texts[file.path] = list(map(str.strip, file.text.split("\n")))
    functions: set[str] = set()
    for symbol in sources.symbols:
        # Without spaces at the ends, because a method is indented in its file alone.
        lines = list(map(str.strip, symbol.source.split("\n")))
        first = symbol.line - 1
        if texts.get(symbol.path, [])[first : first + len(lines)] != lines:
            yield f"{symbol.symbol_id} does not stand in line {symbol.line} of {symbol.path}"
        if symbol.kind == "function":
            functions.add(symbol.symbol_id)
    for target in sources.targets:
        if target not in functions:
            yield f"{target} is called, and is no function of the symbols"


RULES = (
    Rule("packages_are_pinned", "Every package is one that the recipe pins.", packages_are_pinned),
    Rule(
        "licenses_are_permissive", "Every package has a license that allows its code to be passed on.", licenses_are_permissive
    ),
    Rule("files_are_whole", "Every file has its digest.", files_are_whole),
    Rule("symbols_stand_in_files", "Every symbol stands in its file.", symbols_stand_in_files),
)


def read_again(recipe: CodeQaRecipe) -> dg.AssetCheckResult:
    """Read the packages again. Of several that changed, the first is named."""
    try:
        files = {spec.name: len(read_package(spec).files) for spec in recipe.packages}
    except RecipeError as error:
        return dg.AssetCheckResult(passed=False, description=str(error))
    return dg.AssetCheckResult(
        passed=True,
        description=f"{counted(len(files), 'package')} {is_or_are(len(files))} as the recipe says.",
        metadata=dict(files),
    )


@dg.asset_check(
    asset=CODE_QA.key("recipe"),
    name="packages_are_unchanged",
    blocking=True,
    partitions_def=CODE_QA.partitions.by_variant,
    description="Every package has the version, the license and the files that the recipe was resolved with.",
)
def packages_are_unchanged(code_recipe: CodeQaRecipe) -> dg.AssetCheckResult:
    """Read the packages again."""
    return read_again(code_recipe)
