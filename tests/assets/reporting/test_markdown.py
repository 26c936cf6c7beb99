"""Tables for the UI: text of personas and models stays in its cell."""

from assets.reporting.asset_description import markdown_table


def test_cells_cannot_break_their_table() -> None:
    rows: list[dict[str, object]] = [{"a": "x | y\nz", "b": {"k": 1, "m": "n"}}, {"a": ["p", "q"], "c": "left out"}]
    assert markdown_table(rows).splitlines() == ["| a | b |", "|---|---|", "| x \\| y z | k = 1, m = n |", "| p, q |  |"]
    assert markdown_table([{"a": "x" * 500}]).splitlines()[2] == f"| {'x' * 397}... |"
    assert markdown_table([{"a": "![see](http://a.b/c) <b>"}]).splitlines()[2] == "| !\\[see\\](http://a.b/c) \\<b\\> |"
    assert markdown_table([]) == "no rows"
