"""`amemgym plan`: what a variant will cost."""

from typing import Annotated, Optional

import typer


def plan(
    variant: Annotated[str, typer.Argument(help="demo, base, extra, or a recipe file of your own.")],
    overrides: Annotated[
        Optional[list[str]], typer.Option("--set", metavar="FIELD=VALUE", help="Override a field of the recipe.")
    ] = None,
    model: Annotated[str, typer.Option(help="One model for every role, in place of the recipe's.")] = "",
) -> None:
    """Say calls, tokens, money and time per stage, with an interval, before the first paid call."""
