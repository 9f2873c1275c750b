import torch

from grpe_dgl.training.environment import PeakMemory, processor, versions


def test_peak_is_that_of_the_run_not_of_the_process():
    large = torch.ones(100_000_000)  # 400 MB
    first = PeakMemory(torch.device("cpu"))
    held = first.read()
    del large
    second = PeakMemory(torch.device("cpu"))
    if second.since == "run":  # the system can count anew
        assert second.read() < held - 3e8
    before = second.read()
    torch.ones(50_000_000)
    assert second.read() > before + 1.5e8


def test_processor(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Some CPU @ 2.0: GHz\n")
    assert processor(tmp_path / "cpuinfo") == "Some CPU @ 2.0: GHz"
    (tmp_path / "cpuinfo").write_text("nothing of it\n")
    assert processor(tmp_path / "cpuinfo")
    assert processor(tmp_path / "missing")


def test_versions_name_what_computes():
    assert versions()["torch"] == torch.__version__ and versions()["grpe-dgl"] != "not installed"


def test_the_build_of_torch_is_recorded(monkeypatch):
    """A wheel of some indexes is called 2.13.0 in its metadata, and 2.13.0+cu130 by itself."""
    monkeypatch.setattr(torch, "__version__", "2.13.0+other")
    assert versions()["torch"] == "2.13.0+other"
