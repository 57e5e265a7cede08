"""The CSVs of spreadsheets and CRMs are read as the service reads them, and faulty ones are refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.read_table import Table, read_table


def table_of(tmp_path: Path, content: bytes, encoding: str | None = None) -> Table:
    path = tmp_path / "leads.csv"
    path.write_bytes(content)
    return read_table(path, encoding=encoding)


def cells(table: Table) -> dict[str, list[str]]:
    return {
        name: [column.texts[code] for code in column.codes.tolist()] for name, column in table.columns.items()
    }


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,x\n2,y\n",
        b"a;b\r\n1;x\r\n2;y\r\n",
        b"\n\na\tb\n1\tx\n\n2\ty\n",
        b'"a"|"b"\n"1"|"x"\n"2"|"y"',
        b"sep=;\na;b\n1;x\n2;y\n",
        "\ufeffa,b\n1,x\n2,y\n".encode(),
        "a,b\n1,x\n2,y\n".encode("utf-16"),
        gzip.compress(b"a,b\n1,x\n2,y\n"),
        b"a,b,\n1,x,\n2,y,\n",
    ],
)
def test_forms_of_a_csv(tmp_path: Path, content: bytes) -> None:
    assert cells(table_of(tmp_path, content)) == {"a": ["1", "2"], "b": ["x", "y"]}


def test_cells(tmp_path: Path) -> None:
    content = b'name,"two\nlines",note\n"a, b",="007",\'12\n"say ""hi""",1\n\'s-Gravenhage,\'=A1,\'quoted\'\n'
    assert cells(table_of(tmp_path, content)) == {
        "name": ["a, b", 'say "hi"', "'s-Gravenhage"],
        "two\nlines": ["007", "1", "=A1"],
        "note": ["12", "", "quoted"],
    }


def test_an_encoding(tmp_path: Path) -> None:
    content = "Land,n\nÖsterreich,1\n".encode("cp1252")
    assert cells(table_of(tmp_path, content, "windows-1252"))["Land"] == ["Österreich"]
    with pytest.raises(
        TrainError, match=r"line 2 \(byte 8 of the file\) is not UTF-8.*windows-1252"
    ) as caught:
        table_of(tmp_path, content)
    assert (caught.value.code, caught.value.context) == ("bad_encoding", {"line": 2, "byte": 8})


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", "no_rows", "the file is empty"),
        (b"a,b\n", "no_rows", "no rows below its header"),
        (b"a,b,a\n1,2,3\n", "bad_csv", 'columns 1 and 3 have the name "a"'),
        (b"a,b\n1,2\n3,4,5\n", "bad_csv", "line 3 has 3 cells, but the header has 2"),
        (b"a\n" + b"x" * (1 << 21), "too_large", "line 2 cannot be read"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "bad_csv", "cannot be read as CSV .* check the quotes"),
        (b'a,b\n1,2\n"3"x,4\n', "bad_csv", "line 3 cannot be read as CSV"),
        (b",".join(b"c%d" % index for index in range(10_001)) + b"\n1\n", "too_large", "10,001 columns"),
        (gzip.compress(b"a,b\n1,2\n" * 99)[:-20], "no_file", "cannot be inflated"),
    ],
)
def test_faulty_files(tmp_path: Path, content: bytes, code: str, message: str) -> None:
    with pytest.raises(TrainError, match=message) as caught:
        table_of(tmp_path, content)
    assert caught.value.code == code


def test_names_of_columns(tmp_path: Path) -> None:
    table = table_of(tmp_path, b"Lead Source,e-mail,E Mail\nx,1,2\n")
    assert table.named("lead_source", "--skip").name == "Lead Source"
    assert table.named("e-mail", "--skip").name == "e-mail"
    with pytest.raises(TrainError, match='"e-mail", "E Mail" can be \'EMAIL\''):
        table.named("EMAIL", "--skip")
    with pytest.raises(
        TrainError, match=r'no column "Lead Sorce" \(did you mean "Lead Source"\?\)'
    ) as caught:
        table.named("Lead Sorce", "--skip")
    assert caught.value.context["columns"] == ["Lead Source", "e-mail", "E Mail"]
