"""Where the files of a variant stand in its release, as the card's header, its snippets and the writers name them."""

SPLIT = "test"


def nested_path(variant: str) -> str:
    """Return the Parquet file with a row for each item, relative to the release."""
    return nested_pattern(variant).replace("*", "00000-of-00001")


def nested_pattern(variant: str) -> str:
    """Return the pattern that the nested file's name matches."""
    return f"{variant}/{SPLIT}-*.parquet"


def table_path(variant: str, name: str) -> str:
    """Return a flat table's file, relative to the release."""
    return f"tables/{variant}/{name}.parquet"


def expectations_path(variant: str) -> str:
    """Return the project of Great Expectations that checks the flat tables, relative to the release."""
    return f"{variant}/gx"
