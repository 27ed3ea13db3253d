from pathlib import Path

import pytest

from smith_server.store.network import is_network_type, on_network


@pytest.mark.parametrize("name", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "afpfs", "fuse.rclone"])
def test_file_systems_of_other_machines_are_known_by_type(name: str) -> None:
    assert is_network_type(name)


@pytest.mark.parametrize("name", ["ext4", "btrfs", "apfs", "tmpfs", "overlay", "fuse.gocryptfs", "", "xfs"])
def test_file_systems_of_this_machine_are_not(name: str) -> None:
    assert not is_network_type(name)


def test_a_folder_for_temporary_files_is_local(tmp_path: Path) -> None:
    assert not on_network(tmp_path)
