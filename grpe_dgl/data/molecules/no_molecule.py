"""A molecule that its file could not give: the place of a SMILES, with the reason why there is none."""


class NoMolecule(str):
    """An empty SMILES that has the reason why it is empty."""

    reason: str

    def __new__(cls, reason: str) -> "NoMolecule":
        """Make an empty text with a reason."""
        text = super().__new__(cls)
        text.reason = reason
        return text

    def strip(self, characters: str | None = None, /) -> "NoMolecule":
        """Return itself, with its reason."""
        return self
