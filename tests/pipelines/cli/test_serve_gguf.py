"""What stops `amemgym model serve --gguf` before anything is served, in one sentence each."""

import re
from pathlib import Path

import pytest

from pipelines.cli.serve import gguf_name, serve_gguf
from pipelines.errors import Problem


def refused(path: Path, *, latency: float = 0.0) -> str:
    with pytest.raises(Problem) as problem:
        serve_gguf(path, host="127.0.0.1", port=0, api_key="", latency=latency)
    return str(problem.value)


def weights(folder: Path, content: bytes = b"GGUF and numbers") -> Path:
    path = folder / "Small-Model-Q4.gguf"
    path.write_bytes(content)
    return path


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert re.search(r"none\.gguf cannot be read: No such file", refused(tmp_path / "none.gguf"))


def test_a_file_of_another_kind_is_not_served(tmp_path: Path) -> None:
    assert "is not a GGUF file" in refused(weights(tmp_path, b"PK\x03\x04"))


def test_without_the_engine_the_extra_to_install_is_named(tmp_path: Path) -> None:
    assert "pip install -e '.[local]'" in refused(weights(tmp_path))


def test_latency_does_not_go_with_real_weights(tmp_path: Path) -> None:
    assert "--latency works only with the embedded model" in refused(weights(tmp_path), latency=1.0)


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    first, second = (gguf_name(weights(tmp_path, content)) for content in (b"GGUF 1", b"GGUF 2"))
    assert re.fullmatch(r"small-model-q4@[0-9a-f]{8}", first)
    assert first != second
