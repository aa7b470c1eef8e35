"""Laws of templates: CRF++'s and Wapiti's lines mean what they mean there, and a line that means nothing is an error with its place."""

import pickle
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crftrain.errors import TemplateError
from crftrain.text.template import Macro, Regex, Template, builtin, builtin_names, load


def parse(text):
    return Template.parse(text, "t.txt")


def error(text):
    with pytest.raises(TemplateError) as caught:
        parse(text)
    return str(caught.value)


def apply(macro, cell):
    """What a macro makes of a cell."""
    (line,) = parse(f"U:{macro}").unigrams
    return line.pieces[1].function(cell)


# ---- lines


def test_a_line_is_cut_at_its_macros():
    (line,) = parse("U05:%x[-1,0]/%x[ 0, 2]!").unigrams
    assert line.pieces == (b"U05:", Macro(-1, False, 0, None), b"/", Macro(0, False, 2, None), b"!")
    assert line.number == 1


def test_absolute_rows():
    (line,) = parse("u:%x[@1,0]%x[@-2,0]%x[+3,0]").unigrams
    assert [(macro.row, macro.absolute) for macro in line.pieces[1:]] == [(0, True), (-2, True), (3, False)]


@pytest.mark.parametrize("letter", "uU")
def test_node_lines(letter):
    template = parse(f"{letter}1:%x[0,0]\n{letter}\n")
    assert (len(template.unigrams), len(template.bigrams), template.plain_transitions) == (2, 0, False)


@pytest.mark.parametrize("letter", "bB")
def test_pair_lines(letter):
    template = parse(f"{letter}1:%x[0,0]\n{letter}\n")
    assert (len(template.unigrams), len(template.bigrams), template.plain_transitions) == (0, 1, True)


def test_star_lines_are_both():
    template = parse("*1:%x[0,0]\n*\n")
    assert (len(template.unigrams), len(template.bigrams), template.plain_transitions) == (2, 1, True)
    assert template.unigrams[0] is template.bigrams[0]


def test_comments_blank_lines_crlf_and_byte_order_mark():
    template = parse("\ufeff# first\r\n\r\n  # second\r\nU0:#%x[0,0]# \r\n")
    (line,) = template.unigrams
    assert line.pieces == (b"U0:#", Macro(0, False, 0, None), b"#") and line.number == 4


def test_the_text_is_kept_and_makes_the_same_template_again():
    text = "# c\r\nU0:%x[0,0]\n"
    template = parse(text)
    assert template.text == text and template.name == "t.txt"
    assert Template.parse(template.text, template.name) == template == pickle.loads(pickle.dumps(template))


def test_columns():
    assert parse("U:%x[0,3]/%x[0,1]\nB:%l[0,4]").columns == 5
    assert parse("B").columns == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.txt: an empty template, expected lines such as U00:%x[0,0]"),
        ("# U0:%x[0,0]\n\n", "t.txt: an empty template, expected lines such as U00:%x[0,0]"),
        ("U0:%x[0,0]\nX0:%x[0,0]", "t.txt:2: a line that begins with 'X', expected U, B, * or a comment with #"),
        ("\n\nU0:%q[0,0]", "t.txt:3: unknown macro '%q', expected one of %d %l %m %p %s %t %w %x"),
        ("U0:100%", "t.txt:1: unknown macro '%', expected one of %d %l %m %p %s %t %w %x"),
        ("U0:%x", "t.txt:1: '%x', expected %x[row,column] with numbers"),
        ("U0:%x[0]", "t.txt:1: '%x[0]', expected %x[row,column] with numbers"),
        ("U0:%x[a,0]", "t.txt:1: '%x[a,0]', expected %x[row,column] with numbers"),
        ("U0:%x[0,-1]", "t.txt:1: '%x[0,-1]', expected %x[row,column] with numbers"),
        ("U0:%x[,0]", "t.txt:1: '%x[,0]', expected %x[row,column] with numbers"),
        ("U0:%x[*0,1]", "t.txt:1: '%x[*0,1]', expected %x[row,column] with numbers"),
        ("U0:%x[0,99999999999]", "t.txt:1: the number 99999999999, expected at most 999999999"),
        ("U0:%p[0,0," + "9" * 5000 + "]", "t.txt:1: the number " + "9" * 24 + ", expected at most 999999999"),
        ("U0:%x[0,0", "t.txt:1: '%x[0,0', expected ] after %x[0,0"),
        ("U0:%x[0,0/%x[1,0]", "t.txt:1: '%x[0,0/', expected ] after %x[0,0"),
        ("U0:%x[0,0,1]", "t.txt:1: '%x[0,0,', expected ] after %x[0,0"),
        ("U0:%x[@0,0]", "t.txt:1: row @0, expected @1, the first token, or @-1, the last"),
        ("U0:%p[0,0]", "t.txt:1: '%p[0,0]', expected a number as the third argument of %p"),
        ("U0:%s[0,0,0]", "t.txt:1: 0 as the third argument of %s, expected 1 or more"),
        ("U0:%t[0,0]", "t.txt:1: '%t[0,0]', expected \"a pattern\" as the third argument of %t"),
        ('U0:%m[0,0,"a]', 't.txt:1: \'%m[0,0,"a]\', expected "a pattern" as the third argument of %m'),
        ('U0:%t[0,0,"*a"]', "t.txt:1: pattern '*a', expected something before *, or \\*"),
        ('U0:%t[0,0,"a*?"]', "t.txt:1: pattern 'a*?', expected something before ?, or \\?"),
        ('U0:%t[0,0,"^*"]', "t.txt:1: pattern '^*', expected something before *, or \\*"),
        ("B\nU0:%x[0,0]\nB01", "t.txt:3: a second line that asks for plain transitions, expected one, as on line 1"),
        ("*\nb", "t.txt:2: a second line that asks for plain transitions, expected one, as on line 1"),
    ],
)
def test_a_bad_template_is_an_error_with_its_line(text, message):
    assert error(text) == message


def test_macros_must_name_columns_of_the_data_and_not_the_label():
    template = parse("U0:%x[0,0]\nU1:%x[0,2]\n")
    template.check(4, 3)
    for n_columns, label, message in [
        (2, 1, "t.txt:2: column 2, expected 0 to 1 as the data have"),
        (3, 2, "t.txt:2: column 2, which is the label, expected a column that is not"),
        (3, 0, "t.txt:1: column 0, which is the label, expected a column that is not"),
    ]:
        with pytest.raises(TemplateError) as caught:
            template.check(n_columns, label)
        assert str(caught.value) == message


# ---- functions


@pytest.mark.parametrize(
    ("macro", "cell", "text"),
    [
        ("%X[0,0]", "ÉTÉ", "été"),
        ("%l[0,0]", "ÉTÉ", "été"),
        ("%p[0,0,2]", "été", "ét"),
        ("%p[0,0,9]", "été", "été"),
        ("%P[0,0,2]", "ÉTÉ", "ét"),
        ("%s[0,0,2]", "漢字文", "字文"),
        ("%S[0,0,1]", "ABÉ", "é"),
        ("%d[0,0]", "A-1984٣", "A-00000"),
        ("%D[0,0]", "A-1984", "a-0000"),
        ("%w[0,0]", "McDonald's-2漢", "XxXxxxxx'x-0a"),
        ("%w[0,0,1]", "McDonald's--22", "XxXx'x-0"),
        ("%w[0,0,2]", "McDonald's--22", "XxXxx'x--00"),
        ("%w[0,0,3]", "1.1", "0.0"),
        ("%W[0,0]", "Mc", "xx"),
        ('%t[0,0,"^\\u"]', "Été", "true"),
        ('%T[0,0,"^\\u"]', "été", "false"),
        ('%m[0,0,"^.?.?"]', "été", "ét"),
        ('%M[0,0,".?.?$"]', "ABC", "bc"),
        ('%m[0,0,"\\d"]', "abc", ""),
        ('%m[0,0,"\\"a"]', 'x"a', '"a'),
        ('%t[0,0,"]"]', "a]", "true"),
    ],
)
def test_functions(macro, cell, text):
    assert apply(macro, cell) == text


def test_the_same_function_is_the_same_object():
    """So that each is worked out once for each cell."""
    template = parse('U0:%p[0,0,2]/%p[-1,1,2]\nU1:%p[0,0,2]%p[0,0,3]\nU2:%t[0,0,"a"]%t[0,0,"a"]')
    functions = [macro.function for _, macro in template.macros]
    assert functions[0] is functions[1] is functions[2] is not functions[3] and functions[4] is functions[5]


# ---- patterns


def naive_search(pattern, text):
    """Wapiti's matcher as its documentation tells it: try the shortest * first, the ? first with the character."""

    def single(i):
        return i + 1 + (pattern[i] == "\\")

    def matches(i, j):
        if j == len(text):
            return False
        c = text[j]
        if pattern[i] == ".":
            return True
        if pattern[i] != "\\":
            return c == pattern[i]
        test = {
            "a": str.isalpha,
            "d": str.isdecimal,
            "l": str.islower,
            "p": lambda c: unicodedata.category(c)[0] in "PS",
            "s": str.isspace,
            "u": str.isupper,
            "w": lambda c: c.isalpha() or c.isdecimal(),
        }.get(pattern[i + 1].lower())
        return c == pattern[i + 1] if test is None else test(c) == pattern[i + 1].islower()

    def here(i, j):
        """Where a match of pattern[i:] at j ends, or None."""
        if i == len(pattern):
            return j
        if pattern[i:] == "$":
            return j if j == len(text) else None
        after = single(i)
        if pattern[after : after + 1] == "*":
            while True:
                if (end := here(after + 1, j)) is not None:
                    return end
                if not matches(i, j):
                    return None
                j += 1
        if pattern[after : after + 1] == "?":
            if matches(i, j) and (end := here(after + 1, j + 1)) is not None:
                return end
            return here(after + 1, j)
        return here(after, j + 1) if matches(i, j) else None

    for start in range(1 if pattern.startswith("^") else len(text) + 1):
        if (end := here(int(pattern.startswith("^")), start)) is not None:
            return start, end
    return None


SINGLE = ["a", "B", "1", "é", ".", "$b", "\\.", "\\x", *("\\" + c for c in "adlpsuwADLPSUW")]
ELEMENTS = st.tuples(st.sampled_from(SINGLE), st.sampled_from(["", "*", "?"])).map("".join)
MIDDLE = st.lists(ELEMENTS, max_size=5).map("".join)
PATTERNS = st.tuples(st.sampled_from(["", "^"]), MIDDLE, st.sampled_from(["", "$"])).map("".join)


@given(pattern=PATTERNS, text=st.text(alphabet="aB1é漢.+ x$²", max_size=8))
@settings(max_examples=500, deadline=None)
def test_a_pattern_matches_what_the_naive_matcher_matches(pattern, text):
    assert Regex(pattern).search(text) == naive_search(pattern, text)


def test_no_pattern_takes_for_ever():
    assert Regex("a*" * 30 + "b").search("a" * 2000) is None
    assert Regex("a?" * 30 + "a" * 30).search("a" * 30) == (0, 30)


@pytest.mark.parametrize("pattern", ["*", "?a", "a**", "a?*", "^?", "a\\"])
def test_bad_patterns(pattern):
    with pytest.raises(ValueError, match="something before|a character after"):
        Regex(pattern)


# ---- built-in templates


def test_built_in_templates_parse():
    assert builtin_names() == ["chunk", "ner", "pos", "seg"]
    for name in builtin_names():
        template = builtin(name)
        assert template.name == name and template.plain_transitions and not template.bigrams
        assert template.columns == {"chunk": 2, "ner": 2, "pos": 1, "seg": 1}[name]


def test_chunk_is_crfpp_s_template():
    """Five words and two word pairs; five tags, four tag pairs and three tag triples."""
    rows = [[macro.row for macro in line.pieces[1::2]] for line in builtin("chunk").unigrams]
    words, pairs = [[-2], [-1], [0], [1], [2]], [[-1, 0], [0, 1]]
    tags = [[-2, -1], [-1, 0], [0, 1], [1, 2], [-2, -1, 0], [-1, 0, 1], [0, 1, 2]]
    assert rows == words + pairs + words + tags
    assert [line.pieces[1].column for line in builtin("chunk").unigrams] == [0] * 7 + [1] * 12


def test_load(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(b"U0:%x[0,0]\n\xff")
    with pytest.raises(TemplateError, match=r"mine.txt:2: byte 0xff is not utf-8"):
        load(str(path))
    path.write_bytes(b"U0:%x[0,0]")
    assert load(str(path)).text == "U0:%x[0,0]" and load("seg") is builtin("seg")
    with pytest.raises(TemplateError, match=r"^nothing: cannot be read: .*, expected a template file or one of chunk, ner, pos, seg$"):
        load("nothing")
    with pytest.raises(TemplateError, match=r"^nothing: no built-in template, expected one of chunk, ner, pos, seg$"):
        builtin("nothing")
