"""The sources of datasets, one module per publisher or format."""
