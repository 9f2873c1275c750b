"""Make a library's parts on the Ray cluster at an address; print the parts that were retried, and the errors."""

import json
import sys
from pathlib import Path

from grpe_dgl.inference.library.run import run_library
from tests.inference.library.small_library import opened

if __name__ == "__main__":
    folder, out, model, address, rows = sys.argv[1:]
    library = opened(sorted(Path(folder).iterdir()), Path(out), Path(model), rows_per_block=int(rows))
    outcome = run_library(library, engine="ray", address=None if address == "here" else address)
    print(
        json.dumps(
            {
                "rows": sum(result.rows for result in outcome.results if result.error is None),
                "retried": [f"part-{retry.number:05d}" for retry in outcome.retried],
                "errors": [result.error for result in outcome.errors],
                "broken": [source.path for source in library.broken],
            }
        )
    )
