from grpe_dgl.data import load
from grpe_dgl.data.sources.csv import CSVRequest, csv_source
from grpe_dgl.data.store.preprocess import preprocess


def made(tmp_path, labels, **options):
    file = tmp_path / "t.csv"
    file.write_text("smiles,y\n" + "".join(f"{'C' * (row + 1)},{label}\n" for row, label in enumerate(labels)))
    source, notes = csv_source(CSVRequest(file=file, targets=("y",), **options))
    preprocess(source, tmp_path / "data", force=True)
    data = load(tmp_path / "data")
    return {name: data[name].labels()[:, 0].tolist() for name in data.splits}, notes


def test_a_rare_class_is_in_every_split(tmp_path):
    rare = ["yes" if row % 13 == 0 else "no" for row in range(40)]  # four of forty
    for seed in range(3):
        labels, notes = made(tmp_path, rare, seed=seed)
        assert all(set(each) == {0.0, 1.0} for each in labels.values()) and len(labels["train"]) == 30
        assert any("rows were divided class by class" in note for note in notes)


def test_other_random_splits_stay_as_they_are(tmp_path):
    even = [row % 2 for row in range(40)]
    labels, notes = made(tmp_path, even, seed=1)
    assert {name: len(each) for name, each in labels.items()} == {"train": 32, "valid": 4, "test": 4}
    assert not any("class by class" in note for note in notes)
    labels, notes = made(tmp_path, [0] * 38 + [1, 1], seed=1)  # too rare to be in three splits
    assert not any("class by class" in note for note in notes)
