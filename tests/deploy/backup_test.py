"""deploy/backup.sh and deploy/restore.sh, with the real server: what a backup has, and that it can be used."""

import hashlib
import io
import json
import os
import tarfile
import threading
import time
import unittest

import onnx

from backups import BackupTestCase, harness, models


class BackupTest(BackupTestCase):
    def refused(self, archive, said):
        code, told = self.restore(archive, "refused")
        self.assertEqual(code, 1, told)
        self.assertIn(said, told)
        self.assertEqual([path.name for path in (self.folder / "refused" / "data").iterdir()], ["LOCK"])

    def await_search(self, job):
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "enodes")

    def await_checkpoint(self):
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while not [path for path in (self.data / "checkpoints").iterdir() if not path.suffix]:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def changed(self, archive, change):
        """The archive with its members changed: `change` gets name and bytes, and returns bytes or None."""
        made = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(archive)) as old, tarfile.open(fileobj=made, mode="w") as new:
            for member in old:
                content = old.extractfile(member).read() if member.isfile() else b""
                kept = change(member.name, content) if member.isfile() else content
                if kept is not None:
                    member.size = len(kept)
                    new.addfile(member, io.BytesIO(kept))
        return made.getvalue()

    def test_backups_of_a_server_at_work_have_all_that_was_acknowledged(self):
        self.serve("--checkpoint-seconds", "1")
        known = {job: self.result(job) for job in (self.finished(1), self.finished(2))}
        running = self.submit("m.onnx", "--budget", "600s")
        self.await_search(running)
        self.await_checkpoint()
        # Another client uploads and submits one model after the other meanwhile.
        enough, submitted = threading.Event(), []

        def submit_more():
            for number, model in enumerate(models.add_models(500)):
                if enough.is_set():
                    return
                name = f"other{number}.onnx"
                onnx.save(model, self.folder / name)
                submitted.append(self.submit(name))

        others = threading.Thread(target=submit_more)
        others.start()
        try:
            archives = []
            for _ in range(3):
                acknowledged = list(submitted)
                archives.append((acknowledged, *self.backup()))
        finally:
            enough.set()
            others.join()
        for number, (acknowledged, archive, told) in enumerate(archives):
            with self.subTest(number):
                self.assertIsNotNone(archive, told)
                self.check_restored(f"restored{number}", archive, known, running, acknowledged)
        self.assertGreater(len(archives[-1][0]), 0)

    def check_restored(self, name, archive, known, running, acknowledged):
        code, told = self.restore(archive, name)
        self.assertEqual(code, 0, told)
        server = self.serve_restored(name)
        listed = self.quotient("jobs", "--json", "--limit", "1000").out.splitlines()
        self.assertLessEqual({*known, running, *acknowledged}, {json.loads(line)["name"] for line in listed})
        for job, before in known.items():
            self.assertEqual(self.result(job), before)
        # What ran goes on from its checkpoint.
        self.await_search(running)
        self.assert_code(self.quotient("stop", running), 0)
        self.assert_code(self.quotient("watch", running), 0)
        self.result(running)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(report["search"]["resumed"]["times"], 1)
        # And the models of what waits are there.
        for job in acknowledged:
            self.assert_code(self.quotient("watch", job), 0)
            self.result(job)
        self.assertNotIn("damaged", server.log.read_text())
        server.kill()

    def test_a_stopped_server_can_be_backed_up_and_an_empty_one_too(self):
        server = self.serve()
        self.assertEqual(server.stop(), 0)
        archive, told = self.backup()
        self.assertIn("0 jobs, 0 files", told)
        server.start()
        job = self.finished(1)
        before = self.result(job)
        self.assertEqual(server.stop(), 0)
        full, told = self.backup()
        self.assertRegex(told, r"1 jobs, [1-9]")
        for name, each in (("empty", archive), ("full", full)):
            code, told = self.restore(each, name)
            self.assertEqual(code, 0, told)
        self.serve_restored("full")
        self.assertEqual(self.result(job), before)
        self.serve_restored("empty")
        self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 2)

    def test_what_is_damaged_is_not_restored(self):
        server = self.serve()
        self.finished(1)
        archive, told = self.backup()
        self.assertIsNotNone(archive, told)
        server.kill()
        self.refused(b"", "no whole tar archive")
        self.refused(archive[:len(archive) // 2], "no whole tar archive")
        self.refused(self.changed(archive, lambda name, _: None), "no backup")
        self.refused(self.changed(archive, lambda name, held: b"quotient-backup 2\n" if name == "BACKUP" else held),
                     "newer version")
        blobs = [member.name for member in tarfile.open(fileobj=io.BytesIO(archive))
                 if member.isfile() and member.name.startswith("blobs/")]
        self.refused(self.changed(archive, lambda name, held: None if name == blobs[0] else held),
                     "blobs are missing")
        self.refused(self.changed(archive, lambda name, held: held[:-1] + b"?" if name == blobs[0] else held),
                     "blobs are damaged")
        self.refused(self.changed(archive, lambda name, held: held[:4096] + bytes(4096) + held[8192:]
                                  if name == "quotient.db" else held), "database is damaged")

    def test_nothing_leads_out_of_the_folder(self):
        server = self.serve()
        self.finished(1)
        archive, _ = self.backup()
        server.kill()
        link = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(archive)) as old, tarfile.open(fileobj=link, mode="w") as new:
            for member in old:
                if member.name != "checkpoints" and not member.name.startswith("checkpoints/"):
                    new.addfile(member, old.extractfile(member) if member.isfile() else None)
            outside = tarfile.TarInfo("checkpoints")
            outside.type, outside.linkname = tarfile.SYMTYPE, str(self.folder)
            new.addfile(outside)
        self.refused(link.getvalue(), "checkpoints is no file")
        blob = next(member.name for member in tarfile.open(fileobj=io.BytesIO(archive))
                    if member.isfile() and member.name.startswith("blobs/"))
        moved = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(archive)) as old, tarfile.open(fileobj=moved, mode="w") as new:
            for member in old:
                content = old.extractfile(member) if member.isfile() else None
                if member.name == blob:
                    member.name = "blobs/" + blob.rsplit("/", 1)[1]
                new.addfile(member, content)
        self.refused(moved.getvalue(), "is not where a blob of this name belongs")

    def test_what_is_damaged_can_be_left_out(self):
        server = self.serve()
        job = self.finished(1)
        archive, _ = self.backup()
        self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 0)
        result = hashlib.sha256((self.folder / "out.onnx").read_bytes()).hexdigest()
        server.kill()
        archive = self.changed(archive, lambda name, held: held[:-1] + b"?" if result in name else held)
        code, told = self.restore(archive, "rest", "--without-damaged")
        self.assertEqual(code, 0, told)
        self.assertRegex(told, f"damaged: blobs/.*{result}")
        self.serve_restored("rest")
        self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 4, "no blob " + result)
        again = self.finished(1)
        self.assertNotEqual(again, job)
        self.assert_code(self.quotient("result", again, "-o", "out.onnx"), 0)

    def test_what_cannot_be_checked_is_not_restored(self):
        server = self.serve()
        self.finished(1)
        archive, _ = self.backup()
        server.kill()
        code, told = self.restore(archive, "unchecked", env=self.with_programs(sha256sum="#!/bin/sh\nexit 1\n"))
        self.assertEqual(code, 1)
        self.assertIn("cannot be checked", told)

    def test_nothing_is_overwritten(self):
        server = self.serve()
        archive, _ = self.backup()
        server.kill()
        before = sorted(self.data.rglob("*"))
        code, told = self.restore(archive, ".")
        self.assertEqual(code, 1)
        self.assertIn("there already", told)
        self.assertEqual(sorted(self.data.rglob("*")), before)

    def test_a_backup_that_is_not_whole_is_none(self):
        server = self.serve()
        self.finished(1)
        # A program that takes no blob, and says that all is well.
        archive, told = self.backup(env=self.with_programs(ln="#!/bin/sh\n"))
        self.assertIsNone(archive)
        self.assertIn("could not be taken", told)
        # What came after the first look at the blobs is taken by name.
        archive, told = self.backup(env=self.with_programs(ln='#!/bin/sh\n[ "$1" = -t ] || exec /bin/ln "$@"\n'))
        self.assertIsNotNone(archive, told)
        code, told = self.restore(archive, "late")
        self.assertEqual(code, 0, told)
        # What does not work is shown.
        archive, told = self.backup(env=self.with_programs(ln="#!/bin/sh\necho ln: Too many links >&2; exit 1\n"))
        self.assertIsNone(archive)
        self.assertIn("files cannot be taken: ln: Too many links", told)
        (self.data / "rules.db").touch()
        archive, told = self.backup(env=self.with_programs(ln='#!/bin/sh\nexec /bin/ln "$@"\n',
                                                           cp="#!/bin/sh\necho cp: no luck >&2; exit 1\n"))
        self.assertIsNone(archive)
        self.assertIn("cp: no luck", told)
        # A blob that the server lacks, too, is nothing that a backup could have.
        blob = next(path for path in (self.data / "blobs").rglob("*") if len(path.name) == 64)
        blob.unlink()
        archive, told = self.backup()
        self.assertIsNotNone(archive)
        self.assertIn("1 files of jobs were missing already", told)
        server.kill()

    def test_what_is_no_data_folder_is_refused(self):
        archive, told = self.backup(self.folder)
        self.assertIsNone(archive)
        self.assertIn("no data folder", told)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_another_user_does_not_touch_the_database(self):
        self.serve().stop()
        os.chown(self.data / "quotient.db", 12345, 12345)
        archive, told = self.backup()
        self.assertIsNone(archive)
        self.assertIn("another user", told)


if __name__ == "__main__":
    unittest.main()
