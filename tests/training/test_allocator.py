"""Memory that a training step frees is used again by the next one."""

import resource
import sys

import pytest
import torch

import grpe_dgl.data
from grpe_dgl.training.allocator import freed_memory_is_kept
from grpe_dgl.training.run import Callbacks, run
from tests.training.tiny import recipe, write_dataset

PAGES = (64 << 20) // resource.getpagesize()

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")


def page_faults() -> int:
    """Return how many pages the system cleared while a tensor of 64 MB was filled and freed eight times.

    Four times before that are not counted: they may use parts of the heap that were given back.
    """
    for _ in range(4):
        torch.ones(16 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        torch.ones(16 << 20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_large_tensors_reuse_pages_within_the_context_alone():
    assert page_faults() > 4 * PAGES
    with freed_memory_is_kept():
        assert page_faults() < PAGES
    assert page_faults() > 4 * PAGES


def test_nested_contexts_end_with_the_outer_one():
    with freed_memory_is_kept():
        with freed_memory_is_kept():
            pass
        assert page_faults() < PAGES


def test_the_settings_are_restored_after_an_error():
    with pytest.raises(KeyError), freed_memory_is_kept():
        raise KeyError
    assert page_faults() > 4 * PAGES


def test_a_run_trains_within_the_context(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "data", "regression"))
    found = []
    run(recipe(), data, tmp_path / "run", callbacks=Callbacks(step=lambda *step: found.append(page_faults())))
    assert min(found) < PAGES
    assert page_faults() > 4 * PAGES
