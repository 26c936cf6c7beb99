"""What card and release tell in the Dagster UI, once they are written."""

from typing import Any

import dagster as dg

from assets.reporting.markdown import Row, markdown_table
from dataset_card.release.documents import REPORT_PAGE
from dataset_card.release.folder import Release
from dataset_card.release.manifest import CARD


def card_metadata(released: Release) -> dict[str, Any]:
    """The card itself, without the header between two lines of dashes, which is for the Hub."""
    readme = released.folder / CARD
    card = readme.read_text(encoding="utf-8").partition("\n---\n")[2].strip()
    return {
        "readme": dg.PathMetadataValue(str(readme)),
        "version": released.version,
        "card": dg.MetadataValue.md(card),
        "words": len(card.split()),
    }


def release_metadata(released: Release, address: str) -> dict[str, Any]:
    """Where it is, what it holds and what its rows took; `address` is its place in the release store."""
    manifest, report = released.manifest, released.folder / REPORT_PAGE
    files: list[Row] = [
        {"file": one.path, "bytes": one.bytes, "rows": "" if one.rows is None else one.rows} for one in manifest.files
    ]
    return {
        **({} if address == str(released.folder) else {"address": address}),
        "folder": dg.PathMetadataValue(str(released.folder)),
        "version": released.version,
        "written": "by this run" if released.created else "before; this run came to the same release",
        **({"report": dg.PathMetadataValue(str(report))} if report.is_file() else {}),
        "dagster/row_count": manifest.counts.get("users", 0),
        **manifest.counts,
        **(manifest.usage.model_dump(exclude_none=True) if manifest.usage else {}),
        "files": dg.MetadataValue.md(markdown_table(files)),
        "bytes": sum(file.bytes for file in manifest.files),
        "digest": released.digest,
        "data_digest": manifest.data_digest,
    }
