"""Croissant metadata (`croissant.json`): the release for tools that search, check and load datasets.

The flat tables are record sets, column by column. The nested file and `data.json` are listed with their digests only:
Croissant's paths through repeated structures take the first of them, so reading periods by them would lose all but the first.
"""

import json
from collections.abc import Iterable, Sequence
from importlib import import_module
from os.path import relpath
from typing import Any, cast

import pyarrow as pa

from assets.amemgym.tables import TABLES
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.columnar import arrow_schema
from dataset_card.amemgym import statements
from dataset_card.amemgym.pool import pool_terms
from dataset_card.card.header import LICENSE_ID
from dataset_card.card.paths import table_path
from dataset_card.card.recipe import models_by_role, shared_recipe
from dataset_card.release.manifest import ManifestFile

STANDARDS = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
FORMATS = {".parquet": "application/x-parquet", ".json": "application/json"}
# ISO text in the files, which Croissant's readers turn into times.
TIMES = {"start_date": "DATE", "period_start": "DATE", "period_end": "DATE", "session_time": "DATETIME"}
TYPES: dict[Any, str] = {pa.string(): "TEXT", pa.int64(): "INTEGER", pa.float64(): "FLOAT", pa.bool_(): "BOOL"}


def croissant_path(variant: str) -> str:
    """Return its path in a release: beside the data, so that its relative paths are right on the Hub too."""
    return f"{variant}/croissant.json"


def croissant(recipe: AMemGymRecipe, files: Sequence[ManifestFile]) -> bytes:
    """Return the file's content. It has no date and no version, because a release's bytes depend on neither.

    Raises mlcroissant's ValidationError should the description not be valid Croissant.
    """
    # Takes a second, and its annotations are only partly known to type checkers.
    library: Any = import_module("mlcroissant")
    rows = {file.path: file.rows for file in files}
    variant = recipe.variant
    # One for all parts: by default each works out the vocabulary for itself.
    context = library.Context()
    distribution = [_file(library, file, variant=variant, context=context) for file in files if file.rows]
    record_sets: list[Any] = []
    for name in TABLES:
        # A file without rows has no types that could be checked.
        if rows.get(table_path(variant, name)):
            record_sets.append(_record_set(library, name, variant=variant, context=context))
    parts = {"distribution": distribution, "record_sets": record_sets}
    metadata = library.Metadata(ctx=context, **_claims(shared_recipe(recipe)), **parts)
    content = json.dumps(metadata.to_json(), ensure_ascii=False, indent=2) + "\n"
    _forget_vocabularies(library)
    return content.encode()


def _forget_vocabularies(library: Any) -> None:
    """Empty the library's caches: by every part of a description that was ever made, 3 MB for each release of a process."""
    vocabulary = library.Context().rdf
    for name in dir(vocabulary):
        method = getattr(vocabulary, name)
        if hasattr(method, "cache_clear"):
            method.cache_clear()


def _claims(recipe: AMemGymRecipe) -> dict[str, Any]:
    return {
        "name": statements.title(recipe),
        "description": "Simulated users whose personal state changes over months, what they say of it, and questions whose "
        f"right answer depends on it. {pool_terms(recipe.pool)}",
        "conforms_to": list(STANDARDS),
        "license": [f"https://spdx.org/licenses/{LICENSE_ID}.html"],
        "cite_as": statements.CITATION,
        "in_language": [recipe.language],
        "keywords": list(statements.TAGS),
        "machine_annotation_tools": [f"{role}: {model}" for role, model in models_by_role(recipe).items()],
        "data_collection": "Written by language models from personas, checked by judges and rules; nobody was observed.",
        "data_collection_type": ["Synthetic"],
        "data_use_cases": list(statements.USES),
        "data_limitations": list(statements.LIMITS),
        "data_biases": list(statements.BIASES),
        "personal_sensitive_information": list(statements.PEOPLE),
    }


def _file(library: Any, file: ManifestFile, *, variant: str, context: Any) -> Any:
    suffix = file.path[file.path.rindex(".") :]
    return library.FileObject(
        ctx=context,
        id=file.path,
        name=file.path,
        content_url=relpath(file.path, start=variant),
        content_size=f"{file.bytes} B",
        encoding_formats=[FORMATS[suffix]],
        sha256=file.sha256,
    )


def _record_set(library: Any, name: str, *, variant: str, context: Any) -> Any:
    row = TABLES[name].row
    fields: list[Any] = []
    for column in cast(Iterable[Any], arrow_schema(row)):
        meaning = row.model_fields[column.name].description
        extract = library.Extract(ctx=context, column=column.name)
        source = {"ctx": context, "file_object": table_path(variant, name), "extract": extract}
        fields.append(_field(library, column, meaning=meaning, field_id=f"{name}/{column.name}", source=source))
    description = f"One record is {statements.ROW_MEANINGS[name]}."
    return library.RecordSet(ctx=context, id=name, name=name, description=description, fields=fields)


def _field(library: Any, column: Any, *, meaning: str | None, field_id: str, source: dict[str, Any]) -> Any:
    repeated = pa.types.is_list(column.type)
    item: Any = column.type.value_type if repeated else column.type
    context = source["ctx"]
    shared = {"ctx": context, "id": field_id, "name": column.name, "description": meaning, "repeated": repeated or None}
    if not pa.types.is_struct(item):
        wanted = getattr(library.DataType, TIMES.get(column.name) or TYPES[item])
        return library.Field(**shared, data_types=[wanted], source=library.Source(**source))
    inner: list[Any] = []
    for part in cast(Iterable[Any], item):
        transforms = [library.Transform(ctx=context, json_path=part.name)]
        part_field = library.Field(
            ctx=context,
            id=f"{field_id}/{part.name}",
            name=part.name,
            data_types=[getattr(library.DataType, TYPES[part.type])],
            source=library.Source(**source, transforms=transforms),
        )
        inner.append(part_field)
    return library.Field(**shared, sub_fields=inner)
