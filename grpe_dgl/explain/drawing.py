"""Drawings of molecules whose atoms and bonds are coloured by numbers, by RDKit."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

Array = npt.NDArray[Any]
Colour = tuple[float, float, float]
NUMBERED = 60
"""The largest molecule, in atoms, whose atoms are numbered in a drawing."""
_AMOUNT = ((1.0, 1.0, 1.0), (0.99, 0.78, 0.35), (0.85, 0.37, 0.05))  # white to orange to brown
_SIGNED = ((0.13, 0.40, 0.67), (1.0, 1.0, 1.0), (0.90, 0.45, 0.10))  # blue to white to orange, told apart by everybody


def amount_colour(fraction: float) -> Colour:
    """Return the colour of a number from 0 (white) to 1 (brown)."""
    return _between(_AMOUNT, fraction)


def signed_colour(fraction: float) -> Colour:
    """Return the colour of a number from -1 (blue) over 0 (white) to 1 (orange)."""
    return _between(_SIGNED, (fraction + 1) / 2)


def css(colour: Colour) -> str:
    """Return a colour as ``#rrggbb``."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def draw_molecule(
    molecule: Any,
    atoms: Mapping[int, Colour],
    bonds: Mapping[int, Colour] | None = None,
    *,
    width: int = 360,
    height: int = 300,
    numbered: bool = False,
) -> str:
    """Return a drawing as SVG.

    Parameters
    ----------
    molecule
        From RDKit; it is not changed.
    atoms, bonds
        The colours of atoms and bonds, by their index; those that are not given stay white.
    width, height
        In pixels.
    numbered
        Whether atoms have their index beside them.
    """
    drawing = _draw(rdMolDraw2D.MolDraw2DSVG(width, height), molecule, atoms, bonds, numbered)
    return str(drawing[drawing.index("<svg") :].strip())


def draw_molecule_png(
    molecule: Any,
    atoms: Mapping[int, Colour],
    bonds: Mapping[int, Colour] | None = None,
    *,
    width: int = 1000,
    height: int = 900,
    numbered: bool = False,
) -> bytes:
    """Return a drawing as PNG on white; arguments as for `draw_molecule`."""
    return bytes(_draw(rdMolDraw2D.MolDraw2DCairo(width, height), molecule, atoms, bonds, numbered))


def _draw(
    drawer: Any, molecule: Any, atoms: Mapping[int, Colour], bonds: Mapping[int, Colour] | None, numbered: bool
) -> Any:
    prepared = rdMolDraw2D.PrepareMolForDrawing(molecule)
    rdDepictor.Compute2DCoords(prepared)
    options = drawer.drawOptions()
    options.useBWAtomPalette()
    options.clearBackground = isinstance(drawer, rdMolDraw2D.MolDraw2DCairo)
    options.addAtomIndices = numbered
    options.annotationFontScale = 0.5
    options.highlightRadius = 0.42
    options.highlightBondWidthMultiplier = 14
    options.padding = 0.06
    options.flagCloseContactsDist = -1  # no red marks where a large molecule overlaps itself
    options.fixedBondLength = drawer.Width() / 6  # at most: else one atom is a disc that fills the drawing
    options.bondLineWidth = max(2, drawer.Width() // 250)
    # Hydrogens that the drawing adds at stereo centres have no number: they come after the molecule's own atoms.
    drawer.DrawMolecule(
        prepared,
        highlightAtoms=list(atoms),
        highlightAtomColors={int(atom): colour for atom, colour in atoms.items()},
        highlightBonds=list(bonds or {}),
        highlightBondColors={int(bond): colour for bond, colour in (bonds or {}).items()},
    )
    drawer.FinishDrawing()
    return drawer.GetDrawingText()


def atom_amounts(values: Array, most: float) -> dict[int, Colour]:
    """Return the colours of atoms for numbers from 0 to `most`, (atoms,)."""
    scale = most if most > 0 else 1.0
    return {atom: amount_colour(float(value) / scale) for atom, value in enumerate(values)}


def _between(stops: tuple[Colour, ...], fraction: float) -> Colour:
    fraction = float(np.clip(fraction, 0.0, 1.0)) * (len(stops) - 1)
    first = min(int(fraction), len(stops) - 2)
    rest = fraction - first
    red, green, blue = (a + (b - a) * rest for a, b in zip(stops[first], stops[first + 1], strict=True))
    return red, green, blue
