"""Models to write in other programs' formats, and damage to what was written."""

import struct

import numpy as np
import problems

from crftrain.errors import ModelError
from crftrain.model import foreign
from crftrain.model.model import Model


def made(seed=0, **shape):
    """A Model with random weights, some of them zero."""
    instance = problems.instance(seed, **shape)
    w = instance.weights(seed).astype(np.float32).astype(np.float64)
    w[::5] = 0
    return Model(instance.vocabulary, instance.layout, w, {}, 0)


def by_name(model):
    """{(kind, name, label or labels): weight}."""
    n, layout, labels = model.layout.n_labels, model.layout, model.vocabulary.labels
    names = model.vocabulary.attributes.names()
    owner = np.repeat(np.arange(len(names)), np.diff(layout.ptr))
    weights = {
        ("U", names[a], labels[y]): w for a, y, w in zip(owner, layout.node_labels(), model.w[: layout.transitions.start], strict=True)
    }
    pairs = zip(layout.transition.tolist(), model.w[layout.transitions], strict=True)
    weights |= {("T", labels[pair // n], labels[pair % n]): w for pair, w in pairs}
    names = model.vocabulary.pair_attributes.names()
    owner = np.repeat(np.arange(len(names)), np.diff(layout.pair_ptr))
    own = zip(owner, layout.pair.tolist(), model.w[int(layout.pair_ptr[0]) :], strict=True)
    weights |= {("B", names[a], labels[pair // n], labels[pair % n]): w for a, pair, w in own}
    return {key: float(w) for key, w in weights.items() if w}


def mutate_all(data, rng, times, format):
    """How many of so many mutations could still be read as a model; anything but a ModelError is raised."""
    read = 0
    for _ in range(times):
        mutant = mutated(data, rng)
        try:
            model = foreign.read(format, bytes(mutant))
        except ModelError as error:
            assert error.finding
            continue
        assert np.isfinite(model.w).all() and model.layout.n_features == len(model.w)
        read += 1
    return read


def mutated(data, rng):
    """Some 32-bit words overwritten, bytes changed, a part cut out or repeated; half of the times with the file's length repaired."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        kind, at = rng.integers(4), int(rng.integers(len(data) - 4))
        if kind == 0:
            extreme = [0, 1, len(data), len(data) - 1, 0x7FFFFFFF, 0xFFFFFFFF, int(rng.integers(1 << 32)), int(rng.integers(len(data)))]
            struct.pack_into("<I", data, at // 4 * 4, extreme[rng.integers(8)])
        elif kind == 1:
            data[at] = rng.integers(256)
        elif kind == 2:
            del data[at : at + int(rng.integers(1, 50))]
        else:
            data[at:at] = data[at : at + int(rng.integers(1, 50))]
        if len(data) < 64:
            break
    if rng.integers(2) and len(data) >= 8:
        struct.pack_into("<I", data, 4, len(data))
    return data
