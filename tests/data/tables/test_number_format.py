import pytest

from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.data.tables.rows import NumberCell
from grpe_dgl.errors import InputError


@pytest.mark.parametrize(
    ("decimal", "thousands", "cell", "number"),
    [
        (".", None, "1.5", 1.5),
        (".", None, " -2e-3 ", -0.002),
        (".", None, "\u22125", -5),
        (".", None, "1,5", None),
        (".", None, "1,234", None),
        (".", ",", "1,234", 1234),
        (".", None, "1,234.5", 1234.5),
        (".", None, "1,234,567", 1234567),
        (".", None, "1,23,456", None),
        (".", None, "1 234.5", 1234.5),
        (".", None, "1'234", 1234),
        (".", None, "1 2", None),
        (".", None, "inf", None),
        (".", None, "1e39", None),
        (".", None, "", None),
        (",", None, "-0,77", -0.77),
        (",", None, ",5", 0.5),
        (",", None, "1,5e2", 150),
        (",", None, "3", 3),
        (",", None, "1.234,5", 1234.5),
        (",", None, "1\u00a0234,5", 1234.5),
        (",", None, "1.234.567", 1234567),
        (",", None, "1.234", None),
        (",", ".", "1.234", 1234),
        (",", None, "1.5", None),
        (",", ".", "1.5", None),
        (",", None, NumberCell("1.234"), 1.234),
    ],
)
def test_parse(decimal, thousands, cell, number):
    assert NumberFormat(decimal, thousands).parse(cell) == number


def test_refused():
    with pytest.raises(InputError, match="decimal is ';'; accepted"):
        NumberFormat(";")
    with pytest.raises(InputError, match="thousands is ','; accepted: '.', "):
        NumberFormat(",", ",")
