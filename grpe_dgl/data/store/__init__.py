"""The processed dataset on disk: writing, opening, validating."""
