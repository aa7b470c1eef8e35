"""Model files whose lengths and checksums are right, and whose contents are not: python hostile_models.py FOLDER writes them all.

The file is put together here from docs/model-format.md, not with the code that is under attack.
"""

import json
import struct
import sys
import zlib
from pathlib import Path

TAGS = (b"SIZE", b"LABL", b"TMPL", b"FACT", b"NAME", b"SETS", b"TRAN", b"PNAM", b"PSET", b"WGTS")
FIELDS = ("format", "n_columns", "label_column", "labels", "attributes", "name_bytes", "node_weights", "transitions")
FIELDS += ("pair_attributes", "pair_name_bytes", "pair_weights")
HEADER = 16 + 32 * len(TAGS) + 4


def varints(*numbers):
    out = bytearray()
    for number in numbers:
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


def size(**changes):
    sizes = dict(zip(FIELDS, (0, 2, 1, 2, 2, 8, 3, 3, 1, 3, 2), strict=True)) | changes
    return struct.pack("<11q", *sizes.values())


def template(text="U:%x[0,0]\nB:%x[0,0]\nB\n", name="tiny"):
    return json.dumps({"name": name, "text": text}, separators=(",", ":")).encode()


# two labels; U:abc with both, U:b with the second; three transitions; B:b with two label pairs
GOOD = {
    b"SIZE": size(),
    b"LABL": varints(1, 4) + "OB-é".encode(),
    b"TMPL": template(),
    b"FACT": b'{"algorithm":"lbfgs","gap":null}',
    b"NAME": varints(0, 2, 5, 1) + b"U:abc" + b"b",
    b"SETS": varints(2, 2, 1, 0, 0, 1, 0, 1),
    b"TRAN": varints(0, 1, 0),
    b"PNAM": varints(0, 3) + b"B:b",
    b"PSET": varints(1, 2, 1, 0, 0),
    b"WGTS": struct.pack("<8f", -1, 2, 0.5, 0.25, -0.125, 3, 1.5, -2.5),
}


def forge(contents, *, magic=b"\x89CRFTRN\n", version=1, count=None, deflate=(), unpacked=None, tail=b"", table=lambda k, entry: entry):
    """The file; `unpacked` lies about sections' lengths, `table` changes entries (tag, crc, offset, length, unpacked) in passing."""
    stored = {tag: zlib.compress(part, 9) if tag in deflate else part for tag, part in contents.items()}
    offset = 16 + 32 * max(len(stored), len(TAGS)) + 4
    header = struct.pack("<8sII", magic, version, len(stored) if count is None else count)
    for k, (tag, part) in enumerate(stored.items()):
        length = (unpacked or {}).get(tag, len(contents[tag]))
        header += struct.pack("<4sIQQQ", *table(k, (tag, zlib.crc32(part), offset, len(part), length)))
        offset += len(part)
    return header + struct.pack("<I", zlib.crc32(header)) + b"".join(stored.values()) + tail


def with_entry(position, **changes):
    def table(k, entry):
        values = dict(zip(("tag", "crc", "offset", "length", "unpacked"), entry, strict=True))
        return tuple((values | changes).values()) if k == position else entry

    return forge(GOOD, table=table)


def with_others(*tags):
    """Format 2 with such sections after the ten, in this order."""
    stand_ins = {b"zz%02d" % k: tag for k, tag in enumerate(tags)}
    return forge(GOOD | dict.fromkeys(stand_ins, b""), version=2, table=lambda k, entry: (stand_ins.get(entry[0], entry[0]), *entry[1:]))


def with_sections(deflate=(), unpacked=None, tail=b"", **changes):
    return forge(GOOD | {tag.encode(): part for tag, part in changes.items()}, deflate=deflate, unpacked=unpacked, tail=tail)


def bomb(tag, content, **options):
    return with_sections(**{tag.decode(): content}, deflate=(tag,), **options)


def attacks():
    """{name: bytes}; none of them is a model."""
    good = forge(GOOD)
    found = {
        "empty": b"",
        "text": b"U00:%x[0,0]\n" * 100,
        "crfsuite": b"lCRF" + bytes(500),
        "magic-only": good[:8],
        "newer-version": forge(GOOD, version=3),
        "largest-version": forge(GOOD, version=2**32 - 1),
        "older-version": forge(GOOD, version=0),
        "fewer-sections": forge({tag: GOOD[tag] for tag in TAGS[:-1]}),
        "more-sections": forge(GOOD | {b"MORE": b""}),
        "more-sections-that-need-not-be-known": forge(GOOD | {b"more": b""}),
        "section-that-must-be-known": forge(GOOD | {b"MORE": b""}, version=2),
        "one-among-others": forge(GOOD | {b"Must": b"", b"more": b""}, version=2),
        "other-sections-out-of-order": forge(GOOD | {b"more": b"", b"also": b""}, version=2),
        "other-section-twice": with_others(b"more", b"more"),
        "other-section-of-the-ten": with_others(b"SIZE", b"more"),
        "other-section-without-a-name": forge(GOOD | {b"\0\0\0\0": b""}, version=2),
        "other-section-first": forge({b"SIZE": GOOD[b"SIZE"], b"also": b""} | GOOD, version=2),
        "other-section-of-no-letters": forge(GOOD | {b"m\xff\n ": b""}, version=2),
        "hundreds-of-sections": forge(GOOD | {b"%04d" % k: b"" for k in range(500)}, version=2),
        "wrong-checksum-of-another-section": forge(GOOD | {b"more": b"x"}, version=2)[:-1] + b"y",
        "bomb-in-another-section": forge(GOOD | {b"more": bytes(10**7)}, version=2, deflate=(b"more",)),
        "wrong-count": forge(GOOD, count=9),
        "largest-count": forge(GOOD, count=2**32 - 1),
        "unknown-section": with_entry(9, tag=b"XXXX"),
        "section-twice": with_entry(8, tag=b"PNAM"),
        "gap": with_entry(3, offset=HEADER + 1000),
        "overlap": with_entry(3, offset=HEADER),
        "inside-header": with_entry(0, offset=0),
        "longer-than-file": with_entry(9, length=1000),
        "longest": with_entry(9, length=2**64 - 1),
        "offset-wraps": with_entry(1, offset=2**64 - 8),
        "unpacked-longest": with_entry(9, unpacked=2**64 - 1),
        "unpacked-large": with_entry(3, unpacked=4000),
        "unpacked-nothing": with_entry(3, unpacked=0),
        "bytes-after-end": with_sections(tail=b"\0"),
        "wrong-section-checksum": with_entry(4, crc=0),
        "short-sizes": with_sections(SIZE=size()[:-8]),
        "long-sizes": with_sections(SIZE=size() + bytes(8)),
        "items-with-template": with_sections(SIZE=size(format=1)),
        "labels-none": with_sections(SIZE=size(labels=0), LABL=b""),
        "labels-millions": with_sections(SIZE=size(labels=2**40)),
        "label-lengths": with_sections(LABL=varints(1, 5) + "OB-é".encode()),
        "label-lengths-overflow": with_sections(LABL=varints(2**31 - 1, 2**31 - 1) + b"O"),
        "label-twice": with_sections(LABL=varints(1, 1) + b"OO"),
        "label-not-utf8": with_sections(LABL=varints(1, 1) + b"O\xff"),
        "label-cut-in-letter": with_sections(LABL=varints(3, 2) + "B-éO".encode()),
        "label-surrogate": with_sections(LABL=varints(1, 3) + b"O\xed\xa0\x80"),
        "template-none": with_sections(TMPL=b""),
        "template-not-json": with_sections(TMPL=b"U:%x[0,0]"),
        "template-list": with_sections(TMPL=b"[]"),
        "template-no-text": with_sections(TMPL=b'{"name":"x"}'),
        "template-number": with_sections(TMPL=b'{"name":"x","text":1}'),
        "template-bad": with_sections(TMPL=template("U:%x[0,0\n")),
        "template-empty": with_sections(TMPL=template("")),
        "template-names-label": with_sections(TMPL=template("U:%x[0,1]\n")),
        "template-without-label-pairs": with_sections(TMPL=template("U:%x[0,0]\nB\n")),
        "template-column": with_sections(TMPL=template("U:%x[0,7]\n")),
        "template-surrogate": with_sections(TMPL=template("U:\ud800%x[0,0]\n")),
        "template-regex": with_sections(TMPL=template('U:%m[0,0,"["]\nU:%t[0,0,"\\"]\n')),
        "facts-empty": with_sections(FACT=b""),
        "facts-list": with_sections(FACT=b"[1]"),
        "facts-cut": with_sections(FACT=b'{"a":'),
        "facts-deep": with_sections(FACT=b'{"a":' + b"[" * 100000),
        "facts-deep-closed": with_sections(FACT=b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}"),
        "facts-digits": with_sections(FACT=b'{"a":' + b"9" * 100000),
        "facts-utf16": with_sections(FACT=b"\xff\xfe{\0}"),
        "weights-nan": with_sections(WGTS=GOOD[b"WGTS"][:-4] + struct.pack("<f", float("nan"))),
        "weights-infinite": with_sections(WGTS=struct.pack("<f", float("-inf")) + GOOD[b"WGTS"][4:]),
        "weights-zero": with_sections(WGTS=GOOD[b"WGTS"][:-4] + bytes(4)),
        "weights-minus-zero": with_sections(WGTS=GOOD[b"WGTS"][:-4] + struct.pack("<f", -0.0)),
        "weights-cut": with_sections(WGTS=GOOD[b"WGTS"][:-1]),
        "weights-more": with_sections(WGTS=GOOD[b"WGTS"] + GOOD[b"WGTS"]),
        "weights-none": with_sections(WGTS=b""),
        "transition-id": with_sections(TRAN=varints(0, 1, 1)),
        "transition-gap": with_sections(TRAN=varints(0, 1, 2**31 - 1)),
        "transitions-few": with_sections(TRAN=varints(0, 1)),
        "transitions-more": with_sections(TRAN=varints(0, 1, 0, 0)),
    }
    for field in FIELDS:
        for value in (-1, 2**31, 2**62, 2**63 - 1, -(2**63)):
            found[f"size-{field}-{value}"] = with_sections(SIZE=size(**{field: value}))
    for field in FIELDS[3:]:
        for value in (0, 4, 100):
            found[f"size-{field}-{value}"] = with_sections(SIZE=size(**{field: value}))
    for tag, count, text in ((b"NAME", 2, b"U:abcb"), (b"PNAM", 1, b"B:b")):
        found |= {f"{tag.decode()}-{name}": with_sections(**{tag.decode(): part}) for name, part in bad_names(count, text).items()}
    for tag, parts in ((b"SETS", bad_sets((2, 1, 0, 0, 1, 0, 1), 2)), (b"PSET", bad_sets((2, 1, 0, 0), 4))):
        found |= {f"{tag.decode()}-{name}": with_sections(**{tag.decode(): part}) for name, part in parts.items()}
    return found | bombs()


def bad_names(count, text):
    """Two names `U:abc` `U:b`, or one, said wrongly."""
    lengths = [0, 2, 5, 1] if count == 2 else [0, 3]
    rest = lengths[1:]
    found = {
        "none": b"",
        "first-shares": varints(1, *rest) + text,
        "first-shares-much": varints(2**31 - 1, *rest) + text,
        "cut": varints(*lengths) + text[:-1],
        "more": varints(*lengths) + text + b"x",
        "cut-in-numbers": varints(*lengths)[:1] + b"\xff",
        "endless-number": b"\xff" * 20,
        "number-of-32-bits": b"\xff\xff\xff\xff\x0f" + varints(*rest) + text,
        "number-padded": b"\x80\x00" + varints(*rest) + text,
        "fresh-much": varints(*lengths[:-1], 2**31 - 1) + text,
    }
    if count == 2:
        found |= {
            "shares-more": varints(0, 6, 5, 1) + text,
            "same-twice": varints(0, 3, 3, 0) + b"U:a",
            "same-unshared": varints(0, 0, 4, 4) + b"U:abU:ab",
            "falling": varints(0, 2, 4, 2) + b"U:b" + b"caa",
            "prefix-after": varints(0, 3, 5, 0) + b"U:abc",
        }
    return found


def bad_sets(numbers, universe):
    """Numbers after the count, said wrongly."""
    n_sets = 2 if universe == 2 else 1
    good = (n_sets, *numbers)
    return {
        "none": b"",
        "cut": varints(*good)[:-1],
        "more": varints(*good, 0),
        "count-much": varints(2**31 - 1, *numbers),
        "count-none": varints(0, *numbers),
        "number-of-no-set": varints(*good[:-1], n_sets),
        "number-much": varints(*good[:-1], 2**31 - 1),
        "size-much": varints(n_sets, 2**31 - 1, *numbers[1:]),
        "size-none": varints(n_sets, 0, *numbers[1:]),
        "empty-set": varints(n_sets + 1, 0, *numbers),
        "member-much": varints(*[2**31 - 1 if k == n_sets + 1 else value for k, value in enumerate(good)]),
        "member-beyond": varints(*[universe if k == n_sets + 1 else value for k, value in enumerate(good)]),
    }


def bombs():
    """Little that claims to be, or is, much."""
    facts = b'{"a":"' + b" " * 1_000_000 + b'"}'
    stream = zlib.compress(GOOD[b"FACT"])
    found = {
        "bomb-facts": bomb(b"FACT", facts),
        "bomb-weights": bomb(b"WGTS", struct.pack("<f", 1) * 1_000_000),
        "bomb-declared-small": bomb(b"FACT", facts, unpacked={b"FACT": 4000}),
        "bomb-declared-one-less": bomb(b"FACT", facts[:6000] + b'"}', unpacked={b"FACT": 6001}),
        "bomb-declared-one-more": bomb(b"FACT", facts[:6000] + b'"}', unpacked={b"FACT": 6003}),
        "deflate-garbage": with_sections(FACT=b"\x78\x9c" + b"\xff" * 40, unpacked={b"FACT": 100}),
        "deflate-cut": with_sections(FACT=stream[:-2], unpacked={b"FACT": len(GOOD[b"FACT"])}),
        "deflate-more": with_sections(FACT=stream + b"x", unpacked={b"FACT": len(GOOD[b"FACT"])}),
        "names-grow": growing_names(2000),
    }
    for tag in TAGS:
        found[f"bomb-zeros-{tag.decode()}"] = bomb(tag, bytes(3_000_000))
    return found


def growing_names(n):
    """Each name is the one before and a letter: n^2/2 bytes of names from 8 n."""
    contents = GOOD | {
        b"SIZE": size(attributes=n, name_bytes=n * (n + 1) // 2, node_weights=n),
        b"NAME": varints(*range(n), *[1] * n) + b"a" * n,
        b"SETS": varints(1, 1, 0, *[0] * n),
        b"WGTS": struct.pack("<f", 1) * (n + 5),
    }
    return forge(contents)


def densest(n):
    """A model, of the most attributes for its bytes: it unpacks to nearly 8 times its size, and takes what a load may take."""
    contents = GOOD | {
        b"SIZE": size(attributes=n, name_bytes=3 * n, node_weights=n),
        b"NAME": varints(*[0, *[2 if k % 256 else 0 if k % 65536 == 0 else 1 for k in range(1, n)]])
        + varints(*[3, *[1 if k % 256 else 3 if k % 65536 == 0 else 2 for k in range(1, n)]])
        + b"".join(_new(k) for k in range(n)),
        b"SETS": varints(1, 1, 0, *[0] * n),
        b"WGTS": b"".join(struct.pack("<f", 1 + k % 97) for k in range(n + 5)),
    }
    deflate = (b"NAME", b"SETS", b"WGTS")
    unpacked, stored = len(forge(contents)), len(forge(contents, deflate=deflate))
    ballast = b"x" * max(0, (unpacked - 8 * stored) // 7)  # not deflated: keeps the whole file just within the limit
    return forge(contents | {b"FACT": b'{"ballast":"' + ballast + b'"}'}, deflate=deflate)


def _new(k):
    name = k.to_bytes(3, "big")
    return name if k % 65536 == 0 else name[1:] if k % 256 == 0 else name[2:]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in attacks().items():
        (folder / f"{name}.bin").write_bytes(data)
