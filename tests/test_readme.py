"""The README's commands and example, run as they stand; its text is held against what they print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)
    return next(text for text in blocks if containing in text)


def rows(table: str) -> dict[str, list[float]]:
    """Return {arm: its numbers} of a printed table."""
    lines = [line.strip("│ \n").split("│") for line in table.splitlines() if line.startswith("│")]
    return {
        cells[0].strip(): [
            float(number.replace(",", "")) for cell in cells[1:] for number in re.findall(r"[\d.,]+", cell)
        ]
        for cells in lines
    }


def test_the_two_commands_are_the_ones_that_work():
    commands = re.findall(r"^pip install uv && uv run (.*?) +#", block("bash", "attar demo"), flags=re.MULTILINE)
    assert commands == ["attar demo", "pytest"]
    assert "uv run pytest" in (ROOT / ".ci" / "run").read_text()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A folder in which the demo ran, and what it printed."""
    folder = tmp_path_factory.mktemp("readme")
    command = [sys.executable, "-c", "from attar.cli import main; main()", "demo"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_demo_prints_what_the_readme_says(demo):
    folder, output = demo
    said, printed = rows(block("text", "share of full")), rows(output)
    assert list(printed) == ["all real patients", "random real patients", "condensed table", "condensed arrays"]
    assert list(said) == list(printed)
    for arm, numbers in printed.items():
        assert said[arm] == pytest.approx(numbers, rel=0.05, abs=0.03), arm
    share = {arm: numbers[-1] for arm, numbers in printed.items()}
    assert share["condensed table"] > 95
    assert share["random real patients"] < 85
    named = re.findall(r"^attar-demo/(\S+)", output, flags=re.MULTILINE)
    assert len(named) == 5
    for name in named:
        assert (folder / "attar-demo" / name).is_file()


def test_the_python_example_reads_the_demo_back(demo):
    folder, _ = demo
    written = (folder / "attar-demo" / "scores.json").stat().st_mtime_ns
    done = subprocess.run(
        [sys.executable, "-c", block("python", "Condenser")], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(100, 24) 0.")
    assert (folder / "attar-demo" / "scores.json").stat().st_mtime_ns == written


def test_every_path_the_readme_and_guide_name_exists():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:src/|tests/|benchmarks/|\.ci/)[\w./]+)`", README + guide):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"^\| `([^|]+)` \|", guide, flags=re.MULTILINE):
        for part in name.replace("`", "").split(", "):
            assert (ROOT / "src" / "attar" / part).exists(), part
