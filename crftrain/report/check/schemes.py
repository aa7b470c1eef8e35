"""Which scheme chunk labels follow, and where they do not.

Outside of sentences is O. The scheme of a file is the one with the fewest violations, the strictest of those (text/schemes.py).
"""

import numpy as np

from ...text.schemes import RULES, TAGS, parts


def chunk_like(labels, counts):
    """Whether nearly all tokens have labels of chunks: O, TAG-TYPE, or tags alone of which one begins something."""
    split = [parts(label) for label in labels]
    good = np.array([tag in TAGS and (bool(kind) or tag == "O") for tag, kind in split])
    typed = any(kind for _, kind in split)
    if not typed:
        good = np.array([tag in TAGS for tag, _ in split])
        if not {"B", "I", "E"} & {tag for tag, _ in split} or good.sum() < 2:
            return False
    return counts[good].sum() > 0.9 * counts.sum()


def pairs_of(part, n_labels):
    """(left, right, token): numbers of neighbouring labels with the token on the right; 0 stands before, after and between sentences.

    The token of the pair after the last one of a sentence is that last one.
    """
    label, seq = part.label, part.seq
    left, starts = np.empty_like(label), seq[:-1]
    left[1:] = label[:-1]
    left[starts] = 0
    last = seq[1:] - 1
    token = np.concatenate([np.arange(len(label)), last])
    return np.concatenate([left, label[last]]), np.concatenate([label, np.zeros(len(last), label.dtype)]), token


def violations(scheme, names, left, right):
    """bool[pairs]: where the scheme is broken. A label of no scheme is no violation: something else tells of it."""
    split = [("O", "")] + [parts(name) for name in names[1:]]
    table = np.zeros((len(names), len(names)), bool)
    seen = np.unique(left.astype(np.int64) * len(names) + right)
    for i, j in zip((seen // len(names)).tolist(), (seen % len(names)).tolist(), strict=True):
        table[i, j] = not scheme.legal(split[i], split[j])
    return table[left, right]


def detect(names, counts, left, right):
    """(scheme, violations) for labels of chunks."""
    tags = {}
    for name, count in zip(names[1:], counts[1:].tolist(), strict=True):
        tag = parts(name)[0]
        tags[tag] = tags.get(tag, 0) + count
    total = sum(tags.values())
    found = []
    for scheme in RULES:
        foreign = sum(count for tag, count in tags.items() if tag not in scheme.tags)
        absent = sum(1 for tag in scheme.tags if tag not in tags and tag != "O")
        if foreign > 0.01 * total or absent > (1 if len(scheme.tags) > 3 else 0):
            continue
        broken = violations(scheme, names, left, right)
        found.append((int(broken.sum()) + foreign, len(found), scheme, broken))
    if not found:
        return None, None
    _, _, scheme, broken = min(found, key=lambda one: one[:2])
    return scheme, broken
