import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attar import recipe
from attar.errors import RunError
from attar.store import Run

MANIFEST = {"attar": "1", "cohort": {"fingerprint": "abc"}}


def test_what_is_written_is_read_back(tmp_path):
    with Run(tmp_path / "run") as run:
        run.claim(recipe.load(), MANIFEST)
        arrays = {"a": np.arange(6.0).reshape(2, 3).T, "scalar": np.float32(2.5), "flag": np.array([True])}
        run.write_arrays("x.safetensors", arrays)
        for key, value in run.read_arrays("x.safetensors").items():
            np.testing.assert_array_equal(value, arrays[key])
            assert value.shape == np.shape(arrays[key])
        table = pd.DataFrame({"name": ["a", "b"], "value": [1, 2]})
        run.write_table("t.parquet", table)
        pd.testing.assert_frame_equal(run.read_table("t.parquet"), table)
        assert run.recipe() == recipe.load()


def test_a_mapped_array_is_the_one_written(tmp_path):
    run, points = Run(tmp_path), np.arange(6, dtype=np.float32).reshape(3, 2)
    run.write_arrays("x.safetensors", {"points": points})
    np.testing.assert_array_equal(run.map_array("x.safetensors"), points)
    (tmp_path / "x.safetensors").write_bytes((tmp_path / "x.safetensors").read_bytes()[:-4])
    with pytest.raises(RunError, match=r"x\.safetensors is damaged"):
        run.map_array("x.safetensors")


def test_a_folder_in_use_is_refused(tmp_path):
    with Run(tmp_path), pytest.raises(RunError, match="Another attar process"), Run(tmp_path):
        pass
    with Run(tmp_path):
        pass


def test_a_lock_dies_with_its_process(tmp_path):
    script = (
        f"import os, signal; from attar.store import Run; Run({str(tmp_path)!r}).__enter__(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with Run(tmp_path):
        pass


def test_a_folder_that_is_no_run_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="holds no attar run"), Run(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(RunError, match="is a file"), Run(tmp_path / "thesis.txt"):
        pass


def test_a_run_killed_before_its_manifest_starts_over(tmp_path):
    for name in ("recipe.toml", ".manifest.json.part", ".lock"):
        (tmp_path / name).write_text("half")
    with Run(tmp_path) as run:
        assert run.claim(recipe.load(), MANIFEST) == MANIFEST
        assert run.recipe() == recipe.load()


def test_another_run_is_refused_with_what_differs(tmp_path):
    with Run(tmp_path) as run:
        run.claim(recipe.load(), MANIFEST)
        assert run.claim(recipe.load(), MANIFEST) == MANIFEST
        with pytest.raises(RunError, match="per_class was 50, now 20"):
            run.claim(recipe.load("default", {"per_class": 20}), MANIFEST)
        with pytest.raises(RunError, match="data are not these"):
            run.claim(recipe.load(), {**MANIFEST, "cohort": {"fingerprint": "other"}})
        with pytest.raises(RunError, match="made by attar 1, this is 2"):
            run.claim(recipe.load(), {**MANIFEST, "attar": "2"})


def test_a_damaged_file_is_named(tmp_path):
    with Run(tmp_path) as run:
        run.claim(recipe.load(), MANIFEST)
        (tmp_path / "x.safetensors").write_bytes(b"garbage")
        with pytest.raises(RunError, match=r"x\.safetensors is damaged"):
            run.read_arrays("x.safetensors")
        (tmp_path / "scores.json").write_text("{")
        with pytest.raises(RunError, match=r"scores\.json is damaged"):
            run.read_json("scores.json")
        (tmp_path / "history.parquet").write_text("version https://git-lfs")
        with pytest.raises(RunError, match=r"history\.parquet is damaged"):
            run.read_table("history.parquet")
        with pytest.raises(RunError, match=r"no condensed\.parquet yet"):
            run.read_table("condensed.parquet")
    with pytest.raises(RunError, match="not an attar run folder"):
        Run(tmp_path / "nowhere").manifest()


def test_leftovers_of_a_crash_are_cleared(tmp_path):
    with Run(tmp_path) as run:
        run.claim(recipe.load(), MANIFEST)
    (tmp_path / ".scores.json.part").write_text("half")
    with Run(tmp_path):
        assert not (tmp_path / ".scores.json.part").exists()


@pytest.fixture
def tiny_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a full disk can only be made where mounting is allowed")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_said_and_the_old_file_stays(tiny_disk: Path):
    with Run(tiny_disk / "run") as run:
        run.claim(recipe.load(), MANIFEST)
        run.write("x.bin", b"old")
        with pytest.raises(RunError, match=r"No space is left on the disk for .*x\.bin"):
            run.write("x.bin", bytes(200_000))
        assert (tiny_disk / "run" / "x.bin").read_bytes() == b"old"
        assert not list((tiny_disk / "run").glob(".*.part"))
