import math

import pytest
from scipy.stats import ttest_rel

from grpe_dgl.workflows.compare.paired_test import paired_test


def test_p_is_that_of_the_formula():
    best = dict(enumerate([1.0, 2.0, 3.0, 4.0, 6.0]))
    other = dict(enumerate([1.5, 2.1, 3.9, 4.4, 6.2]))
    d = [other[s] - best[s] for s in range(5)]
    mean = sum(d) / 5
    t = mean / math.sqrt(sum((x - mean) ** 2 for x in d) / 4 / 5)
    found = paired_test(best, other)
    expected = ttest_rel(list(other.values()), list(best.values()))
    assert expected.statistic == pytest.approx(t) and found.p == pytest.approx(expected.pvalue)
    assert found.seeds == 5 and found.mean_difference == pytest.approx(mean)


def test_seeds_are_matched_not_counted():
    best = {seed: float(seed) for seed in range(6)}
    assert paired_test(best, {seed: 1.0 for seed in range(2, 8)}).seeds == 4
    assert paired_test(best, {**best, 0: math.nan, 5: math.inf}).p is None
    order = {seed: best[seed] + (0.1 if seed % 2 else 0.2) for seed in reversed(range(6))}
    assert paired_test(best, order).mean_difference == pytest.approx(0.15)


@pytest.mark.parametrize(("shift", "p"), [(0.0, 1.0), (1.0, 0.0)])
def test_equal_differences_have_no_deviation(shift, p):
    best = {seed: float(2**seed) for seed in range(5)}
    assert paired_test(best, {seed: value + shift for seed, value in best.items()}).p == p


def test_differences_of_rounding_are_no_warning():
    best = dict.fromkeys(range(5), 0.1)
    other = {seed: 0.1 + (1e-17 if seed else 3e-17) for seed in best} | {4: math.nextafter(0.1, 1)}
    assert 0 <= paired_test(best, other).p <= 1
