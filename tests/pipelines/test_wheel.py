"""An installation from a wheel: it takes one name, and runs beside a project whose packages are called like our folders."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.guide import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel of this checkout, as an installer unpacks it."""
    root = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", root], cwd=ROOT, check=True, capture_output=True
    )
    [wheel] = root.glob("*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, root / "site"], check=True)
    return root / "site"


def test_a_wheel_takes_one_name(installed: Path) -> None:
    assert [path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")] == ["amemgym"]


def ended(installed: Path, project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, with the project's folder before the installation; of this environment, only the libraries are there."""
    start = "import sys; sys.path[1:1] = sys.argv.pop(1).split(':'); from amemgym import main; sys.argv[0] = 'amemgym'; main()"
    path = f"{project}:{installed}:{sysconfig.get_path('purelib')}"
    environ = {"PATH": os.environ["PATH"], "HOME": str(project)}
    command = [sys.executable, "-I", "-S", "-c", start, path, *words]
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)


def test_an_installation_runs_beside_a_project_with_an_assets_package_and_keeps_its_data_there(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "__init__.py").write_text("raise ImportError('of the project')\n", encoding="utf-8")
    shown = ended(installed, tmp_path, "recipe", "show", "demo")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "num_users" in shown.stdout
    refused = ended(installed, tmp_path, "evaluate", "demo", "--memory", "bm25")
    assert refused.returncode == 1
    assert f"in {tmp_path}/amemgym-data/releases is none yet" in refused.stderr
