import subprocess
import sys

PROGRAM = """
import torch
from grpe_dgl.transforms import ToPairGraph
import dgl  # after grpe_dgl, which lets it be imported on Python 3.12
torch.set_num_threads({threads})
ToPairGraph(max_distance=3, num_edge_types=1)(dgl.batch([dgl.rand_graph(5, 6)] * 8))
print(torch.get_num_threads())
"""


def test_a_parallel_loop_leaves_torchs_number_of_threads_alone():
    for threads in (1, 2, 5):
        program = PROGRAM.format(threads=threads)
        run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        assert run.stdout.split() == [str(threads)]
