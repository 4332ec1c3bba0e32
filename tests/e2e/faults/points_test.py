"""The server is killed at each of its fault points, and nothing is lost.

A fault point is a name in the code (core/os/fault_point.h). For each there is a story that leads to it. The process
that reaches the point is killed there.
"""

import pathlib
import re
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from stories import Stories

ROOT = pathlib.Path(__file__).resolve().parents[3]

# By the story that leads to them.
POINTS = {
    "a_model_is_optimized": [
        "upload.half_created", "upload.created", "upload.written", "upload.synced", "upload.committed", "upload.hashed",
        "sent.counted", "upload.adopted", "upload.half_removed", "submit.admitted", "submit.committed", "ledger.half_written",
        "ledger.written", "ledger.committed", "ledger.told", "claim.leased", "claim.committed", "process.started",
        "job.sandboxed", "job.begun", "job.blob_written", "blob.checked", "blob.synced", "blob.renamed", "job.answered", "job.told",
        "worker.ran", "finish.taken", "lease.ended", "checkpoint.unneeded"],
    "a_search_leaves_checkpoints": [
        "job.checkpointed", "checkpoint.written", "checkpoint.sealed", "checkpoint.committed"],
    "a_job_is_cancelled": ["cancel.found", "cancel.committed"],
    "a_job_is_stopped": ["stop.found", "stop.committed"],
    "a_job_is_deleted": ["delete.found", "delete.committed"],
    "a_job_loses_its_process": ["lose.found"],
    "a_server_starts": [
        "start.locked", "recover.moved", "recover.committed", "start.recovered", "start.cleaned", "start.listening"],
    "a_server_ends": ["end.told", "end.closed", "hand_back.found", "end.handed_back"],
    "a_result_is_damaged": ["blob.set_aside", "result.lost"],
    "nobody_needs_it_any_more": ["retention.removed", "retention.committed", "blob.taken_away", "blob.forgotten"],
}


def points_in_the_code():
    names = set()
    for folder in ("core", "server"):
        for source in (ROOT / folder).rglob("*.cc"):
            names.update(re.findall(r'FaultPoint\("([^"]*)"\)', source.read_text()))
    return names


class PointsTest(Stories):
    def disturb(self, server):
        server.env["QUOTIENT_FAULT"] = f"{self.point}:kill:{self.marker}"

    def kill_at(self, point, story):
        """Whoever reaches the point first is killed there."""
        self.point = point
        self.marker = self.folder / "reached"
        self.tell(story)
        self.assertEqual(self.marker.read_text() if self.marker.exists() else "", point + "\n",
                         "the point was not reached")

    def test_each_point_has_a_story(self):
        told = [point for points in POINTS.values() for point in points]
        self.assertEqual(sorted(told), sorted(points_in_the_code()))
        self.assertGreaterEqual(len(told), 40)


def add_tests():
    for story, points in POINTS.items():
        for point in points:
            def test(self, story=story, point=point):
                self.kill_at(point, story)
            setattr(PointsTest, f"test_killed_at_{point.replace('.', '_')}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
