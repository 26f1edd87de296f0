import json
import time
import tracemalloc
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

from attar.cohort.sources import eicu
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError
from attar.progress import Silent

STATIC = ["age_value:(51.0, 61.0]", "age_value:> 89", "gender_value:Female"]
HOURLY = ["HR_mask", "HR_value_(60.999, 69.2]", "HR_max>76.2", "SpO2_delta_time_(-0.001, 1.0]", "DRUG_A_ROUTE_value_IV"]
IDS = [141764, 141765, 141900, 141950]

# Four stays, four hours. Stay 0 has HR_mask in hours 0, 1 and 3; stay 1 the drug in hour 2; stay 3 SpO2 in hour 3.
ENTRIES = [(0, 0, 0), (0, 1, 0), (0, 3, 0), (0, 3, 1), (1, 2, 4), (3, 3, 3)]


def save(path, shape, entries, /, data=None, **more):
    coords = np.array(entries, dtype=np.int64).reshape(-1, len(shape)).T
    stored = np.ones(len(entries), dtype=np.uint8) if data is None else np.asarray(data)
    arrays = {"data": stored, "coords": np.ascontiguousarray(coords), "shape": np.array(shape), "fill_value": 0}
    np.savez_compressed(path, **(arrays | more))


def write(tmp_path, task="mortality_48h", static="s", **columns):
    """The published tree with one task; returns its root and the task's folder."""
    root = tmp_path / "FIDDLE_eicu"
    folder = root / "features" / task
    folder.mkdir(parents=True)
    (root / "population").mkdir(exist_ok=True)
    save(folder / f"{static}.npz", (4, 3), [(0, 0), (1, 2), (2, 1), (3, 0), (3, 2)])
    save(folder / "X.npz", (4, 4, 5), ENTRIES)
    (folder / f"{static}.feature_names.json").write_text(json.dumps(STATIC))
    (folder / "X.feature_names.json").write_text(json.dumps(HOURLY))
    for name in (static, "X"):
        (folder / f"{name}.feature_aliases.json").write_text("{}")
    label = columns or {"ID": IDS, "mortality_LABEL": [0, 1, 0, 1]}
    pd.DataFrame(label).to_csv(root / "population" / f"{task}.csv", index=False)
    return root, folder


def read(path, **options):
    (prepared,) = eicu.read(Path(path), Options(**options), Silent())
    return prepared


def refused(path, said, error=DataError, **options):
    with pytest.raises(error, match=said):
        read(path, **options)


def test_one_task(tmp_path):
    root, _ = write(tmp_path)
    prepared = read(root)
    table = prepared.patients
    assert list(table) == ["ID", *STATIC, *HOURLY, "mortality_LABEL"]
    assert (prepared.id, prepared.targets, prepared.groups) == ("ID", ("mortality_LABEL",), ())
    assert prepared.values is None
    assert table["ID"].tolist() == IDS
    assert table["mortality_LABEL"].tolist() == [0, 1, 0, 1]
    assert table[STATIC].to_numpy().tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert table[HOURLY].to_numpy().tolist() == [[1, 1, 0, 0, 0], [0, 0, 0, 0, 1], [0] * 5, [0, 0, 0, 1, 0]]
    assert set(table[STATIC + HOURLY].dtypes) == {np.dtype("uint8")}
    assert prepared.kept == {"stays": 4, "features": 8}
    assert not prepared.dropped
    assert not prepared.notes
    assert "mortality_48h" in prepared.name


def test_rules_over_time(tmp_path):
    root, _ = write(tmp_path)
    last = read(root, collapse="last").patients
    assert last[HOURLY].to_numpy().tolist() == [[1, 1, 0, 0, 0], [0] * 5, [0] * 5, [0, 0, 0, 1, 0]]
    assert last["HR_mask"].dtype == np.uint8
    mean = read(root, collapse="mean").patients
    assert mean[HOURLY].to_numpy().tolist() == [[0.75, 0.25, 0, 0, 0], [0, 0, 0, 0, 0.25], [0] * 5, [0, 0, 0, 0.25, 0]]
    assert mean["HR_mask"].dtype == np.float32
    assert mean["gender_value:Female"].tolist() == [0, 1, 0, 1]
    refused(root, "no rule 'meen'.*mean", RecipeError, collapse="meen")


def test_the_reading_goes_in_blocks(tmp_path, monkeypatch):
    root, folder = write(tmp_path)
    whole = read(root, collapse="mean").patients
    monkeypatch.setattr(eicu, "ENTRIES_AT_ONCE", 2)
    pd.testing.assert_frame_equal(read(root, collapse="mean").patients, whole)
    coords = np.asfortranarray(np.array(ENTRIES, dtype=np.uint32).T)
    save(folder / "X.npz", (4, 4, 5), ENTRIES, coords=coords)
    pd.testing.assert_frame_equal(read(root, collapse="mean").patients, whole)
    seen = []
    watch = Silent()
    watch.stage = lambda title, total, done=0: seen.append((title, total))
    watch.update = lambda done, note="": seen.append(done)
    eicu.read(root, Options(), watch)
    assert seen == [("reading s.npz", 5), 2, 4, 5, ("reading X.npz", 6), 2, 4, 6]


def test_arrays_as_older_and_newer_packages_write_them(tmp_path):
    root, folder = write(tmp_path, static="S")
    save(folder / "X.npz", (4, 4, 5), ENTRIES, data=np.ones(6, dtype=bool), format=np.array("coo"))
    one = read(root).patients
    np.savez(folder / "X.npz", data=np.ones(6), coords=np.array(ENTRIES, dtype=np.uint32).T, shape=np.array((4, 4, 5)))
    pd.testing.assert_frame_equal(read(root).patients, one)
    assert read(root, collapse="last").patients["HR_mask"].dtype == np.uint8
    save(folder / "X.npz", (4, 4, 5), [*ENTRIES, (2, 0, 0)], data=[1, 1, 1, 1, 1, 1, 0])
    pd.testing.assert_frame_equal(read(root).patients, one)


def test_numbers_that_were_not_cut_into_bins(tmp_path):
    root, folder = write(tmp_path)
    save(folder / "s.npz", (4, 3), [(0, 0), (2, 0), (1, 2)], data=[61.5, 40.0, 1.0])
    save(folder / "X.npz", (4, 4, 5), ENTRIES, data=[80.0, 90.0, 70.0, 1.0, 1.0, 1.0])
    mean = read(root, collapse="mean").patients
    assert mean[STATIC[0]].tolist() == [61.5, 0, 40, 0]
    assert mean["HR_mask"].tolist() == [60.0, 0, 0, 0]
    assert read(root, collapse="last").patients["HR_mask"].tolist() == [70.0, 0, 0, 0]
    refused(root, r"X\.npz holds numbers other than 0 and 1.*--collapse mean")
    save(folder / "X.npz", (4, 4, 5), ENTRIES, data=[80.0, np.inf, 70.0, 1.0, 1.0, 1.0])
    refused(root, r"X\.npz holds infinite values", collapse="mean")


def test_a_path_to_one_task(tmp_path, monkeypatch):
    root, folder = write(tmp_path, task="ARF_4h", ID=IDS, ARF_ONSET_TIME=[9, 300, 7, 8], ARF_LABEL=[0, 1, 0, 0])
    prepared = read(folder)
    assert prepared.targets == ("ARF_LABEL",)
    assert "ARF_ONSET_TIME" not in prepared.patients
    monkeypatch.chdir(folder)
    assert read(".", task="ARF_4h").patients.equals(prepared.patients)
    refused(folder, "folder of one task.*'ARF_12h'", RecipeError, task="ARF_12h")
    refused(root, "no task 'mortality_48h'.*it holds ARF_4h.*--task")
    refused(tmp_path, r"no X\.npz in.*Give the folder FIDDLE_eicu")
    (root / "population" / "ARF_4h.csv").unlink()
    refused(folder, r"no .*population.ARF_4h\.csv")


@pytest.mark.parametrize("label", ["mortality_48h_LABEL", "mortality_LABEL", "y_true", "LABEL"])
def test_names_of_the_label(tmp_path, label):
    columns = {"stay": list("abcd"), label: [0, 1, 0, 1], "partition": ["train", "val", "test", "train"], "ID": IDS}
    prepared = read(write(tmp_path, **columns)[0])
    assert prepared.targets == (label,)
    assert prepared.groups == ("partition",)
    assert list(prepared.patients)[-2:] == [label, "partition"]
    assert "stay" not in prepared.patients


def test_features_by_expression(tmp_path):
    root, _ = write(tmp_path)
    assert list(read(root, features="^(age|HR)_").patients) == ["ID", *STATIC[:2], *HOURLY[:3], "mortality_LABEL"]
    only = read(root, features="gender")
    assert list(only.patients) == ["ID", "gender_value:Female", "mortality_LABEL"]
    assert only.kept == {"stays": 4, "features": 1}
    refused(root, "'heart' is neither a file with names nor", features="heart")
    refused(root, r"'HR\('.*no regular expression", RecipeError, features="HR(")


def test_features_by_a_file_of_names(tmp_path):
    root, _ = write(tmp_path)
    listed = tmp_path / "wanted.txt"
    listed.write_text("HR\n\nage_value:> 89\nDRUG_A_ROUTE\n", encoding="utf-8-sig")
    wanted = [STATIC[1], *HOURLY[:3], HOURLY[4]]
    assert list(read(root, features=str(listed)).patients) == ["ID", *wanted, "mortality_LABEL"]
    listed.write_text("HR\nSp02\nDRUG\n")
    refused(root, r"2 name.s. in .*wanted\.txt match no feature, the first is 'Sp02'.*'SpO2'", features=str(listed))
    listed.write_bytes(b"\xff\xfe")
    refused(root, "cannot be read as a text file of feature names", features=str(listed))


@pytest.mark.parametrize("text", ["141765\n141950\n999\n888\n141765\n", "ID\n141950\n999\n\n888\n141765", None])
def test_ids(tmp_path, text):
    root, _ = write(tmp_path)
    listed = tmp_path / "keep.csv"
    listed.write_text(text or ',"ID",site\n0,"141950",a\n1,"999",b\n2,"888",c\n3,"141765",a\n')
    prepared = read(root, ids=listed)
    assert prepared.patients["ID"].tolist() == [141765, 141950]
    assert prepared.patients["mortality_LABEL"].tolist() == [1, 1]
    assert prepared.patients["DRUG_A_ROUTE_value_IV"].tolist() == [1, 0]
    assert prepared.patients[STATIC[0]].tolist() == [0, 1]
    assert prepared.kept["stays"] == 2
    assert prepared.dropped == {"stays not named in keep.csv": 2, "unknown ids in keep.csv": 2}
    assert "2 id(s) of" in prepared.notes[0]
    assert "the first is 999" in prepared.notes[0]


def test_unusable_ids(tmp_path):
    root, _ = write(tmp_path)
    listed = tmp_path / "keep.csv"
    refused(root, "keep.csv cannot be read", ids=listed)
    for text, said in {
        "": "names no stay",
        "ID\n7\n": "names no stay",
        "stay,site\n141765,a\n": "none is named ID",
    }.items():
        listed.write_text(text)
        refused(root, said, ids=listed)


def test_one_name_in_both_arrays(tmp_path):
    root, folder = write(tmp_path)
    (folder / "X.feature_names.json").write_text(json.dumps([STATIC[1], *HOURLY[1:]]))
    refused(root, "'age_value:> 89'.* in s and in X, with different values")
    assert STATIC[1] not in read(root, features="HR|gender").patients
    save(folder / "s.npz", (4, 3), [(0, 1), (1, 2)])
    prepared = read(root)
    assert list(prepared.patients) == ["ID", *STATIC, *HOURLY[1:], "mortality_LABEL"]
    assert prepared.kept["features"] == 7
    (folder / "X.feature_names.json").write_text(json.dumps(["ID", *HOURLY[1:]]))
    refused(root, "'ID'.*another column")


def test_without_static_features(tmp_path):
    root, folder = write(tmp_path)
    (folder / "s.npz").unlink()
    prepared = read(root)
    assert list(prepared.patients) == ["ID", *HOURLY, "mortality_LABEL"]
    assert "no s.npz" in prepared.notes[0]
    (folder / "X.npz").unlink()
    refused(root, r"no X\.npz")


def test_ids_out_of_order_are_noted(tmp_path):
    prepared = read(write(tmp_path, ID=IDS[::-1], LABEL=[0, 1, 0, 1])[0])
    assert "do not ascend" in prepared.notes[0]
    assert prepared.patients["ID"].tolist() == IDS[::-1]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"ID": IDS[:3], "LABEL": [0, 1, 0]}, r"mortality_48h\.csv has 3 rows, but .*s\.npz holds 4 stays"),
        ({"ID": IDS, "LABEL": [0, 1, 2, 3]}, "LABEL of .* is not 0 or 1 in 2 row.s., first in data row 3"),
        ({"ID": IDS, "LABEL": [0, None, 0, 1]}, "is not 0 or 1 in 1 row.s., first in data row 2"),
        ({"ID": IDS, "LABEL": list("0x01")}, "is not 0 or 1 in 1 row.s., first in data row 2"),
        ({"ID": [1, 2, 1, 2], "LABEL": [0, 1, 0, 1]}, "second time in 2 row.s., first in data row 3"),
        ({"ID": [1, None, 3, 4], "LABEL": [0, 1, 0, 1]}, "ID of .* is empty in 1 row.s., first in data row 2"),
        ({"stay": IDS, "LABEL": [0, 1, 0, 1]}, "needs a column ID and one of mortality_48h_LABEL.*It has stay, LABEL"),
        ({"ID": IDS, "died": [0, 1, 0, 1]}, "needs a column ID and one of .*y_true"),
    ],
)
def test_unusable_labels(tmp_path, columns, said):
    refused(write(tmp_path, **columns)[0], said)


def test_arrays_that_do_not_belong_together(tmp_path):
    root, folder = write(tmp_path)
    (folder / "X.feature_names.json").write_text(json.dumps(HOURLY[:4]))
    refused(root, r"X\.feature_names\.json names 4 features, but .*X\.npz has 5")
    (folder / "X.feature_names.json").write_text(json.dumps([*HOURLY[:4], "HR_mask"]))
    refused(root, "names 'HR_mask' more than once")
    save(folder / "s.npz", (5, 3), [(4, 0)])
    refused(root, r"has 4 rows, but .*s\.npz holds 5 stays")
    save(folder / "s.npz", (4, 3), [(3, 0)])
    save(folder / "X.npz", (3, 4, 5), [(0, 0, 0)])
    refused(root, r"has 4 rows, but .*X\.npz holds 3 stays")


@pytest.mark.parametrize("content", [None, "", "not json", '{"a": 1}', "[1, 2, 3]"])
def test_unusable_names(tmp_path, content):
    root, folder = write(tmp_path)
    names = folder / "s.feature_names.json"
    names.unlink() if content is None else names.write_text(content)
    refused(root, r"s\.feature_names\.json.* is missing or no JSON list")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"coords": np.array([[0, 4], [0, 0], [0, 0]])}, "outside its shape"),
        ({"coords": np.array([[0, 0], [0, -1], [0, 0]])}, "outside its shape"),
        ({"coords": np.array([[0, 0], [0, 0], [0, 5]])}, "outside its shape"),
        ({"coords": np.zeros((3, 3), dtype=int)}, "no sparse array"),
        ({"coords": np.zeros((2, 2), dtype=int)}, "no sparse array"),
        ({"coords": np.zeros((3, 2))}, "no sparse array"),
        ({"shape": np.array([4, 5])}, "no sparse array"),
        ({"shape": np.array([4, 0, 5])}, "no sparse array"),
        ({"data": np.array(["a", "b"])}, "no sparse array"),
        ({"data": np.array([1, "b"], dtype=object)}, "Python objects"),
        ({"coords": np.zeros((3, 2), dtype=object)}, "Python objects"),
        ({"fill_value": np.array(1)}, "other than 0 where nothing is stored"),
        ({"fill_value": np.array(np.nan)}, "other than 0 where nothing is stored"),
    ],
)
def test_unusable_arrays(tmp_path, changed, said):
    root, folder = write(tmp_path)
    save(folder / "X.npz", (4, 4, 5), [(0, 0, 0), (1, 1, 1)], **changed)
    refused(root, rf"X\.npz.*{said}")


def test_other_and_damaged_files(tmp_path):
    root, folder = write(tmp_path)
    path = folder / "X.npz"
    rng = np.random.default_rng(0)
    save(path, (4, 4, 5), rng.integers(0, 4, (20_000, 3)))
    good = path.read_bytes()
    assert read(root).kept["stays"] == 4
    for bad in (b"", b"no zip", good[: len(good) // 2]):
        path.write_bytes(bad)
        refused(root, r"X\.npz is not a readable npz file")
    middle = good.index(b"coords.npy") + 5000
    path.write_bytes(good[:middle] + bytes(64) + good[middle + 64 :])
    refused(root, r"X\.npz")
    np.savez(path, data=np.ones(2), indices=np.zeros(2), indptr=np.zeros(3), shape=np.array([4, 4, 5]))
    refused(root, r"X\.npz lacks coords\.npy")


def test_an_array_cut_short_inside_a_sound_zip(tmp_path):
    root, folder = write(tmp_path)
    save(folder / "X.npz", (4, 4, 5), [(0, 0, 0)] * 50)
    with ZipFile(folder / "X.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["coords.npy"] = members["coords.npy"][:-8]
    with ZipFile(folder / "X.npz", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    refused(root, r"X\.npz is not a readable npz file \(damaged, or cut short\)")


def test_the_size_of_the_published_array_costs_neither_time_nor_memory(tmp_path):
    shape = (77_066, 48, 7_508)
    label = np.arange(shape[0]) % 2
    root, folder = write(tmp_path, ID=np.arange(shape[0]) + 141_764, mortality_LABEL=label)
    (folder / "X.feature_names.json").write_text(json.dumps([f"v{at}_value_(0.0, 1.0]" for at in range(shape[2])]))
    (folder / "s.npz").unlink()
    save(folder / "X.npz", shape, [(77_065, 47, 7_507), (5, 0, 7_500), (5, 9, 7_500), (5, 9, 1)])
    tracemalloc.start()
    began = time.perf_counter()
    table = read(root, features="^v75").patients
    spent = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.shape == (77_066, 21)
    assert table["v7507_value_(0.0, 1.0]"].iloc[-1] == 1
    assert table["v7500_value_(0.0, 1.0]"].sum() == table["v7500_value_(0.0, 1.0]"].iloc[5] == 1
    assert spent < 2
    assert peak < 60e6
