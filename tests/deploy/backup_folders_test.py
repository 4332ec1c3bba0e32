"""deploy/backup.sh and deploy/restore.sh: folders that are mount points, full disks, and what a kill leaves."""

import fcntl
import os
import re
import subprocess
import unittest

from backups import BACKUP, BackupTestCase

# Does the work of a program, and kills the script that has called it so often.
KILLER = """#!/bin/sh
/bin/{name} "$@"
echo >>{counter}
[ $(wc -l <{counter}) -lt {call} ] || kill -9 $PPID
"""


def namespace():
    """A command that runs another one in a mount namespace of its own, or None where that is not permitted."""
    for options in ([], ["--map-root-user"]):
        command = ["unshare", "--mount", *options]
        tried = subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
        if tried.returncode == 0:
            return command
    return None


NAMESPACE = namespace()


@unittest.skipIf(NAMESPACE is None, "nothing can be mounted here")
class MountPointTest(BackupTestCase):
    def mounted(self, script):
        """A wrapper that runs a command after this script, in which $1 is the test's folder."""
        return [*NAMESPACE, "bash", "-euc", f'{script}\nshift; exec "$@"', "-", self.folder]

    def mount_point(self, source):
        """As in the image: the volume is the data folder, and nothing can be written beside it."""
        (self.folder / "volume" / "data").mkdir(parents=True, exist_ok=True)
        return self.mounted(f'mount --bind "$1/volume" "$1/volume"; mount --bind "{source}" "$1/volume/data"\n'
                            'mount -o remount,bind,ro "$1/volume"')

    def test_the_data_folder_may_be_a_mount_point(self):
        server = self.serve()
        job = self.finished(1)
        before = self.result(job)
        archive, told = self.backup(self.folder / "volume" / "data", wrapper=self.mount_point(self.data))
        self.assertIsNotNone(archive, told)
        server.kill()
        # A new volume, with what mkfs makes.
        fresh = self.folder / "fresh" / "data"
        (fresh / "lost+found").mkdir(parents=True)
        code, told = self.restore(archive, "volume", wrapper=self.mount_point(fresh))
        self.assertEqual(code, 0, told)
        self.serve_restored("fresh")
        self.assertEqual(self.result(job), before)

    def small_disk(self, free_kib):
        """The data on a disk with so much room."""
        return self.mounted('mkdir "$1/small"; mount -t tmpfs -o size=64m none "$1/small"; cp -a "$1/data" "$1/small"\n'
                            'free=$(df --output=avail -k "$1/small" | tail -n 1)\n'
                            f'head -c $((free - {free_kib}))k /dev/zero >"$1/small/filler"')

    def test_a_backup_of_a_full_disk(self):
        server = self.serve()
        job = self.finished(1)
        before = self.result(job)
        self.assertEqual(server.stop(), 0)
        size = (self.data / "quotient.db").stat().st_size // 1024
        # Enough for SQLite's lock file, and not for a copy of the database.
        disk = self.small_disk(min(64, size - 8))
        small = self.folder / "small"
        archive, told = self.backup(small / "data", wrapper=disk)
        self.assertIsNone(archive)
        self.assertIn("full", told)
        self.assertIn("the database cannot be copied", told)
        small.rmdir()
        (self.folder / "room").mkdir()
        archive, told = self.backup(small / "data", self.folder / "room", wrapper=disk)
        self.assertIsNotNone(archive, told)
        self.assertEqual(list((self.folder / "room").iterdir()), [])
        code, told = self.restore(archive, "restored")
        self.assertEqual(code, 0, told)
        self.serve_restored("restored")
        self.assertEqual(self.result(job), before)

    def test_a_restore_to_a_full_disk_leaves_nothing(self):
        self.assertEqual(self.serve().stop(), 0)
        archive, told = self.backup()
        self.assertIsNotNone(archive, told)
        (self.folder / "small").mkdir()
        code, told = self.restore(archive, "small", wrapper=self.mounted(
            'mount -t tmpfs -o size=64k none "$1/small"; trap \'ls -A "$1/small/data" >&2\' EXIT; "$2" "$3"; set --'))
        self.assertEqual(code, 1, told)
        self.assertIn("tar: quotient.db: Wrote only", told)
        self.assertIn("there is no room for it", told)
        self.assertEqual(told.splitlines()[-1], "LOCK")


class FoldersTest(BackupTestCase):
    def archive(self):
        """A backup of a server that has ended, and the bytes of its one result."""
        server = self.serve()
        self.job = self.finished(1)
        before = self.result(self.job)
        archive, told = self.backup()
        self.assertIsNotNone(archive, told)
        server.kill()
        return archive, before

    def assert_no_server_starts(self, name):
        with self.assertRaises(RuntimeError) as refused:
            self.serve_restored(name)
        self.assertIn("a backup was not restored to the end", str(refused.exception))

    def test_a_restore_that_is_killed_can_be_run_again(self):
        archive, before = self.archive()
        # While it unpacks, when it has checked all, with some of the entries renamed, with all of them.
        calls = [("tar", 1), ("sync", 2), ("mv", 1), ("mv", 2), ("mv", 3), ("mv", 4), ("sync", 3)]
        for number, (name, call) in enumerate(calls):
            folder = f"killed{number}"
            program = KILLER.format(name=name, counter=self.folder / f"calls{number}", call=call)
            with self.subTest(name=name, call=call):
                code, told = self.restore(archive, folder, env=self.with_programs(**{name: program}))
                self.assertEqual(code, -9, told)
                (self.folder / "programs" / name).unlink()
                self.assert_no_server_starts(folder)
                self.assertIn("was not restored to the end", self.backup(self.folder / folder / "data")[1])
                code, told = self.restore(archive, folder)
                self.assertEqual(code, 0, told)
                self.assertIn("did not come to its end", told)
                server = self.serve_restored(folder)
                self.assertEqual(self.result(self.job), before)
                server.kill()

    def test_an_existing_folder_has_to_be_empty(self):
        archive, before = self.archive()
        data = self.folder / "existing" / "data"
        (data / "lost+found").mkdir(parents=True)
        (data / "notes").write_text("mine")
        code, told = self.restore(archive, "existing")
        self.assertEqual(code, 1)
        self.assertIn("has notes; move it away first", told)
        self.assertEqual({path.name for path in data.iterdir()}, {"lost+found", "notes"})
        # Nor is anything but what a restore makes removed where one was killed.
        (data / "RESTORING").mkdir()
        code, told = self.restore(archive, "existing")
        self.assertEqual(code, 1)
        self.assertIn("has notes", told)
        (data / "notes").unlink()
        (data / "RESTORING").rmdir()
        code, told = self.restore(archive, "existing")
        self.assertEqual(code, 0, told)
        self.serve_restored("existing")
        self.assertEqual(self.result(self.job), before)

    @unittest.skipIf(NAMESPACE is None or os.geteuid() != 0, "needs root, to mount and to make a user")
    def test_a_new_volume_of_the_image_is_empty(self):
        """Docker puts what the image has at the volume's place into a new volume: the home of the server's user."""
        dockerfile = (BACKUP.parents[1] / "Dockerfile").read_text()
        command = re.search(r"useradd .*", dockerfile)[0].replace("/var/lib/quotient", str(self.folder / "home"))
        (self.folder / "etc").mkdir()
        for name in ("passwd", "group", "shadow", "gshadow", "login.defs", "nsswitch.conf", "default", "skel"):
            subprocess.run(["cp", "-a", f"/etc/{name}", self.folder / "etc"], check=True)
        subprocess.run([*NAMESPACE, "bash", "-euc", f'mount --bind "{self.folder}/etc" /etc; {command}'], check=True,
                       capture_output=True)
        self.assertEqual(list((self.folder / "home").iterdir()), [])

    def test_a_folder_with_many_files_is_refused_with_a_word(self):
        archive, _ = self.archive()
        data = self.folder / "crowded" / "data"
        data.mkdir(parents=True)
        for i in range(3000):
            (data / f"a file of somebody's, number {i}").touch()
        code, told = self.restore(archive, "crowded")
        self.assertEqual(code, 1, told)
        self.assertIn("is there already", told)

    def test_a_room_that_is_not_there_is_named(self):
        self.archive()
        archive, told = self.backup(self.data, self.folder / "no" / "room")
        self.assertIsNone(archive)
        self.assertIn(f"there is no folder {self.folder}/no/room", told)

    def test_no_server_and_no_other_restore_meanwhile(self):
        archive, _ = self.archive()
        data = self.folder / "busy" / "data"
        data.mkdir(parents=True)
        with open(data / "LOCK", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            code, told = self.restore(archive, "busy")
        self.assertEqual(code, 1)
        self.assertIn("another process uses", told)
        self.assertEqual([path.name for path in data.iterdir()], ["LOCK"])

    def test_what_a_killed_backup_leaves_is_removed_by_the_next(self):
        self.archive()
        done = subprocess.run([BACKUP, self.data], capture_output=True, check=False,
                              env=self.with_programs(tar="#!/bin/sh\nkill -9 $PPID\n"))
        self.assertEqual(done.returncode, -9)
        (left,) = self.data.glob(".backup.*")
        # One that another backup works in stays.
        busy = self.data / ".backup.inhand"
        busy.mkdir()
        descriptor = os.open(busy, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        foreign = self.data / "backup.of-somebody"
        foreign.mkdir()
        (self.folder / "programs" / "tar").unlink()
        done = subprocess.run([BACKUP, self.data], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(left.exists())
        self.assertTrue(busy.exists())
        self.assertTrue(foreign.exists())
        os.close(descriptor)

    def test_an_archive_that_cannot_be_written_is_none(self):
        self.archive()
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BACKUP, self.data], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left on device", done.stderr)
        self.assertIn(b"the archive cannot be written", done.stderr)


if __name__ == "__main__":
    unittest.main()
