"""What `dg scaffold defs` makes of ours: a variant, whose recipe is the same file that every other way reads."""

import logging
from contextlib import suppress
from pathlib import Path

import click
import dagster as dg
from pydantic import BaseModel, Field

from assets.recipe.loading import RecipeError, check_variant
from pipelines.ui.launchpad import begin_variant

FOLDER = Path(__file__).parent / "defs"
LOG = logging.getLogger(__name__)


class VariantOptions(BaseModel):
    """What a new variant is begun with."""

    like: str = Field(default="demo", description="The variant whose recipe file is copied, without its salt.")


class VariantScaffolder(dg.Scaffolder[VariantOptions]):
    """Writes the recipe file, and beside it the `defs.yaml` that names it."""

    @classmethod
    def get_scaffold_params(cls) -> type[VariantOptions]:
        return VariantOptions

    def scaffold(self, request: dg.ScaffoldRequest[VariantOptions]) -> None:
        """Copy the recipe of `like` under the name of the folder. Raises click.ClickException with one sentence."""
        name = request.target_path.name
        if FOLDER not in request.target_path.resolve().parents:
            request.target_path.rmdir()  # dg has made it
            raise click.ClickException(f"A variant has a folder in {FOLDER}; {request.target_path.resolve()} is not there.")
        try:
            path = begin_variant(name, like=request.params.like)
        except RecipeError as error:
            with suppress(OSError):
                request.target_path.rmdir()  # dg has made it
            raise click.ClickException(str(error)) from error
        dg.scaffold_component(request, {"recipe": name})
        click.echo(f"Its counts, seed and models stand in {path}.")


@dg.scaffold_with(VariantScaffolder)
class VariantComponent(dg.Component, dg.Model, dg.Resolvable):
    """A variant of a benchmark, which is one more partition of its assets.

    Counts, dates, seed and models stand in the file `pipelines/recipes/<recipe>.yaml`, which all other tools read as well.
    """

    recipe: str = Field(description="The name of the recipe file, without .yaml.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Add nothing: the benchmark's assets have the partition already. Where its file is gone, say so, and stop nobody."""
        try:
            check_variant(self.recipe)
        except RecipeError as error:
            LOG.warning("%s names a variant that is gone: %s", context.path / "defs.yaml", error)
        return dg.Definitions()
