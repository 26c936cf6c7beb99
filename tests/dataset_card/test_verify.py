"""What `verify_release` tells about a folder that is not as it was released."""

from dataset_card.folder import Release
from dataset_card.manifest import MANIFEST
from dataset_card.verify import verify_release


def test_verify_finds_what_differs_is_missing_or_is_extra(release: Release) -> None:
    parquet = release.folder / "demo/test-00000-of-00001.parquet"
    data = bytearray(parquet.read_bytes())
    data[len(data) // 2] ^= 1
    parquet.write_bytes(data)
    with (release.folder / "LICENSE").open("a") as stream:
        stream.write("!")
    (release.folder / "tables/demo/users.parquet").unlink()
    (release.folder / "tables/demo/more.parquet").write_bytes(b"")
    (release.folder / ".gitattributes").write_bytes(b"")
    found = verify_release(release.folder)
    assert [problem.split()[0] for problem in found] == [
        "LICENSE",
        "demo/test-00000-of-00001.parquet",
        "tables/demo/users.parquet",
        "tables/demo/more.parquet",
    ]
    for problem, told in zip(found, ("bytes", "sha256", "is missing.", "is not in the manifest."), strict=True):
        assert told in problem


def test_verify_finds_rows_that_the_manifest_misstates(release: Release) -> None:
    files = tuple(
        file.model_copy(update={"rows": 7}) if file.path in {"demo/data.json", "tables/demo/users.parquet"} else file
        for file in release.manifest.files
    )
    body = release.manifest.model_copy(update={"files": files})
    changed = body.model_copy(update={"digest": body.release_digest()})
    (release.folder / MANIFEST).write_bytes(changed.to_bytes())
    assert verify_release(release.folder) == [
        "demo/data.json has 2 rows, but the manifest says 7.",
        "tables/demo/users.parquet has 2 rows, but the manifest says 7.",
    ]


def test_verify_tells_a_broken_or_missing_manifest(release: Release) -> None:
    manifest = release.folder / MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(b'"users": 2', b'"users": 3'))
    assert verify_release(release.folder) == ["manifest.json is wrong at the whole: its digest is not that of its content."]
    manifest.unlink()
    assert verify_release(release.folder) == ["manifest.json cannot be read: No such file or directory."]
