"""Read the atoms and bonds of RDKit's binary form of a molecule, all of them in one pass.

RDKit writes ``Mol.ToBinary`` in a fifth of the time that asking every atom and bond for its properties takes. The form
has no documentation of its own; it is that of ``MolPickler.cpp``, with little-endian numbers::

    0xDEADBEEF, 0, three numbers of the version, atoms, bonds   seven int32
    0x80, BEGINATOM                                             two bytes
    for every atom:  atomic number, flags, int32 of the properties that follow, one byte each (isotope: int32)
    BEGINBOND
    for every bond:  both atoms, flags, and what the flags announce: type, direction, stereo with its atoms
    BEGINSYMMSSSR, int32 of rings, and of every ring its size and its atoms

The number of an atom is a byte in molecules of up to 255 atoms, else an int32. Whatever is not understood (queries,
atom map numbers, labels of dummy atoms, another version) is refused, and the caller asks RDKit's molecule instead.
"""

import numpy as np

from grpe_dgl.kernels.decorator import compiled

NO_CODE = 255
"""In a table of codes: the value has none."""
NUMBER, CHIRALITY, CHARGE, RADICALS, HYBRIDISATION, BOND, STEREO = range(7)
"""Rows of the table of codes; the columns are the bytes that stand in the binary form."""

_HEADER = 30  # bytes before the first atom
_BEGIN_ATOM, _BEGIN_BOND, _BEGIN_RINGS = 0x01, 0x0B, 0x42
_SP3, _SINGLE = 4, 1  # of RDKit's enumerations, where the binary form has no byte


@compiled(inner=True)
def _int32(data, at):  # type: ignore[no-untyped-def]
    """Return the little-endian number at a place, which must be inside the data."""
    value = (
        np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16 | np.int64(data[at + 3]) << 24
    )
    return value - (1 << 32) if value >= 1 << 31 else value


@compiled()
def read_binary(data, codes, feat, edges, first_atom, first_bond, num_atoms, num_bonds):  # type: ignore[no-untyped-def]
    """Read a molecule; return whether all of it was understood, else what was written has no meaning.

    Parameters
    ----------
    data
        (bytes,) uint8: the binary form.
    codes
        (7, 256) uint8: the code of every value in OGB's columns, `NO_CODE` where there is none.
    feat
        (atoms, 9) int16: rows from `first_atom` on get the atom columns, hydrogens and degree as they are.
    edges
        (3, bonds) int64: columns from `first_bond` on get both atoms, counted within the molecule, and kind * 12 +
        stereo * 2 + conjugated.
    first_atom, first_bond, num_atoms, num_bonds
        Where the molecule is written and how large it is.
    """
    size = len(data)
    if size < _HEADER or _int32(data, 0) != -559038737 or _int32(data, 4) != 0 or _int32(data, 8) != 16:
        return False
    if _int32(data, 20) != num_atoms or _int32(data, 24) != num_bonds or data[28] != 0x80 or data[29] != _BEGIN_ATOM:
        return False
    at = _HEADER
    for atom in range(first_atom, first_atom + num_atoms):
        if at + 6 > size:
            return False
        number, flags, properties = data[at], data[at + 1], _int32(data, at + 2)
        at += 6
        if flags & 0x9F or properties & ~0x1FE or at + 11 > size:  # at most seven bytes and an int32 follow
            return False
        charge = chirality = hydrogens = radicals = implicit = 0
        hybridisation = _SP3
        if properties & 1 << 1:
            charge = np.int64(data[at])
            at += 1
        if properties & 1 << 2:
            chirality = np.int64(data[at])
            at += 1
        if properties & 1 << 3:
            hybridisation = np.int64(data[at])
            at += 1
        if properties & 1 << 4:
            hydrogens = np.int64(data[at])
            at += 1
        if properties & 1 << 5:  # the explicit valence
            at += 1
        if properties & 1 << 6:  # the implicit valence: hydrogens that are no atoms
            implicit = np.int64(data[at])
            at += 1
        if properties & 1 << 7:
            radicals = np.int64(data[at])
            at += 1
        if properties & 1 << 8:  # the isotope
            at += 4
        if not flags & 1 << 5:  # unless the atom was written in brackets
            hydrogens += implicit
        feat[atom, 0] = codes[NUMBER, number]
        feat[atom, 1] = codes[CHIRALITY, chirality]
        feat[atom, 2] = 0
        feat[atom, 3] = codes[CHARGE, charge]
        feat[atom, 4] = hydrogens
        feat[atom, 5] = codes[RADICALS, radicals]
        feat[atom, 6] = codes[HYBRIDISATION, hybridisation]
        feat[atom, 7] = flags >> 6 & 1
        feat[atom, 8] = 0
        for column in (0, 1, 3, 5, 6):
            if feat[atom, column] == NO_CODE:
                return False
    if at >= size or data[at] != _BEGIN_BOND:
        return False
    at += 1
    width = 1 if num_atoms <= 255 else 4
    for bond in range(first_bond, first_bond + num_bonds):
        if at + 2 * width + 4 > size:
            return False
        if width == 1:
            begin, end = np.int64(data[at]), np.int64(data[at + 1])
        else:
            begin, end = _int32(data, at), _int32(data, at + 4)
        at += 2 * width
        flags = data[at]
        at += 1
        if flags & 0x91 or not (0 <= begin < num_atoms and 0 <= end < num_atoms):
            return False
        kind, stereo = _SINGLE, 0
        if flags & 1 << 3:
            kind = np.int64(data[at])
            at += 1
        if flags & 1 << 2:  # the direction
            at += 1
        if flags & 1 << 1:
            stereo = np.int64(data[at])
            if at + 1 >= size:
                return False
            at += 2 + np.int64(data[at + 1]) * width
        if codes[BOND, kind] == NO_CODE or codes[STEREO, stereo] == NO_CODE:
            return False
        edges[0, bond], edges[1, bond] = begin, end
        edges[2, bond] = np.int64(codes[BOND, kind]) * 12 + np.int64(codes[STEREO, stereo]) * 2 + (flags >> 5 & 1)
        feat[first_atom + begin, 2] += 1
        feat[first_atom + end, 2] += 1
    if at + 5 > size or data[at] != _BEGIN_RINGS:
        return False
    rings = _int32(data, at + 1)
    at += 5
    for _ in range(rings):
        if at + width > size:
            return False
        members = np.int64(data[at]) if width == 1 else _int32(data, at)
        at += width
        if members < 0 or at + members * width > size:
            return False
        for _ in range(members):
            member = np.int64(data[at]) if width == 1 else _int32(data, at)
            at += width
            if not 0 <= member < num_atoms:
                return False
            feat[first_atom + member, 8] = 1
    return True
