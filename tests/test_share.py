import json

import numpy as np
import pandas as pd
import pytest

from attar import recipe
from attar.errors import RunError
from attar.run import condense_cohort
from attar.share import Share
from conftest import QUICK

SAME = ("condensed.parquet", "scores.json", "teachers.safetensors", "paths.safetensors")


def test_a_value_is_computed_once_for_a_key(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"points": np.arange(3.0)}

    for share in (Share(tmp_path / "common"), Share(tmp_path / "common")):
        np.testing.assert_array_equal(share.arrays("teachers", {"seed": 0}, compute)["points"], np.arange(3.0))
    assert len(calls) == 1
    Share(tmp_path / "common").arrays("teachers", {"seed": 1}, compute)
    assert len(calls) == 2
    Share(None).arrays("teachers", {"seed": 0}, compute)
    assert len(calls) == 3


def test_a_share_that_is_a_file_is_refused_before_anything_is_trained(small_cohort, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="--share"):
        condense_cohort(small_cohort, recipe.load("default", QUICK), tmp_path / "run", share=tmp_path / "file")
    assert not (tmp_path / "run").exists()


def times(folder):
    """When each file that is shared was written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*-*")}


def test_runs_with_other_numbers_of_patients_share_their_paths(small_cohort, tmp_path):
    for per_class in (5, 8):
        settings = recipe.load("default", {**QUICK, "per_class": per_class})
        condense_cohort(small_cohort, settings, tmp_path / str(per_class), share=tmp_path / "common")
    assert len(list((tmp_path / "common").glob("paths-*"))) == 1
    one, other = ((tmp_path / name / "paths.safetensors").read_bytes() for name in ("5", "8"))
    assert one == other


def test_runs_that_share_teachers_end_with_the_same_bytes_as_runs_that_do_not(finished, small_cohort, tmp_path):
    """The first sharer trains with every epoch kept; the second, another method, trains nothing but its paths."""
    mct = recipe.load("default", {**QUICK, "method": "mct"})
    condense_cohort(small_cohort, mct, tmp_path / "mct", share=tmp_path / "common")
    kept = times(tmp_path / "common")
    assert {name.split("-")[0] for name in kept} == {"teachers", "full", "random"}
    condense_cohort(small_cohort, recipe.load("default", QUICK), tmp_path / "btm", share=tmp_path / "common")
    (drawn,) = times(tmp_path / "common").keys() - kept.keys()
    assert drawn.startswith("paths-")
    assert times(tmp_path / "common").items() >= kept.items()
    for name in SAME:
        assert (tmp_path / "btm" / name).read_bytes() == (finished / name).read_bytes(), name

    manifest = json.loads((tmp_path / "mct" / "manifest.json").read_text())
    assert manifest["storage"]["bytes"]["teachers"] < 1.1 * manifest["storage"]["checkpoint_bytes"] / 5
    assert pd.read_parquet(tmp_path / "mct" / "profile.parquet").columns.tolist() == [
        "teacher",
        "t",
        "line_loss",
        "path_loss",
    ]

    # Only the teachers' ends are kept beside the paths: paths that were lost need whole trainings again.
    paths = (tmp_path / "mct" / "paths.safetensors").read_bytes()
    (tmp_path / "mct" / "paths.safetensors").unlink()
    condense_cohort(small_cohort, mct, tmp_path / "mct", share=tmp_path / "common")
    assert (tmp_path / "mct" / "paths.safetensors").read_bytes() == paths
