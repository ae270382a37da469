"""Config files in TOML and YAML; every refusal with its line."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from surefit.config_file import read_config
from surefit.doctor.findings import Finding
from surefit.errors import WrongCall
from surefit.recipes.sft_settings import LoraSft
from surefit.settings import as_dict, from_names


def config_at(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal_of(path: Path) -> Finding:
    with pytest.raises(WrongCall) as caught:
        from_names(LoraSft, read_config(path, "sft", ("sft", "eval")))
    (found,) = caught.value.findings
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flat.toml", "epochs = 3\nmax-seq-length = 64\nlr = 2e-4\nlora_targets = ['q', 'v']\n"),
        (
            "table.toml",
            "epochs = 9\nmax_tokens = 64\n[eval]\nbatch = 3\n[sft]\n"
            "epochs = 3\nlr = 2e-4\nlora_targets = [\n  'q',\n  'v',\n]\n",
        ),
        ("flat.yaml", "epochs: 3\nmax_seq_length: 64\nlr: 2e-4\nlora_targets: [q, v]\n"),
        ("table.yml", "sft:\n  epochs: 3\n  max-tokens: 64\n  lr: 2e-4\n  lora_targets: [q, v]\n"),
    ],
)
def test_keys_at_the_top_or_in_the_commands_table(tmp_path: Path, name: str, text: str) -> None:
    config = read_config(config_at(tmp_path, name, text), "sft", ("sft", "eval"))
    assert from_names(LoraSft, config) == LoraSft(
        epochs=3, max_tokens=64, learning_rate=2e-4, lora_targets=("q", "v")
    )


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    for name in ("a.toml", "a.yaml"):
        assert dict(read_config(config_at(tmp_path, name, "# nothing\n"), "sft")) == {}


@hypothesis_settings(max_examples=50, deadline=None)
@given(
    st.builds(
        LoraSft,
        data=st.text(),
        epochs=st.integers(1, 10**9),
        learning_rate=st.none() | st.floats(1e-12, 1e3),
        bucket=st.booleans(),
        lora_targets=st.lists(st.text("abc_.*")).map(tuple),
    )
)
def test_settings_written_as_yaml_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, settings: LoraSft
) -> None:
    folder = tmp_path_factory.mktemp("config")
    path = config_at(folder, "a.yaml", yaml.safe_dump(as_dict(settings)))
    assert from_names(LoraSft, read_config(path, "sft")) == settings
    given = {key: value for key, value in as_dict(settings).items() if value is not None}
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
    path = config_at(folder, "a.toml", "\n".join(lines).replace("\x7f", "\\u007f"))
    if not any("\\ud" in line for line in lines):  # JSON's pairs of surrogates are not TOML's
        assert from_names(LoraSft, read_config(path, "sft")) == settings


@pytest.mark.parametrize(
    ("name", "text", "line", "rule", "headline"),
    [
        (
            "a.toml",
            "epochs = 1\n\n'learning_rat' = 3\n",
            3,
            "unknown-setting",
            "`learning_rat` is not a setting of `LoraSft`.",
        ),
        (
            "a.toml",
            "epochs = 1\n[sft]\nseed = 1\nepochz = 3\n",
            4,
            "unknown-setting",
            "`epochz` is not a setting of `LoraSft`.",
        ),
        (
            "a.toml",
            "[sftt]\nepochs = 1\n",
            1,
            "unknown-setting",
            "`sftt` is not a setting of `sft`.",
        ),
        (
            "a.yaml",
            "sft:\n  epochz: 3\n",
            2,
            "unknown-setting",
            "`epochz` is not a setting of `LoraSft`.",
        ),
        (
            "a.yaml",
            "epochs: '3'\n",
            1,
            "setting-of-wrong-type",
            "`epochs` takes a whole number, and was given the text `3`.",
        ),
        ("a.toml", "epochs = 1\nseed = = 2\n", 2, "broken-config", "`a.toml` is not valid TOML."),
        ("a.toml", "seed = 1\nseed = 2\n", 2, "broken-config", "`a.toml` is not valid TOML."),
        ("a.yaml", "epochs: 1\nseed: [1\n", 3, "broken-config", "`a.yaml` is not valid YAML."),
        (
            "a.yaml",
            "x: !!python/name:os.system\n",
            1,
            "broken-config",
            "`a.yaml` is not valid YAML.",
        ),
        ("a.yaml", "x: 1\ny: \x01\n", 2, "broken-config", "`a.yaml` is not valid YAML."),
        (
            "a.yaml",
            "seed: 1\nepochs: 2\nseed: 3\n",
            3,
            "broken-config",
            "`seed` is set on line 1 and on line 3.",
        ),
        (
            "a.yaml",
            "sft:\n  seed: 1\n  seed: 3\n",
            3,
            "broken-config",
            "`seed` is set on line 2 and on line 3.",
        ),
        ("a.yaml", "- 1\n- 2\n", 1, "broken-config", "`a.yaml` holds no `key: value` lines."),
        (
            "a.json",
            "{}",
            None,
            "unknown-config-kind",
            "`a.json` is not a config file that surefit reads.",
        ),
    ],
)
def test_each_refusal_names_its_line(
    tmp_path: Path, name: str, text: str, line: int | None, rule: str, headline: str
) -> None:
    path = config_at(tmp_path, name, text)
    found = refusal_of(path)
    assert (found.rule, found.headline) == (rule, headline)
    assert found.place.file == str(path)
    assert found.place.line == line


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    assert refusal_of(missing).headline == f"The config file `{missing}` does not exist."
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    assert refusal_of(folder).headline == "`folder.toml` cannot be read: Is a directory."
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"data = '\xe9'\n")
    assert refusal_of(latin).headline == "`latin.toml` is not UTF-8: byte 9 is wrong."
