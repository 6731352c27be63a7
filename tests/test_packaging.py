"""A wheel and an editable install hold the same package, rules and their pages included, and need libcst at most."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "jaxmigrate", "rules")
PMAPPED = "import jax\n\nf = jax.pmap(lambda x: x)\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is packaged, because building leaves files behind."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy)
    return copy


def build(checkout: Path, kind: str, target: Path) -> Path:
    """Builds a wheel or an editable one as pip would, and unpacks it as pip would."""
    code = f"import sys; from setuptools.build_meta import build_{kind} as build; build(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(target)], cwd=checkout, check=True, capture_output=True
    )
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target / "site")
    return target / "site"


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def editable(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, "editable", tmp_path_factory.mktemp("editable"))


@pytest.fixture(scope="module")
def libcst(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of libcst and what it needs itself."""
    folder = tmp_path_factory.mktemp("libcst")
    for name in ("libcst", "yaml", "_yaml"):
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            (folder / name).symlink_to(Path(found.origin).parent)
    return folder


def run(site: Path, *arguments: str, cwd: Path, beside: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs jaxmigrate from a folder of installed packages, with no other package in sight but those in `beside`."""
    code = (
        "import site, sys; site.addsitedir(sys.argv.pop(1)); sys.path += [p for p in [sys.argv.pop(1)] if p]; "
        "from jaxmigrate.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(site), str(beside or ""), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def shipped(folder: Path) -> set[str]:
    kinds = ("*.py", "*.md", "*.html", "*.css", "*.js", "py.typed")
    files = {path.relative_to(folder).as_posix() for kind in kinds for path in folder.rglob(kind)}
    return {file for file in files if "__pycache__" not in file}


def test_the_wheel_holds_every_module_and_every_page(wheel: Path, checkout: Path) -> None:
    assert shipped(wheel / "jaxmigrate") == shipped(checkout / "jaxmigrate") | {
        f"rules/{name}" for name in shipped(checkout / "rules")
    }
    (metadata,) = wheel.glob("*.dist-info/METADATA")
    assert "Requires-Dist: jax" in metadata.read_text()
    needed = [line for line in metadata.read_text().splitlines() if line.startswith("Requires-Dist")]
    assert [line for line in needed if "extra ==" not in line] == ["Requires-Dist: libcst>=1.5"]
    (entry_points,) = wheel.glob("*.dist-info/entry_points.txt")
    assert "jaxmigrate = jaxmigrate.__main__:run" in entry_points.read_text()
    assert list(wheel.glob("*.dist-info/licenses/LICENSE"))


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_both_installs_work_with_libcst_alone_and_lint_with_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, libcst: Path
) -> None:
    site = request.getfixturevalue(kind)
    listed = run(site, "rule", cwd=tmp_path)
    assert listed.stderr == ""
    assert "JM490  rewrite withheld" in listed.stdout
    assert run(site, "rule", "jm490", cwd=tmp_path).stdout.startswith("# JM490: rewrite withheld\n")
    (tmp_path / "a.py").write_text(PMAPPED)
    fixed = run(site, "fix", "a.py", cwd=tmp_path, beside=libcst)
    assert (fixed.returncode, fixed.stderr) == (0, "")
    assert fixed.stdout.startswith("a.py: rewrote 1 site\n")
    linted = run(site, "lint", "a.py", cwd=tmp_path)
    assert (linted.returncode, linted.stderr) == (0, "no findings, 1 file checked\n")


def test_a_new_rule_is_part_of_an_editable_install_at_once(editable: Path, checkout: Path, tmp_path: Path) -> None:
    folder = checkout / "rules" / "jm999_new"
    folder.mkdir()
    try:
        (folder / "README.md").write_text("# JM999: new rule\n")
        assert "JM999  new rule\n" in run(editable, "rule", cwd=tmp_path).stdout
    finally:
        shutil.rmtree(folder)


def test_the_sdist_holds_what_its_tests_need(tmp_path: Path) -> None:
    """Everything that is tracked, so that whoever packages jaxmigrate can run its tests."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    tracked = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    copy = tmp_path / "copy"
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name, follow_symlinks=(ROOT / name).is_file())
    code = "import sys; from setuptools.build_meta import build_sdist; print(build_sdist(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)], cwd=copy, check=True, capture_output=True
    )
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as members:
        held = {member.name.partition("/")[2] for member in members.getmembers() if not member.isdir()}
    links = {name for name in tracked if (ROOT / name).is_dir()}  # in the archive they are what they lead to
    assert {name for name in tracked - held - links if not name.startswith((".gitignore", ".ci/"))} == set()
    assert {f"{name}/jm101_unbound_axis/README.md" for name in links} <= held
    with tarfile.open(archive) as members:
        members.extractall(tmp_path, filter="data")
    packages = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    collected = subprocess.run(  # without the .pth files by which an editable install is found
        [sys.executable, "-S", "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/rules"],
        cwd=archive.with_name(archive.name.removesuffix(".tar.gz")),
        env={**os.environ, "PYTHONPATH": packages},
        capture_output=True,
        text=True,
        check=False,
    )
    assert collected.returncode == 0, collected.stdout + collected.stderr
