"""A model file is replaced whole or not at all, and goes where a path leads: through links, into pipes, to standard output."""

import errno
import os
import stat
import subprocess
import sys
import threading

import pytest
from test_model import FACTS, GOLDEN, tiny

from crftrain import whole
from crftrain.errors import ModelError
from crftrain.model.model import check_writable, load, save


@pytest.fixture
def place(tmp_path):
    return tmp_path / "model.bin"


def folder_of(place):
    return sorted(os.listdir(place.parent))


def test_permissions_follow_umask(place):
    before = os.umask(0o027)
    try:
        save(place, *tiny(), {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_save_leaves_the_old_model(place, monkeypatch, error, step):
    place.write_bytes(b"the old one")

    def fail(*_):
        raise error

    monkeypatch.setattr(whole.os, step, fail)
    with pytest.raises(ModelError if isinstance(error, OSError) else KeyboardInterrupt):
        save(place, *tiny(), {})
    monkeypatch.undo()
    assert place.read_bytes() == b"the old one"
    assert folder_of(place) == ["model.bin"]


def test_a_failed_encoding_leaves_the_old_model(place):
    place.write_bytes(b"the old one")
    vocabulary, layout, w = tiny()
    with pytest.raises(ModelError):
        save(place, vocabulary, layout, w * 1e300, {})
    assert place.read_bytes() == b"the old one"
    assert folder_of(place) == ["model.bin"]


def test_a_symbolic_link_stays_one(place, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "old.bin").write_bytes(b"the old one")
    place.symlink_to(tmp_path / "real" / "old.bin")
    check_writable(place)
    save(place, *tiny(), {})
    assert place.is_symlink()
    assert load(tmp_path / "real" / "old.bin").active == 8
    assert os.listdir(tmp_path / "real") == ["old.bin"]


def test_a_link_to_nothing_makes_its_target(place, tmp_path):
    place.symlink_to("new.bin")
    check_writable(place)
    assert not (tmp_path / "new.bin").exists()
    save(place, *tiny(), {})
    assert load(tmp_path / "new.bin").active == 8


def test_the_place_is_tried_and_left_as_it_was(place):
    check_writable(place)
    assert folder_of(place) == []
    place.write_bytes(b"the old one")
    check_writable(place)
    assert place.read_bytes() == b"the old one"
    assert folder_of(place) == ["model.bin"]


def unwritable(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    yield tmp_path, "Is a directory"
    yield f"{tmp_path}/new/", "Is a directory"
    yield tmp_path / "missing" / "model.bin", "No such file or directory"
    yield tmp_path / "file" / "model.bin", "Not a directory"
    yield tmp_path / ("x" * 300), "File name too long"
    yield tmp_path / "loop", "symbolic links"
    yield "", "Is a directory"


def test_a_place_that_cannot_be_written(tmp_path):
    parts = tiny()
    for path, message in unwritable(tmp_path):
        for write in (check_writable, lambda path: save(path, *parts, {})):
            with pytest.raises(ModelError, match=f"cannot be written: .*{message}") as caught:
                write(path)
            assert caught.value.place == str(path)
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_permissions_are_respected(place):
    place.write_bytes(b"the old one")
    place.chmod(0o444)
    with pytest.raises(ModelError, match="Permission denied"):
        check_writable(place)
    place.unlink()
    place.parent.chmod(0o555)
    try:
        with pytest.raises(ModelError, match="Permission denied"):
            check_writable(place)
    finally:
        place.parent.chmod(0o755)


def test_what_is_no_file_is_written_directly():
    check_writable("/dev/null")
    assert save("/dev/null", *tiny(), FACTS) == len(bytes.fromhex(GOLDEN))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_into_a_named_pipe(place):
    os.mkfifo(place)
    with subprocess.Popen(["cat", place], stdout=subprocess.PIPE) as reader:
        try:
            check_writable(place)
            save(place, *tiny(), FACTS)
            assert reader.communicate(timeout=30)[0] == bytes.fromhex(GOLDEN)
        finally:
            reader.kill()
    assert stat.S_ISFIFO(place.stat().st_mode)


def test_from_a_named_pipe(place):
    os.mkfifo(place)
    writer = threading.Thread(target=place.write_bytes, args=(bytes.fromhex(GOLDEN),))
    writer.start()
    assert load(place).active == 8
    writer.join()


def test_through_standard_streams(place):
    program = "from crftrain.model.model import load, save; m = load('-'); save('-', m.vocabulary, m.layout, m.w, m.facts)"
    save(place, *tiny(), FACTS)
    run = subprocess.run([sys.executable, "-c", program], input=place.read_bytes(), capture_output=True, check=True)
    assert run.stdout == place.read_bytes()


def test_an_endless_device_is_no_model():
    with pytest.raises(ModelError, match="not a model"):
        load("/dev/zero")
