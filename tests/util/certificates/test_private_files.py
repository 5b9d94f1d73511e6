"""Files that hold secrets: who can read them, and which links are followed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from clientgo.util.certificates import write_private


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory like ``/tmp``."""
    directory = tmp_path / "shared"
    directory.mkdir()
    directory.chmod(0o1777)
    return directory


def assert_written(path: Path) -> None:
    write_private(path, b"secret")
    assert path.read_bytes() == b"secret"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_is_for_its_owner_wherever_it_is(tmp_path: Path, shared: Path) -> None:
    assert_written(tmp_path / "file")
    assert_written(tmp_path / "new" / "folder" / "file")
    (shared / "file").write_text("longer than before")
    (shared / "file").chmod(0o666)
    assert_written(shared / "file")


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o757, 0o707])
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_in_a_directory_that_others_can_write_is_refused(
    tmp_path: Path, shared: Path, mode: int, exists: bool
) -> None:
    target = tmp_path / "precious"
    if exists:
        target.write_text("precious")
    (shared / "file").symlink_to(target)
    shared.chmod(mode)

    with pytest.raises(PermissionError) as refusal:
        write_private(shared / "file", b"secret")

    assert str(shared / "file") in str(refusal.value)
    assert "a directory that others can write" in str(refusal.value)
    assert target.exists() == exists
    assert not exists or target.read_text() == "precious"
    assert os.listdir(shared) == ["file"]


def test_a_link_that_leads_to_such_a_link_is_refused_too(tmp_path: Path, shared: Path) -> None:
    (shared / "file").symlink_to(tmp_path / "precious")
    (tmp_path / "mine").symlink_to("shared/file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "relative").symlink_to("../folder/../mine")

    for path in (tmp_path / "mine", tmp_path / "folder" / "relative"):
        with pytest.raises(PermissionError):
            write_private(path, b"secret")
    assert not (tmp_path / "precious").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make the link of another user")
@pytest.mark.parametrize("mode", [0o1777, 0o775, 0o777])
def test_a_folder_behind_the_link_of_another_user_is_refused(
    tmp_path: Path, shared: Path, mode: int
) -> None:
    (tmp_path / "folder").mkdir()
    (shared / "link").symlink_to(tmp_path / "folder")
    os.lchown(shared / "link", 12345, 12345)
    shared.chmod(mode)

    with pytest.raises(PermissionError):
        write_private(shared / "link" / "file", b"secret")
    assert not any((tmp_path / "folder").iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_one_that_others_can_write(
    tmp_path: Path, shared: Path
) -> None:
    (shared / "file").symlink_to(tmp_path / "precious")
    shared.chmod(0o755)
    os.chown(shared, 12345, 12345)

    with pytest.raises(PermissionError):
        write_private(shared / "file", b"secret")


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o775])
def test_own_links_in_a_directory_of_your_own_are_followed(tmp_path: Path, mode: int) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    home.mkdir(mode)
    home.chmod(mode)
    (home / "file").symlink_to(target)

    write_private(home / "file", b"secret")

    assert (home / "file").is_symlink()
    assert target.read_bytes() == b"secret"


def test_an_own_link_to_a_folder_is_followed_in_a_shared_directory(
    tmp_path: Path, shared: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (shared / "link").symlink_to(tmp_path / "folder")

    assert_written(shared / "link" / "file")
    assert (tmp_path / "folder" / "file").exists()


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(OSError, match="symbolic links") as failure:
        write_private(tmp_path / "a", b"secret")
    assert failure.value.errno == errno.ELOOP
