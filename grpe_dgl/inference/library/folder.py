"""The output folder of a library: parts that appear whole, what each was made of, and what must not be mixed."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.inference.library.blocks import Block
from grpe_dgl.inference.library.sources import Source
from grpe_dgl.io.atomic_file import write_text

# Readers of folders of Parquet files skip names that begin with an underscore.
MANIFEST, RECORDS = "_manifest.json", "_parts"
FORMAT_VERSION = 1
_TITLES = {"command": "command", "models": "model", "options": "option", "format": "format", "block": "size of blocks"}


@dataclass(frozen=True)
class Result:
    """How one block ended."""

    number: int
    rows: int
    failed: int = 0
    """Rows without numbers."""
    reasons: tuple[str, ...] = ()
    """Of the first such rows."""
    error: str | None = None
    """Why there is no part."""
    earlier: bool = field(default=False, compare=False)
    """Whether an earlier run made the part."""


def part_name(number: int, suffix: str) -> str:
    """Return the name of a block's file: ``part-00003.parquet``."""
    return f"part-{number:05d}{suffix}"


@dataclass(frozen=True)
class OutputFolder:
    """Where parts go.

    A part is finished when its file and its record are there and the record's key is that of the block: a hash of the
    job and of the content and range of rows. The record is removed before a part is replaced and written after it, so
    a process that is killed at any moment leaves a part that is finished or one that is made again.

    Parameters
    ----------
    path
        The folder.
    job
        What determines the numbers and the files beside the rows: command, hashes of the models, options, format.
    suffix
        ``.parquet``, ``.csv`` or ``.csv.gz``.
    """

    path: Path
    job: Mapping[str, Any]
    suffix: str

    def part(self, block: Block) -> Path:
        """Return the path of a block's file."""
        return self.path / part_name(block.number, self.suffix)

    def record(self, block: Block) -> Path:
        """Return the path of a block's record."""
        return self.path / RECORDS / f"part-{block.number:05d}.json"

    def key(self, block: Block) -> str:
        """Return the hash of what the block's part is made of."""
        spans = [[span.digest, span.first, span.last] for span in block.spans]
        return hashlib.sha256(json.dumps([self.job, spans], sort_keys=True).encode()).hexdigest()

    def finished(self, block: Block) -> Result | None:
        """Return the result of a block whose part is there; None if it must be made."""
        try:
            record = json.loads(self.record(block).read_text(encoding="utf-8"))
            if record["key"] != self.key(block) or not self.part(block).is_file():
                return None
            return Result(block.number, record["rows"], record["failed"], tuple(record["reasons"]), earlier=True)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def finish(self, block: Block, result: Result) -> None:
        """Write the record of a part that has just been written."""
        values = {**asdict(result), "key": self.key(block), "inputs": block.to_dict()["spans"]}
        write_text(self.record(block), json.dumps(values, indent=1) + "\n")

    def known_sources(self) -> dict[str, Source]:
        """Return the descriptions of the input files from an earlier run, by path."""
        found = self._manifest()
        try:
            return {values["path"]: Source.from_dict(values) for values in (found or {}).get("inputs", ())}
        except (KeyError, TypeError):
            return {}

    def prepare(self, sources: Sequence[Source], blocks: Sequence[Block], *, force: bool, alone: bool) -> None:
        """Make the folder and its manifest; raises if it has something of another job.

        Parameters
        ----------
        sources, blocks
            All files and all blocks.
        force
            Whether parts that are there are removed first.
        alone
            Whether this process does all blocks; a shard does not remove the parts of others.
        """
        manifest = self._manifest()
        if manifest is None:
            others = self._visible()
            if others:
                raise InputError(
                    f"{self.path} has other files and no {MANIFEST}: {others[0]}; accepted: a new or empty folder"
                )
        elif not force or not alone:
            self._require_same(manifest, sources)
        try:
            (self.path / RECORDS).mkdir(parents=True, exist_ok=True)
            if alone:
                for trace in (self.path / RECORDS).glob("*.started-*"):  # of a run that was killed
                    trace.unlink(missing_ok=True)
            self._remove_superfluous(len(blocks))
            text = json.dumps(
                {
                    "format_version": FORMAT_VERSION,
                    **self.job,
                    "rows": sum(source.rows for source in sources),
                    "parts": len(blocks),
                    "inputs": [source.to_dict() for source in sources],
                },
                indent=1,
            )
            if manifest is None or json.dumps(manifest, indent=1) != text:
                write_text(self.path / MANIFEST, text)
        except OSError as error:
            raise InputError(f"{self.path} cannot be written to: {error.strerror}") from None
        if not os.access(self.path, os.W_OK):
            raise InputError(f"{self.path} cannot be written to: it is not writable")

    def discard(self, block: Block) -> None:
        """Remove a part: its record first, so that what is left is never taken for finished."""
        self.record(block).unlink(missing_ok=True)
        self.part(block).unlink(missing_ok=True)

    def _remove_superfluous(self, parts: int) -> None:
        """Remove parts of blocks that the input no longer has, and parts in another format."""
        wanted = {part_name(number, self.suffix) for number in range(parts)}
        for record in (self.path / RECORDS).glob("part-*.json"):
            if f"{record.stem}{self.suffix}" not in wanted:
                record.unlink(missing_ok=True)
        for part in self.path.glob("part-*"):
            if part.name not in wanted:
                part.unlink(missing_ok=True)

    def _visible(self) -> list[str]:
        try:
            return sorted(path.name for path in self.path.iterdir() if not path.name.startswith((".", "_")))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{self.path} cannot be used as a folder: {error.strerror}") from None

    def _manifest(self) -> dict[str, Any] | None:
        try:
            found = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise InputError(f"{self.path} is a file; accepted: a folder") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path / MANIFEST} cannot be read: {error}") from None
        if not isinstance(found, dict) or found.get("format_version") != FORMAT_VERSION:
            raise InputError(f"{self.path / MANIFEST} is not a manifest of format_version {FORMAT_VERSION}")
        return found

    def _require_same(self, manifest: Mapping[str, Any], sources: Sequence[Source]) -> None:
        for key, title in _TITLES.items():
            then, now = manifest.get(key), self.job.get(key)
            if then != json.loads(json.dumps(now)):
                difference = f"{_short(key, then)}, now {_short(key, now)}"
                raise InputError(
                    f"{self.path} was made with another {title}: {difference}; accepted: another folder, or the same "
                    "command again",
                    hint="replace_folder",
                )
        then_names = [Path(str(values.get("path"))).name for values in manifest.get("inputs", ())]
        now_names = [Path(source.path).name for source in sources]
        if then_names != now_names:
            missing = [name for name in then_names if name not in now_names]
            new = [name for name in now_names if name not in then_names]
            change = ", ".join(
                [*(f"{name} is new" for name in new[:3]), *(f"{name} is missing" for name in missing[:3])]
            )
            raise InputError(
                f"{self.path} was made of other inputs: {change or 'their order has changed'}; accepted: another "
                "folder, or the same files in the same order",
                hint="replace_folder",
            )


def _short(key: str, value: Any) -> str:
    if key == "models" and isinstance(value, list):  # of their hashes the beginning is enough to tell them apart
        return f"SHA-256 {', '.join(str(digest)[:12] for digest in value)}"
    text = json.dumps(value)
    return text if len(text) <= 200 else f"{text[:197]}..."
