"""The wheel holds the rooms, whole and nothing else, and works where the checkout cannot be seen."""

import configparser
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "langgraph_recursive"
ROOMS = ("state", "nodes", "graph")

IMPORT_ALL = f"""
import importlib, json, pkgutil, sys
for room in {ROOMS!r}:
    package = importlib.import_module(f"{PACKAGE}.{{room}}")
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith(".__main__"):
            importlib.import_module(found.name)
ours = {{name: module.__file__ for name, module in sys.modules.items() if name.startswith("{PACKAGE}.")}}
print(json.dumps({{name: file for name, file in ours.items() if file}}))  # a folder of data has no file
"""


def tree(*tops: str) -> set[str]:
    """Return the files below `tops` that git tracks, or would if they were added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *tops]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name for name in listed if (ROOT / name).is_file()}


def run_module(*command: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-P", "-m", *command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build from a copy, so that nothing lying about in the checkout gets in, and nothing is left there."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in tree(*ROOMS, "pyproject.toml", "README.md", "LICENSE"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    run_module("build", "--wheel", "--no-isolation", "--outdir", str(out), str(copy), cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    options = ("--quiet", "--no-index", "--no-deps", "--target", str(target))
    run_module("pip", "install", *options, str(wheel), cwd=target)
    return target


def test_wheel_holds_the_rooms_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {f"{PACKAGE}/{name}" for name in tree(*ROOMS)}
    assert {f"{PACKAGE}/{room}/py.typed" for room in ROOMS} <= held


def test_wheel_carries_license_and_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        texts = {name.partition(".dist-info/")[2]: archive.read(name).decode() for name in archive.namelist()}
    scripts = configparser.ConfigParser()
    scripts.read_string(texts["entry_points.txt"])
    assert texts["licenses/LICENSE"] == (ROOT / "LICENSE").read_text()
    assert dict(scripts["console_scripts"]) == {"langgraph-recursive": f"{PACKAGE}.graph.cli:main"}


def test_every_module_imports_from_the_wheel_alone(installed: Path) -> None:
    command = [sys.executable, "-P", "-c", IMPORT_ALL]
    env = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(command, cwd=installed, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    files: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    assert {f"{PACKAGE}.{room}" for room in ROOMS} <= files.keys()
    assert [file for file in files.values() if not Path(file).is_relative_to(installed)] == []
