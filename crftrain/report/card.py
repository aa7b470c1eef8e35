"""What a model is: its facts in words, the command that asks for the same, its checksum, its heaviest weights."""

import hashlib

import numpy as np

from ..text.template import builtin_names
from .html import details, join, table, tag

HEAVIEST = 5  # attributes shown for each label, for it and against it
LABELS = 60  # labels whose attributes are shown
KNOWN = {
    "n_sequences": "sequences",
    "n_tokens": "tokens",
    "n_labels": "labels",
    "n_attributes": "attributes",
    "n_features": "weights in training",
    "algorithm": "algorithm",
    "lambda": "lambda",
    "l1": "l1",
    "features": "features",
    "transitions": "transitions",
    "min_freq": "least frequency",
    "seed": "seed",
    "threads": "threads",
    "reason": "why training ended",
    "converged": "converged",
    "iteration": "steps",
    "passes": "effective passes",
    "objective": "objective",
    "gap": "gap",
    "bound": "proved: the objective is above its least by at most",
    "best_iteration": "step that was kept",
    "dev": "held-out scores of that step",
    "tried": "strengths that were tried",
    "version": "crftrain",
}


def card(model, path, command=None):
    """The model card as HTML; command: the one it was learnt with, else one like it is told."""
    v, facts = model.vocabulary, model.facts
    rows = [("file", f"{path}, {model.size:,} bytes"), ("SHA-256", tag("code", checksum(path)))]
    rows += [("labels", f"{len(v.labels):,}: {_some(v.labels)}"), ("weights that are not zero", f"{model.active:,}")]
    columns = "items" if v.format == "items" else f"{v.n_columns} columns, the label in column {v.label_column}"
    rows += [("data", columns), ("template", "none: items" if v.template is None else v.template.name)]
    rows += [(name, _value(facts[key])) for key, name in KNOWN.items() if key in facts]
    rows += [(key, _value(value)) for key, value in facts.items() if key not in KNOWN and key != "options"]
    parts = [table("What the model file says", [], rows, class_="card", hidden_caption=True)]
    if command or "algorithm" in facts:
        parts += [tag("h3", "Learnt with" if command else "A training like this one"), tag("pre", command or command_of(model))]
    if v.template is not None:
        parts.append(details("The template", tag("pre", v.template.text)))
    return join(parts)


def checksum(path):
    """The SHA-256 of a file; nothing for what cannot be read twice."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return "unknown"


def _some(labels, most=40):
    return ", ".join(labels[:most]) + (", …" if len(labels) > most else "")


def _value(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value(part)}" for key, part in value.items())
    if isinstance(value, list):
        return "; ".join(map(_value, value))
    return {True: "yes", False: "no", None: "unknown"}.get(value, str(value)) if not isinstance(value, str) else value


def command_of(model):
    """`crftrain learn` with the settings that the model tells of."""
    facts, v = model.facts, model.vocabulary
    parts = ["crftrain learn", f"-a {facts.get('algorithm')}"]
    for key, flag in (("lambda", "--lambda"), ("l1", "--l1")):
        if facts.get(key):
            parts.append(f"{flag} {facts[key]:.6g}")
    parts += [f"-p {name}={_plain(value)}" for name, value in (facts.get("options") or {}).items() if value is not None]
    if v.format == "items":
        parts.append("--format items")
    elif v.template is not None:
        parts.append(f"-t {v.template.name if v.template.name in builtin_names() else 'TEMPLATE'}")
    for key, flag, default in (
        ("features", "--features", "observed"),
        ("transitions", "--transitions", "full"),
        ("min_freq", "--min-freq", 0),
    ):
        if facts.get(key, default) != default:
            parts.append(f"{flag} {facts[key]}")
    return " ".join([*parts, f"--seed {facts.get('seed', 1)}", "TRAIN"])


def _plain(value):
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value


def heaviest(model, *, most=HEAVIEST):
    """The heaviest attributes for and against each label, and the heaviest transitions."""
    v, layout = model.vocabulary, model.layout
    node, weights = layout.node_labels(), model.w[: layout.transitions.start]
    owner = np.repeat(np.arange(layout.n_attributes), np.diff(layout.ptr))
    blocks = []
    for k in sorted(range(len(v.labels)), key=v.labels.__getitem__)[:LABELS]:
        own = np.flatnonzero(node == k)
        order = own[np.argsort(weights[own], kind="stable")]
        rows = [(_name(v.attributes, owner[p]), f"{weights[p]:+.3f}") for p in [*order[::-1][:most], *order[:most][::-1]] if weights[p]]
        rows = list(dict.fromkeys(rows))
        blocks.append(tag("div", table(v.labels[k], ["attribute", "weight"], rows, numeric=(1,))))
    parts = [tag("div", *blocks, class_="columns")]
    trans = model.w[layout.transitions]
    if len(trans):
        order = np.argsort(-np.abs(trans), kind="stable")[: 3 * most]
        pairs = [divmod(int(layout.transition[p]), layout.n_labels) for p in order]
        rows = [(v.labels[i], v.labels[j], f"{trans[p]:+.3f}") for (i, j), p in zip(pairs, order, strict=True)]
        parts.append(
            details("The heaviest transitions", table("Label pairs", ["from", "to", "weight"], rows, numeric=(2,), hidden_caption=True))
        )
    return join(parts)


def _name(table, k):
    return tag("span", table.name(int(k)).decode(errors="replace"), class_="name")
