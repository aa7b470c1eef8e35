"""What is given by mistake: an error or a warning names what was found there, not one byte of it."""

import pytest

TEXT = "the DT B-X\ncat NN I-X\n\na DT O\ndog NN B-X\n\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def said(crftrain, *arguments, status):
    ended = crftrain(*arguments)
    assert ended.status == status, ended
    return ended.err


@pytest.mark.parametrize("arguments", [("learn", "model", "t.txt"), ("tag", "model", "model"), ("eval", "model"), ("convert", "model")])
def test_a_model_in_the_place_of_data_is_called_one(crftrain, here, arguments):
    said(crftrain, "learn", "-q", "-m", "model", "t.txt", status=0)
    assert "model:1: a model or a checkpoint of crftrain, expected text in utf-8" in said(crftrain, *arguments, status=1)


@pytest.mark.parametrize(
    ("bytes", "named"),
    [
        (TEXT.encode("utf-16"), "text in UTF-16, by its mark"),
        (b"PK\x03\x04\x14\x00\xff\xff", "a zip archive, as .docx and .xlsx are"),
        (b"\x80\x04\x95 a\n", "a pickle of Python"),
        (b"\xe9t\xe9 NN O\n", "byte 0xe9 is not utf-8"),
    ],
)
def test_what_is_no_text_is_named(crftrain, here, bytes, named):
    (here / "odd").write_bytes(bytes)
    assert f"odd:1: {named}, expected text in utf-8 (--encoding names another)" in said(crftrain, "learn", "odd", status=1)


def test_line_ends_of_old_macs_are_told_from_long_lines(crftrain, here):
    (here / "mac").write_bytes(TEXT.replace("\n", "\r").encode())
    assert "carriage returns within the line" in said(crftrain, "learn", "mac", status=1)
    (here / "cells").write_bytes(b"a b\rc O\nd e O\n\n")
    said(crftrain, "learn", "-q", "cells", status=0)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("word,tag,label\na,b,O\n", "(spaces or tabs part columns, commas do not)"), ("a\t\tO\nb\tx\tO\n", "(--tabs: cells may be empty)")],
)
def test_columns_that_are_parted_otherwise_get_a_hint(crftrain, here, text, hint):
    (here / "odd").write_text(text, encoding="utf-8")
    assert hint in said(crftrain, "learn", "odd", status=1)


def test_an_option_s_value_without_its_option_is_wrong_usage(crftrain, here):
    assert "c2=1: there is no such file; options begin with a hyphen. That of CRFsuite is here --lambda X/n" in said(
        crftrain, "learn", "c2=1", "t.txt", status=2
    )
    (here / "c2=1").write_text(TEXT, encoding="utf-8")
    said(crftrain, "learn", "-q", "c2=1", status=0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("t.txt", "t.txt"), "t.txt is named twice, and counts twice"),
        (("--format", "items", "t.txt"), "no token has an attribute to learn from: items have tabs between them, and no line has a tab"),
        (("--min-freq", "1000", "t.txt"), "no token has an attribute to learn from: none occurs 1,000 times (--min-freq)"),
        (("long",), "long: one sentence of 240 tokens; a blank line ends a sentence"),
    ],
)
def test_what_is_seldom_meant_is_a_warning(crftrain, here, arguments, told):
    (here / "long").write_text(TEXT.replace("\n\n", "\n") * 60, encoding="utf-8")
    assert f"warning: {told}" in said(crftrain, "learn", "-q", *arguments, status=0).replace("t.txt: no", "no")


@pytest.mark.parametrize(
    ("fields", "told"),
    [("form,zzz", "--fields: a field 'zzz', expected id form"), ("form,upos", "--fields names fields of CoNLL-U or JSON lines")],
)
def test_fields_that_the_file_s_format_has_not_are_wrong_usage(crftrain, here, fields, told):
    row = "\t".join(["1", "a", *"_" * 8])
    (here / "u.conllu").write_text(f"# text = a\n{row}\n\n")
    file = "u.conllu" if "zzz" in fields else "t.txt"
    assert told in said(crftrain, "learn", "-q", "--fields", fields, file, status=2)


def test_a_whole_number_beyond_what_loops_hold_is_told_the_limit(crftrain, here):
    told = said(crftrain, "learn", "-a", "mira", "--shrinking-size", "4294967296", "t.txt", status=2)
    assert "'4294967296' is not a whole number <= 2147483647" in told
