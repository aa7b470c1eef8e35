"""Sequences prepared once."""

from __future__ import annotations

from collections.abc import Iterable

from ...text._objects import Objects
from ...text._strings import StringTable


class ItemSequence:
    """A sequence whose tokens' attributes are worked out; accepted wherever a sequence is.

    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, pyseq: Iterable):
        self._items: list[dict[str, float]]
        if isinstance(pyseq, ItemSequence):
            self._items = pyseq._items
            return
        names = StringTable()
        builder = Objects(StringTable(), names, learn=True)
        builder.add(pyseq)
        _, _, ptr, attr, value, _, _ = builder.take()
        known = [name.decode() for name in names.names()]
        pairs = [(known[a], v) for a, v in zip(attr.tolist(), [1.0] * len(attr) if value is None else value.tolist(), strict=True)]
        self._items = [dict(pairs[first:end]) for first, end in zip(ptr.tolist(), ptr[1:].tolist(), strict=False)]

    def items(self) -> list[dict[str, float]]:
        """A dict of attributes and values for each token."""
        return [dict(item) for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def plain(xseq):
    """What our own encoder takes."""
    return xseq._items if isinstance(xseq, ItemSequence) else xseq
