"""Template dialects: each line's attributes are those of the program whose dialect it is written in."""

import re

import numpy as np
import pytest

from crftrain.errors import TemplateError
from crftrain.text.encode import Columns, StringTable
from crftrain.text.read import Sentence
from crftrain.text.template import Template

ROWS = [
    ["Ünder", "NN"],
    ["ÀB-c.", "X"],
    ["straße", "."],
    ["12.5", "CD"],
    ["“", "``"],
]
LINES = r"""
U00:%x[-2,0]/%x[0,1]        # a comment
u01:%X[0,0]%x[7,0]
*02:%x[-1,1]/%x[4,0]
U03:%t[-1,0,"\u"]%t[1,0,"\p"]%t[0,0,"^\l*$"]%t[0,0,"\W"]
U04:%m[0,0,"..?.?$"]
U05:%M[-1,0,"^\a\a?\w*"]
U06:%x[@2,0]/%X[@-6,0]/%x[@1,1]
U07:%m[0,0,"\W.*"]|%T[0,0,"x"]
U08 #
"""


def expanded(template, rows):
    """The attributes of each token, as our template makes them."""
    columns = Columns(template, StringTable(), StringTable(), StringTable(), learn=False)
    columns.expect(2, 1, "")
    sentence = Sentence([" ".join(row).encode() for row in rows], "test", 1)
    return [re.sub(rb"\\([:\\])", rb"\1", line).split(b"\t")[1:] for line in columns.items(sentence)]


def lowered(text):
    return bytes(c + 32 if 65 <= c <= 90 else c for c in text)


def wapiti(source, rows, t):
    """What Wapiti makes of a line, by the book: bytes throughout, and cells outside that are cells like others."""
    source = source.split("#")[0].rstrip()
    out = source[:1].lower().encode()
    at = 1
    for macro in re.finditer(r'%([a-zA-Z])\[(@?)(-?\d+),(\d+)(?:,"((?:[^"\\]|\\.)*)")?\]', source):
        out += source[at : macro.start()].encode()
        at = macro.end()
        letter, absolute, row, column, pattern = macro.groups()
        row = int(row) + (t if not absolute else len(rows) if int(row) < 0 else -1)
        if row < 0:
            cell = b"_x-" + [b"1", b"2", b"3", b"4", b"#"][min(-row - 1, 4)]
        elif row >= len(rows):
            cell = b"_x+" + [b"1", b"2", b"3", b"4", b"#"][min(row - len(rows), 4)]
        else:
            cell = rows[row][int(column)].encode()
        if letter in "tTmM":
            match = re.search(classes(pattern), cell)
            cell = (b"false" if match is None else b"true") if letter in "tT" else b"" if match is None else match[0]
        out += lowered(cell) if letter.isupper() else cell
    return out + source[at:].encode()


def classes(pattern):
    """Wapiti's pattern as one of Python's, over bytes."""
    sets = {"a": "a-zA-Z", "d": "0-9", "l": "a-z", "u": "A-Z", "w": "a-zA-Z0-9", "p": "!-/:-@[-`{-~"}
    pattern = re.sub(r"\\([adlpuw])", lambda m: f"[{sets[m[1]]}]", pattern)
    pattern = re.sub(r"\\([ADLPUW])", lambda m: f"[^{sets[m[1].lower()]}]", pattern)
    return pattern.replace("*", "*?").encode()


@pytest.mark.parametrize("n", range(1, len(ROWS) + 1))
def test_lines_in_wapiti_s_dialect_give_wapiti_s_observations(n):
    template, rows = Template.parse("#dialect wapiti\n" + LINES, "t"), ROWS[:n]
    lines = LINES.strip().split("\n")
    assert expanded(template, rows) == [[wapiti(line, rows, t) for line in lines] for t in range(n)]


def test_without_a_dialect_borders_and_letters_are_ours():
    template = Template.parse('U:%X[-1,0]%t[0,0,"^\\u"]\n', "t")
    assert expanded(template, ROWS[:2]) == [[b"U:_B-1true"], ["U:ündertrue".encode()]]


def test_far_outside_each_dialect_has_its_names():
    source = "U:%x[-7,0]\nU:%x[7,0]\n"
    assert expanded(Template.parse(source, "t"), ROWS[:1]) == [[b"U:_B-7", b"U:_B+7"]]
    assert expanded(Template.parse("#dialect wapiti\n" + source, "t"), ROWS[:1]) == [[b"u:_x-#", b"u:_x+#"]]


@pytest.mark.parametrize(
    "text, message",
    [
        ("#dialect latin\nU:%x[0,0]", "t:1: dialect latin, expected one of crftrain, crfpp, wapiti"),
        ("#dialect crfpp\nU:%l[0,0]", "t:2: macro %l, expected %x, as the dialect crfpp has"),
        ("#dialect crfpp\nU:%X[0,0]", "t:2: macro %X"),
        ("#dialect crfpp\nU:%x[9,0]", "t:2: row 9, expected rows from -8 to 8"),
        ("#dialect crfpp\nU:%x[@1,0]", "t:2: row @1"),
        ("#dialect crfpp\n*:%x[0,0]", "t:2: a line that begins with '*', expected U, B or a comment"),
        ("U:%x[0,0]\n#dialect wapiti\nU:%s[0,0,2]", "t:3: macro %s, expected %m %t %x"),
    ],
)
def test_what_a_dialect_has_not_is_an_error(text, message):
    with pytest.raises(TemplateError) as caught:
        Template.parse(text, "t")
    assert str(caught.value).startswith(message)


def test_the_dialect_stays_with_the_model(crftrain, tmp_path):
    (tmp_path / "t.txt").write_text("#dialect wapiti\nU:%x[-1,0]%X[0,0]\nB\n")
    (tmp_path / "train.txt").write_text("Aa X\nBb Y\n\nBb Y\n\n")
    assert crftrain("learn", "-q", "-t", "t.txt", "-m", "m.bin", "train.txt").status == 0
    dump = crftrain("dump", "m.bin").out.decode()
    assert "\nU\tu:_x-1aa\tX\t" in dump and "_B" not in dump
    assert np.unique(crftrain("tag", "--labels-only", "m.bin", "train.txt").lines).tolist() == ["", "X", "Y"]


@pytest.mark.parametrize("name", ["crfpp", "wapiti"])
def test_the_flag_says_what_the_line_says(crftrain, tmp_path, name):
    (tmp_path / "train.txt").write_text("a X\nb Y\n\n")
    (tmp_path / "t.txt").write_text("U:%x[-1,0]%x[2,0]\nB\n")
    (tmp_path / "said.txt").write_text(f"U:%x[-1,0]%x[2,0]\nB\n#dialect {name}\n")
    found = crftrain("features", "-t", "t.txt", "--dialect", name, "train.txt").out
    assert found == crftrain("features", "-t", "said.txt", "train.txt").out
    assert crftrain("learn", "-q", "-t", "t.txt", "--dialect", name, "-m", "m.bin", "train.txt").status == 0
    assert f"#dialect {name}" in crftrain("info", "--template", "m.bin").lines
    other = {"crfpp": "wapiti", "wapiti": "crftrain"}[name]
    ended = crftrain("learn", "-t", "said.txt", "--dialect", other, "-m", "n.bin", "train.txt")
    assert ended.status == 1 and f"said.txt: a template in the dialect {name}, expected one in the dialect {other}" in ended.err
    assert crftrain("learn", "--dialect", name, "-m", "n.bin", "train.txt").status == 2
