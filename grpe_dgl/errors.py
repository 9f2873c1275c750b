"""The one error that means: what was given cannot be used."""


class InputError(ValueError):
    """Something a user gave is wrong; the message says what was found and what is accepted."""
