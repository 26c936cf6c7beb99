"""A notebook as a page of the site, with what its cells showed."""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def page_of(notebook: Path, *, pictures: Path) -> str:
    """The notebook as Markdown. What its cells drew is written into `pictures`, the folder of the page."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join(part for cell in cells for part in _parts(cell, pictures=pictures, name=notebook.stem))


def _parts(cell: Mapping[str, Any], *, pictures: Path, name: str) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield f"{source}\n"
        return
    yield f"```python\n{source}\n```\n"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            picture = pictures / f"{name}-{cell['id']}.png"
            picture.write_bytes(b64decode(data["image/png"]))
            yield f'<img src="{picture.name}" alt="What the cell above draws">\n'
        elif "text/html" in data:
            yield _table("".join(data["text/html"]))
        else:
            yield f"```text\n{''.join(output.get('text') or data['text/plain'])}\n```\n"


def _table(html: str) -> str:
    """The table on one line, as Markdown keeps it, and as plain as the site's style wants it."""
    _, tag, rows = html[: html.index("</table>")].partition("<table")
    rows = rows.partition(">")[2]
    return f"{tag}>{''.join(line.strip() for line in rows.splitlines())}</table>\n"
