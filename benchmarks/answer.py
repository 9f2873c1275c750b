"""How long ``grpe predict`` takes for one molecule: ``python -m benchmarks.answer MODEL [MODEL...] [--rounds 7]``.

Each round starts every command once. Processor time is what the process itself used, so it depends less on what else
runs than the time on the clock; ``import torch`` alone is measured beside it.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time


def run(command: list[str]) -> tuple[float, float]:
    """Return the processor time and the time on the clock of a command, in seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    passed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, passed


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="Checkpoints or folders of runs.")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    commands = {"import torch": [sys.executable, "-c", "import torch"]}
    for model in arguments.models:
        commands[f"grpe predict {model} CCO"] = [sys.executable, "-m", "grpe_dgl", "predict", model, "CCO"]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for command in commands.values():
        run(command)  # files are read from the disk once
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            found[name].append(run(command))
    for name, times in found.items():
        processor, clock = (statistics.median(values) for values in zip(*times, strict=True))
        print(f"{name}: {processor:.2f} s of processor time, {clock:.2f} s on the clock (median of {len(times)})")


if __name__ == "__main__":
    main()
