"""The paired test: whether two models differ by more than their seeds do."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

FEWEST_SEEDS = 5


@dataclass(frozen=True)
class PairedTest:
    """A paired t-test between two models over the seeds that both were trained with."""

    seeds: int
    """How many seeds match and have finite values in both."""
    p: float | None
    """Two-sided; None with fewer than `FEWEST_SEEDS` seeds."""
    mean_difference: float | None
    """The mean of the other model's value minus the best one's; None like `p`."""


def paired_test(best: Mapping[int, float], other: Mapping[int, float]) -> PairedTest:
    """Compare the values by seed of two models with `scipy.stats.ttest_rel`.

    ::

        t = mean of d / (deviation of d / sqrt(n))      d_s = other_s - best_s, over the n seeds s that both have

    If all d are 0, p is 1; if all d are equal and not 0, the deviation is 0 and p is 0.
    """
    pairs = [
        (best[seed], other[seed])
        for seed in sorted(best.keys() & other.keys())
        if math.isfinite(best[seed]) and math.isfinite(other[seed])
    ]
    if len(pairs) < FEWEST_SEEDS:
        return PairedTest(len(pairs), None, None)
    differences = [theirs - ours for ours, theirs in pairs]
    mean = sum(differences) / len(differences)
    if max(differences) == min(differences):
        return PairedTest(len(pairs), 1.0 if differences[0] == 0 else 0.0, mean)
    from scipy.stats import ttest_rel  # here for start-up time

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # differences of rounding: SciPy warns that p is inaccurate
        p = float(ttest_rel([theirs for _, theirs in pairs], [ours for ours, _ in pairs]).pvalue)
    return PairedTest(len(pairs), p if math.isfinite(p) else 1.0, mean)
