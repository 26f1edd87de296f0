import gzip

import numpy as np
import pandas as pd
import pytest

from attar.cohort import Cohort
from attar.cohort.files import read
from attar.errors import DataError


def write(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters(tmp_path, mark):
    path = write(tmp_path, f"age{mark}sex\n61{mark}f\n72{mark}m\n")
    frame, warnings = read(path)
    assert frame.to_dict("list") == {"age": [61, 72], "sex": ["f", "m"]}
    assert warnings == ()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_and_blank_lines(tmp_path, newline):
    path = write(tmp_path, newline.join(["", "a,b", "1,2", "", "3,4", "  ", ""]))
    assert read(path)[0].to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_quoted_fields_may_hold_delimiters_and_line_breaks(tmp_path):
    path = write(tmp_path, '"Weight, kg","note"\n70,"a\nb"\n71,"c,d"\n')
    assert read(path)[0].to_dict("list") == {"Weight, kg": [70, 71], "note": ["a\nb", "c,d"]}


def test_utf8_with_byte_order_mark(tmp_path):
    frame, warnings = read(write(tmp_path, "\ufeffâge,b\n1,2\n".encode()))
    assert list(frame) == ["âge", "b"]
    assert warnings == ()


def test_other_encodings_are_read_with_a_warning(tmp_path):
    frame, (warning,) = read(write(tmp_path, "âge,b\n1,é\n".encode("cp1252")))
    assert list(frame) == ["âge", "b"]
    assert "cp1252" in warning
    assert "UTF-8" in warning
    frame, (warning,) = read(write(tmp_path, b"a,b\n1,\x81\n"))
    assert "latin-1" in warning


def test_gzip(tmp_path):
    assert read(write(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.csv.gz"))[0].shape == (1, 2)


def test_decimal_comma(tmp_path):
    frame = read(write(tmp_path, "temp;n;sex\n36,6;1;f\n37,25;2;m\n38;3;f\n"))[0]
    assert frame["temp"].tolist() == [36.6, 37.25, 38.0]
    assert frame["n"].tolist() == [1, 2, 3]
    assert frame["sex"].tolist() == ["f", "m", "f"]


def test_commas_in_words_are_no_decimals(tmp_path):
    frame = read(write(tmp_path, "note;x\nred, warm;1.5\npale, cold;2.5\n"))[0]
    assert frame["x"].tolist() == [1.5, 2.5]
    assert frame["note"].tolist() == ["red, warm", "pale, cold"]


@pytest.mark.parametrize("rows", ["150,000;1\n212,000;2\n", "36,6;1.5\n37,1;2.5\n"])
def test_unclear_decimal_comma(tmp_path, rows):
    with pytest.raises(DataError, match=r"column 'value'.*decimal comma.*decimal points"):
        read(write(tmp_path, "value;x\n" + rows))


@pytest.mark.parametrize("above", ["sep=;\n", ";\n", "\n;;\n"])
def test_what_spreadsheets_write_above_the_header_is_passed_over(tmp_path, above):
    assert list(read(write(tmp_path, above + "a;b\n1;2\n"))[0]) == ["a", "b"]
    with pytest.raises(DataError, match=f"line {above.count(chr(10)) + 3},"):
        read(write(tmp_path, above + "a;b\n1;2\n3\n"))


def test_a_header_of_any_length(tmp_path):
    names = [f"expression_of_gene_{number:05d}" for number in range(1500)]
    frame = read(write(tmp_path, ",".join(names) + "\n" + ",".join("1" * 1500) + "\n"))[0]
    assert list(frame) == names


def test_a_row_of_blanks_at_the_end(tmp_path):
    assert len(read(write(tmp_path, 'a,b\n"x",2\n  \n'))[0].dropna()) == 1


def test_unclear_delimiter(tmp_path):
    with pytest.raises(DataError, match=r"comma or semicolon.*Parquet"):
        read(write(tmp_path, "a,b;c,d\n1,2;3,4\n"))


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("", "t.csv", "is empty"),
        ("\n \n", "t.csv", "is empty"),
        ("a,b\n", "t.csv", "no rows"),
        ("a\n1\n2\n", "t.csv", "one column only"),
        (bytes(range(256)) * 20, "t.csv", "is not text"),
        (b"\x1f\x8bbroken", "t.csv.gz", "damaged"),
        (gzip.compress(b"a,b\n1,2\n" * 100, mtime=0)[:-20], "t.csv.gz", "damaged"),
        (b"PAR1 broken", "t.parquet", "not a readable Parquet file"),
        (b"", "t.parquet", "not a readable Parquet file"),
        ("a,b\n1,2\n", "t.xlsx", "Save the table"),
        ("a,b,a,b\n1,2,3,4\n", "t.csv", "'a', 'b'.*Rename"),
        ("a, a\n1,2\n", "t.csv", "'a'.*Rename"),
        ("a,b\n1,2\n1,secret,2\n", "t.csv", "line 3,.* 2 fields.*double quotes"),
        ("a,b\n1,2\nsecret\n", "t.csv", "line 3,"),
        ('a,b\n"x",2\n"y\nz",3\nsecret,4,5\n', "t.csv", "line 5,"),
        ('a,b\n"secret,2\n3,4\n', "t.csv", "line 3,"),
    ],
)
def test_unreadable_files(tmp_path, content, name, said):
    with pytest.raises(DataError, match=said) as caught:
        read(write(tmp_path, content, name))
    assert "secret" not in str(caught.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match="no file"):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)


def test_index_written_by_others_is_a_column(tmp_path):
    frame = read(write(tmp_path, '"","a"\n"1",5\n"2",6\n'))[0]
    assert list(frame) == ["Unnamed: 0", "a"]
    assert list(read(write(tmp_path, ",Unnamed: 0,a\n0,5,6\n"))[0]) == ["Unnamed: 3", "Unnamed: 0", "a"]
    path = tmp_path / "t.parquet"
    pd.DataFrame({"p": [1, 2], "a": [3, 4]}).set_index("p", drop=False).to_parquet(path)
    assert list(read(path)[0]) == ["p", "a"]
    pd.DataFrame({"a": [1, 2]}, index=pd.Index(["p", "q"], name="patient")).to_parquet(path)
    assert list(read(path)[0]) == ["patient", "a"]
    pd.DataFrame({"a": [1, 2]}, index=[7, 3]).to_parquet(path)
    assert list(read(path)[0]) == ["a"]


def test_parquet_without_rows(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": pd.Series(dtype="float64")}).to_parquet(path)
    with pytest.raises(DataError, match="no rows"):
        read(path)


def test_same_cohort_from_csv_and_parquet(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=200), "sex": rng.choice(["f", "m"], 200), "died": rng.integers(0, 2, 200)}
    )
    frame.to_csv(tmp_path / "one.csv", index=False)
    frame.to_parquet(tmp_path / "two.parquet")
    one = Cohort.read(tmp_path / "one.csv", "died")
    two = Cohort.read(str(tmp_path / "two.parquet"), "died")
    assert (one.name, two.name) == ("one", "two")
    assert one.schema == two.schema
    np.testing.assert_allclose(one.frame["x"], two.frame["x"], rtol=1e-15)


def test_warnings_of_the_file_reach_the_cohort(tmp_path):
    rows = "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(200))
    cohort = Cohort.read(write(tmp_path, ("âge,b,died\n" + rows).encode("latin-1")), "died")
    assert any("not UTF-8" in warning for warning in cohort.warnings)
