"""Read YAML of unknown origin: no duplicate keys, no exponential aliases, every error one that names the line."""

from typing import Any

import yaml

from grpe_dgl.errors import InputError
from grpe_dgl.messages import short

MERGE = "tag:yaml.org,2002:merge"  # the key <<, which has no value of its own
MOST_CHARACTERS = 1_000_000
MOST_VALUES = 10_000
"""Values that a text may stand for, each use of an alias and each merged key counted."""
MOST_LEVELS = 40


class StrictLoader(yaml.SafeLoader):
    """A safe loader that refuses duplicate keys, of which PyYAML would silently keep the last, and deep nesting."""

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 (PyYAML's name)
        """Begin a list or mapping in brackets; PyYAML's own takes time that grows with the square of the depth."""
        if self.flow_level >= MOST_LEVELS:
            raise InputError(f"line {self.line + 1}: it is nested more than {MOST_LEVELS} levels deep")
        super().fetch_flow_collection_start(TokenClass)

    def add_indent(self, column: int) -> bool:
        """Begin a list or mapping in lines of their own."""
        if len(self.indents) >= MOST_LEVELS:
            raise InputError(f"line {self.line + 1}: it is nested more than {MOST_LEVELS} levels deep")
        return bool(super().add_indent(column))

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping, or raise an InputError that names the line and the key that cannot be read."""
        seen = set()
        for key_node, value_node in node.value:
            if key_node.tag == MERGE:
                continue
            line = f"line {key_node.start_mark.line + 1}"
            key = _construct(self, key_node, f"{line}: a key")
            if not isinstance(key, (str, int, float, bool, type(None))):
                raise InputError(f"{line}: a key is {short(key)}; accepted: a text")
            if key in seen:
                raise InputError(f"{line}: the key {short(key)} is given twice")
            seen.add(key)
            if isinstance(value_node, yaml.ScalarNode):
                _construct(self, value_node, f"{line}: {key}")
        return super().construct_mapping(node, deep)


def parse(text: str) -> Any:
    """Return the value of a YAML text, or raise an InputError that says where it is wrong."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"it has {len(text):,} characters; accepted: up to {MOST_CHARACTERS:,}")
    loader = None
    try:
        loader = StrictLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _measure(node, {}, ())
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark is not None else ""
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise InputError(f"{line}not YAML: {reason}") from None
    except RecursionError:
        raise InputError(f"it is nested more than {MOST_LEVELS} levels deep") from None
    except (ValueError, TypeError, OverflowError) as error:  # a value outside of any mapping
        raise error if isinstance(error, InputError) else InputError(f"a value cannot be read: {error}") from None
    finally:
        if loader is not None:
            loader.dispose()


def _construct(loader: StrictLoader, node: yaml.Node, what: str) -> Any:
    try:
        return loader.construct_object(node, deep=True)
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} is {short(node.value)}, which cannot be read: {error}") from None


def _measure(node: yaml.Node, known: dict[int, tuple[int, int]], above: tuple[int, ...]) -> tuple[int, int]:
    """Return how many values a node stands for with its aliases written out, and how deep they are nested.

    Raises if either is above its limit or a node is inside itself.
    """
    line = f"line {node.start_mark.line + 1}"
    if id(node) in above:
        raise InputError(f"{line}: an alias stands for what it is part of")
    if id(node) not in known:
        inside: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            inside = node.value
        elif isinstance(node, yaml.MappingNode):
            inside = [part for pair in node.value for part in pair]
        measured = [_measure(part, known, (*above, id(node))) for part in inside]
        known[id(node)] = (
            1 + sum(count for count, _ in measured),
            1 + max((depth for _, depth in measured), default=0),
        )
    count, depth = known[id(node)]
    if count > MOST_VALUES:
        raise InputError(f"{line}: with its aliases written out it has more than {MOST_VALUES:,} values")
    if max(depth, len(above)) > MOST_LEVELS:
        raise InputError(f"{line}: it is nested more than {MOST_LEVELS} levels deep")
    return count, depth
