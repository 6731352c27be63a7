"""The configuration is found upward, checked key by key, and wrong ones are named by file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config, ConfigError, VerifyConfig, find_config, parse_codes, parse_version, read_config

EVERYTHING = """\
[project]
name = "x"

[tool.jaxmigrate]
select = ["JM1", "jm201"]
ignore = ["JM102"]
exclude = ["third_party", "rules/*/bad.py"]
target-jax = "0.7"
layout = "stacked"

[tool.jaxmigrate.per-file-ignores]
"tests/**" = ["JM1"]

[tool.jaxmigrate.verify]
command = "python train.py --name 'a b'"
devices = 4
timeout = 90
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pyproject.toml"
    file.write_text(text)
    return file


def test_every_key(tmp_path: Path) -> None:
    file = write(tmp_path, EVERYTHING)
    assert read_config(file) == Config(
        root=tmp_path,
        file=file,
        select=("JM1", "JM201"),
        ignore=("JM102",),
        exclude=("third_party", "rules/*/bad.py"),
        target_jax=(0, 7),
        layout="stacked",
        per_file_ignores=(("tests/**", ("JM1",)),),
        verify=VerifyConfig(command=("python", "train.py", "--name", "a b"), devices=4, timeout=90.0),
    )


def test_a_command_may_be_a_list(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, '[tool.jaxmigrate.verify]\ncommand = ["python", "a b.py"]\n'))
    assert config is not None
    assert config.verify == VerifyConfig(command=("python", "a b.py"))


def test_the_nearest_table_upward_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, '[tool.jaxmigrate]\nselect = ["JM1"]\n')
    write(tmp_path / "a" / "b", "[project]\nname = 'no table of ours'\n")
    inner = write(tmp_path / "c", '[tool.jaxmigrate]\nselect = ["JM2"]\n')
    source = tmp_path / "a" / "b" / "x.py"
    source.touch()
    assert find_config(source).select == ("JM1",)
    assert find_config(tmp_path / "a" / "b").file == tmp_path / "pyproject.toml"
    assert find_config(tmp_path / "c").file == inner
    monkeypatch.chdir(tmp_path / "c")
    assert find_config(Path("absent.py")).select == ("JM2",)
    assert find_config(Path("..")).select == ("JM1",)


def test_without_a_table_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "[tool.other]\nx = 1\n")
    assert find_config(tmp_path) == Config(root=tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[tool.jaxmigrate]\n\nselekt = []\n", 3, "tool.jaxmigrate.selekt is not a key .* did you mean 'select'"),
        ("[tool.jaxmigrate]\nquux = 1\n", 2, "quux is not a key .* known keys: apart, equal, exclude"),
        ("[tool.jaxmigrate]\nselect = 'JM1'\n", 2, "tool.jaxmigrate.select must be a list of strings"),
        ("[tool.jaxmigrate]\nselect = ['JM1', 3]\n", 2, "select must be a list of strings"),
        ("[tool.jaxmigrate]\nignore = ['E501']\n", 2, "ignore is wrong: 'E501' is not a rule code"),
        ("[tool.jaxmigrate]\ntarget-jax = 0.7\n", 2, "target-jax must be a string"),
        ("[tool.jaxmigrate]\ntarget-jax = 'new'\n", 2, "target-jax is wrong: 'new' is not a JAX release"),
        ("[tool.jaxmigrate]\ntarget-jax = '0.4.30'\n", 2, "0.6.1 is the first"),
        ("[tool.jaxmigrate]\nlayout = 'global'\n", 2, "layout must be one of 'auto', 'likely', 'stacked'"),
        ("[tool.jaxmigrate]\n\nprocesses = 0\n", 3, "tool.jaxmigrate.processes must be a whole number of at least 1"),
        ("[tool.jaxmigrate]\nprocesses = true\n", 2, "tool.jaxmigrate.processes must be a whole number of at least 1"),
        (
            "[tool.jaxmigrate]\nprocesses = 1\nverify.processes = 2\n",
            3,
            "verify.processes is more than 1, though tool.jaxmigrate.processes = 1 says",
        ),
        (
            "[tool.jaxmigrate]\nprocesses = 1\n[tool.jaxmigrate.verify.commands.a]\ncommand = 'x'\nprocesses = 2\n",
            5,
            "verify.commands.a.processes is more than 1",
        ),
        ("[tool.jaxmigrate]\nper-file-ignores = ['JM1']\n", 2, "per-file-ignores must be a table"),
        (
            "[tool.jaxmigrate.per-file-ignores]\n'a/**' = ['JM1']\n'b/**' = 'JM1'\n",
            3,
            "per-file-ignores.b/\\*\\* must be a list",
        ),
        ("[tool]\n[tool.jaxmigrate.verify]\ndevices = true\n", 3, "verify.devices must be a whole number"),
        ("[tool.jaxmigrate]\n[tool.jaxmigrate.verify]\ndevices = 0\n", 3, "verify.devices must be a whole number"),
        ("[tool.jaxmigrate]\nverify.timeout = -1\n", 2, "verify.timeout must be a number of seconds"),
        ("[tool.jaxmigrate.verify]\ntimeout = nan\n", 2, "verify.timeout must be a number of seconds"),
        ('[tool.jaxmigrate.verify]\ncommand = "a \'b"\n', 2, "verify.command cannot be split"),
        ('[tool.jaxmigrate.verify]\n\n\n"retries" = 1\n', 4, "verify.retries is not a key"),
        ("[tool]\njaxmigrate = 3\n", 2, "tool.jaxmigrate must be a table"),
        ("x = 1\n[tool.jaxmigrate]\n# select = 1\nverify = 3\n", 4, "verify must be a table"),
        ("[tool.jaxmigrate.verify]\ncommands = 3\n", 2, "verify.commands must be a table of tables"),
        ("[tool.jaxmigrate.verify.commands]\na = {}\n", 2, "verify.commands.a must say which command"),
        ("[tool.jaxmigrate.verify.commands.a]\ncomand = 'x'\n", 2, "did you mean 'command'"),
        ("[tool.jaxmigrate.verify]\nenvironment = {A = 1}\n", 2, "verify.environment must be a table of strings"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, line: int, words: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError, match=words) as caught:
        read_config(file)
    assert str(caught.value).startswith(f"{file}:{line}: ")


def test_files_that_are_no_toml_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pyproject\.toml: is not valid TOML: .*line 1"):
        read_config(write(tmp_path, "[tool.jaxmigrate\n"))
    file = tmp_path / "pyproject.toml"
    file.write_bytes(b"x = '\xff'\n")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read_config(file)
    with pytest.raises(ConfigError, match="no such file"):
        read_config(tmp_path / "gone.toml")


def test_exclusion_is_relative_to_the_projects_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(root=tmp_path, exclude=("gen", "a/*.py"))
    monkeypatch.chdir(tmp_path)
    assert config.excludes(tmp_path / "x" / "gen")
    assert config.excludes(Path("a/b.py"))
    assert not config.excludes(Path("x/a/b.py"))
    assert not config.excludes(Path("/elsewhere/gen"))
    assert config.excludes(Path("x/gen/y/b.py"))
    assert not config.excludes(Path("x/gen/y/b.py"), below=Path("x/gen/y"))
    assert config.excludes(Path("x/gen/y/gen"), below=Path("x"))


@pytest.mark.parametrize(
    ("select", "ignore", "code", "reported"),
    [
        (("JM",), (), "JM101", True),
        (("JM1",), (), "JM201", False),
        (("JM",), ("JM1",), "JM101", False),
        (("JM", "JM101"), ("JM1",), "JM101", True),
        (("JM", "JM101"), ("JM1",), "JM102", False),
        (("JM101",), ("JM101",), "JM101", False),
        ((), (), "JM101", False),
    ],
)
def test_the_longer_match_decides(select: tuple[str, ...], ignore: tuple[str, ...], code: str, reported: bool) -> None:
    assert Config(select=select, ignore=ignore).reports(code) is reported


def test_per_file_ignores(tmp_path: Path) -> None:
    config = Config(root=tmp_path, per_file_ignores=(("tests/**", ("JM1",)), ("*_gen.py", ("JM",))))
    assert not config.reports("JM101", tmp_path / "tests" / "a.py")
    assert config.reports("JM201", tmp_path / "tests" / "a.py")
    assert not config.reports("JM201", tmp_path / "x_gen.py")
    assert config.reports("JM101", None)


def test_codes_on_the_command_line() -> None:
    assert parse_codes("jm1, JM201,") == ("JM1", "JM201")
    with pytest.raises(ValueError, match="'JM1011' is not a rule code"):
        parse_codes("JM1011")


def test_versions() -> None:
    assert parse_version("0.6") == (0, 6)
    assert parse_version("0.12.0.1") == (0, 12, 0, 1)
    with pytest.raises(ValueError, match=r"JAX 0\.6\.0 has no jax\.shard_map"):
        parse_version("0.6.0")
