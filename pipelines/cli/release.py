"""`amemgym release`: freeze what is finished."""

from typing import Annotated

import typer

from pipelines.cli.problems import Problem


def release(
    variant: Annotated[str, typer.Argument(help="demo, base, extra, or a variant of your own that is finished.")],
    version: Annotated[
        str, typer.Option(help="Three numbers such as 1.2.0, or auto: the smallest that the rule allows.")
    ] = "auto",
) -> None:
    """Freeze a variant's current users into an immutable release folder, without making any of them again.

    The version's rule: labels or rows that changed or are gone ask for a new major number, new rows for a minor one,
    new words for a patch; the same content keeps its version.
    """
    from pipelines.cli.generate import freeze_variant
    from pipelines.home import home
    from pipelines.resources.storage.io_manager import RecordIOManager
    from pipelines.resources.storage.open_stores import value_files

    if RecordIOManager(value_files(home())).find("recipe", variant) is None:
        raise Problem(f"Nothing of {variant!r} is made yet; make it with: amemgym generate {variant}")
    print(freeze_variant(variant, version=version))
