"""What the card says of one number or text at a time."""

from dataset_card.release.manifest import Usage


def cell(value: object) -> str:
    """Text for a cell of a Markdown table: one line, no markup."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


def cost(usage: Usage | None, *, users: int) -> str:
    """What the rows took, in sentences."""
    if usage is None:
        return "How many model calls the rows took was not recorded."
    price = "at a price that is not known" if usage.cost_usd is None else f"for {usage.cost_usd:,.2f} USD"
    each = f"{usage.calls / users:,.0f} calls, {usage.input_tokens / users:,.0f} and {usage.output_tokens / users:,.0f} tokens"
    return (
        f"The rows took {usage.calls:,} model calls with {usage.input_tokens:,} input and {usage.output_tokens:,} output "
        f"tokens, {price}. Per user these are {each}. Calls that the cache answered are counted like the others, and so "
        "are those for users who had to be replaced."
    )
