"""The manifest: its digest, and what it refuses."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataset_card.release.digests import RowDigest, canonical_json, with_sorted_keys
from dataset_card.release.manifest import (
    MANIFEST,
    Manifest,
    ManifestBody,
    ManifestError,
    ManifestFile,
    ManifestUsage,
    read_manifest,
)


def body(**changes: Any) -> ManifestBody:
    fields: dict[str, Any] = {
        "variant": "demo",
        "generator": "amemgym-synth 0.1.0",
        "license": "CC-BY-4.0",
        "recipe_fingerprint": "0" * 16,
        "prompt_fingerprints": {},
        "models": {"writer": "gpt-4.1"},
        "pool_digest": "",
        "usage": ManifestUsage(calls=1),
        "counts": {"users": 1},
        "files": (ManifestFile(path="README.md", bytes=3, sha256="a" * 64),),
    }
    return ManifestBody(**{**fields, **changes})


def test_the_version_is_no_part_of_the_digest_but_everything_else_is() -> None:
    first, second = (Manifest.of(body(), version=version) for version in ("0.1.0", "7.0.0"))
    assert first.digest == second.digest == body().release_digest()
    others = [
        body(variant="base"),
        body(usage=None),
        body(usage=ManifestUsage(calls=1, cost_usd=0)),
        body(counts={}),
        body(files=()),
        body(prompt_fingerprints={"a": "b"}),
        body(own_texts=(("a" * 12,),)),
        body(derived_from="base"),
    ]
    assert len({other.release_digest() for other in others} | {first.digest}) == len(others) + 1


def test_a_manifest_comes_back_from_its_file(tmp_path: Path) -> None:
    manifest = Manifest.of(body(), version="1.2.3")
    (tmp_path / MANIFEST).write_bytes(manifest.to_bytes())
    assert read_manifest(tmp_path) == manifest
    assert json.loads(manifest.to_bytes())["usage"]["cost_usd"] is None


def test_a_manifest_of_a_time_without_digests_of_texts_is_as_it_was_written(tmp_path: Path) -> None:
    content = json.loads(Manifest.of(body(), version="1.2.3").to_bytes())
    for name in ("own_texts", "derived_from"):
        del content[name]
    (tmp_path / MANIFEST).write_text(json.dumps(content), encoding="utf-8")
    assert read_manifest(tmp_path).own_texts == ()


def edited(**changes: Any) -> bytes:
    return json.dumps({**json.loads(Manifest.of(body(), version="1.2.3").to_bytes()), **changes}).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "manifest.json is wrong"),
        (b"\xff", "manifest.json is wrong"),
        (edited(counts={"users": 2}), "its digest is not that of its content"),
        (edited(version="one"), "version"),
        (edited(unknown=1), "unknown"),
        (edited(files=[{"path": "../x", "bytes": 1, "sha256": "a" * 64}]), "does not lie inside"),
        (edited(files=[{"path": "/etc/passwd", "bytes": 1, "sha256": "a" * 64}]), "does not lie inside"),
        (edited(files=[{"path": "x", "bytes": 1, "sha256": "a" * 64}] * 2), "lists 'x' twice"),
    ],
)
def test_a_wrong_manifest_is_refused_in_a_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(ManifestError, match=message):
        read_manifest(tmp_path)


def test_a_missing_manifest_is_told(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="No such file"):
        read_manifest(tmp_path)


def test_canonical_json_forgets_key_order_and_keeps_letters() -> None:
    assert canonical_json({"b": "é", "a": [1, None]}) == '{"a":[1,null],"b":"é"}'.encode()


WORDS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.characters(max_codepoint=0x9F))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
)


@given(st.lists(JSON_VALUES, max_size=3))
def test_a_row_digest_is_over_the_canonical_json_of_the_rows(rows: list[Any]) -> None:
    found = RowDigest()
    found.add(map(with_sorted_keys, rows))
    assert found.hexdigest() == hashlib.sha256(b"".join(canonical_json(row) + b"\n" for row in rows)).hexdigest()


def test_a_float_is_no_part_of_a_row() -> None:
    with pytest.raises(ValueError, match=r"holds 1e-05"):
        with_sorted_keys({"deep": [{"share": 1e-05}]})


def test_row_digests_depend_on_rows_and_order_and_not_on_portions() -> None:
    def digest(*portions: list[int]) -> str:
        found = RowDigest()
        for portion in portions:
            found.add(portion)
        return found.hexdigest()

    assert digest([1, 2, 3]) == digest([1], [], [2, 3])
    assert len({digest([1, 2]), digest([2, 1]), digest([12]), digest()}) == 4
