"""CRF++'s text model, which crf_learn -t writes beside the binary one and other implementations of it read; crfpp.py has its parts."""

from . import crfpp

NAME, MAGIC = "CRF++ text", b"version: "
read, refusals = crfpp.read, crfpp.refusals


def remarks(model):
    """What whoever uses the file has to know."""
    _, _, _, keys, _, _ = crfpp.parts(model)
    if odd := [key for key in keys if b" " in key or b"\t" in key]:
        yield f"{len(odd)} keys hold spaces, where `crf_learn -C` cuts them off: write the binary form for it"


def image(model):
    """The file in parts: header, labels, templates, keys with their numbers, weights; an empty line between."""
    template, labels, sources, keys, number, weights = crfpp.parts(model)
    head = [b"version: %d" % crfpp.VERSION, b"cost-factor: 1", b"maxid: %d" % len(weights), b"xsize: %d" % template.columns]
    numbered = [b"%d %b" % (k, key) for key, k in sorted(zip(keys, number.tolist(), strict=True))]
    parts = [head, labels, sources, numbered, [b"%.16f" % weight for weight in weights.tolist()]]
    return [b"\n".join([b"\n".join([*lines, b""]) for lines in parts])]
