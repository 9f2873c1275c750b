import gzip

import pytest
from rdkit import Chem

from grpe_dgl.data.molecules.no_molecule import NoMolecule
from grpe_dgl.data.molecules.smiles import graphs_of_smiles
from grpe_dgl.data.tables.table import Table


def record(smiles, name="", /, **properties):
    block = Chem.MolToMolBlock(Chem.MolFromSmiles(smiles))
    block = name + block[block.index("\n") :]
    return block + "".join(f">  <{key}>  (1)\n{value}\n\n" for key, value in properties.items()) + "$$$$\n"


@pytest.mark.parametrize("name", ["t.sdf", "t.sdf.gz", "t.csv"])
def test_properties_are_columns(tmp_path, name):
    text = record("CCO", "ethanol", logS=1.5) + record("C", logS=2, note="two\nlines") + record("N[C@@H](C)C(=O)O")
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    table = Table(tmp_path / name)
    assert table.columns == ["smiles", "name", "logS", "note"] and table.count() == 3
    assert [cells for _, cells in table.rows()] == [
        ["CCO", "ethanol", "1.5", ""],
        ["C", "", "2", "two\nlines"],
        [Chem.CanonSmiles("N[C@@H](C)C(=O)O"), "", "", ""],
    ]
    assert bool(table.notes) == (name == "t.csv")


def test_windows_line_ends_and_no_end_of_the_last_record(tmp_path):
    text = (record("CCO", y=1) + record("CC", y=2)).removesuffix("$$$$\n").replace("\n", "\r\n")
    (tmp_path / "t.sdf").write_bytes(text.encode())
    assert [cells for _, cells in Table(tmp_path / "t.sdf").rows()] == [["CCO", "1"], ["CC", "2"]]


def test_broken_records_are_rows_with_a_reason(tmp_path):
    counts = "\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n broken\nM  END\n> <y>\n2\n\n$$$$\n"
    valence = record("CC(C)(C)C", y=4).replace(" C  ", " F  ")
    text = record("CCO", y=1) + counts + "junk\n> <y>\n3\n\n$$$$\n" + valence + record("C", y=5)
    (tmp_path / "t.sdf").write_text(text)
    found = list(Table(tmp_path / "t.sdf").rows())
    assert [cells[-1] for _, cells in found] == ["1", "2", "3", "4", "5"]
    lines = text.splitlines()
    assert [lines[line - 2] for line, _ in found[1:]] == ["$$$$"] * 4
    molecules = [cells[0] for _, cells in found]
    assert [isinstance(molecule, NoMolecule) for molecule in molecules] == [False, True, True, True, False]
    reasons = [skip.reason for skip in graphs_of_smiles(molecules).skipped]
    assert reasons == [
        "the record's molecule cannot be read: its atoms and bonds are not as the format has them",
        "the record has no 'M  END', which ends a molecule",
        "the record's molecule cannot be read: Explicit valence for atom # 1 F, 4, is greater than permitted",
    ]


def test_a_property_that_is_called_smiles(tmp_path):
    (tmp_path / "t.sdf").write_text(record("CCO", "x", smiles="OCC", name="y"))
    table = Table(tmp_path / "t.sdf")
    assert table.columns == ["smiles", "name_2", "smiles_2", "name"]
    assert list(table.rows()) == [(1, ["CCO", "x", "OCC", "y"])]
    assert "their property 'smiles' is column 'smiles_2'" in table.notes[0]
