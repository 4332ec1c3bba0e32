"""Watching and deleting jobs of a server that hangs up and loses answers. In both ways."""

import unittest

import grpc

import quotient
from fake_server import Blockingly, InALoop, abort, serving
from quotient import _work
from quotient.v1 import optimizer_pb2, optimizer_pb2_grpc

RUNNING, SUCCEEDED = optimizer_pb2.JOB_STATE_RUNNING, optimizer_pb2.JOB_STATE_SUCCEEDED


def snapshot(state):
    return optimizer_pb2.WatchJobResponse(snapshot=optimizer_pb2.Job(name="jobs/a", state=state))


def transition(sequence, state):
    return optimizer_pb2.WatchJobResponse(
        transition=optimizer_pb2.Transition(sequence=sequence, to=state, reason=f"reason {sequence}"))


def heartbeat():
    return optimizer_pb2.WatchJobResponse(heartbeat=optimizer_pb2.Heartbeat())


class Jobs(optimizer_pb2_grpc.OptimizerServiceServicer):
    """Each stream is one of `streams`: events, and at its end how it is cut off, if it is."""

    def __init__(self, *streams):
        self.streams = list(streams)
        self.sequences = []
        self.deletions = []

    def WatchJob(self, request, context):
        self.sequences.append(request.from_sequence if request.HasField("from_sequence") else None)
        for event in self.streams.pop(0):
            if isinstance(event, tuple):
                abort(context, *event)
            yield event

    def GetJob(self, request, context):
        if request.name != "jobs/there":
            abort(context, grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", "no such job")
        return optimizer_pb2.Job(name=request.name)

    def DeleteJob(self, request, context):
        self.deletions.append(request.allow_missing)
        if len(self.deletions) == 1:
            abort(context, grpc.StatusCode.UNAVAILABLE, None, "the connection is gone")
        return optimizer_pb2.DeleteJobResponse()


class JobCases:
    def watch(self, jobs, patience=5):
        record = _work.JobRecord(optimizer_pb2.Job(name="jobs/a"))

        async def told(session):
            return [str(progress) async for progress in _work.watch(session, record)]

        with serving(jobs=jobs) as address:
            return self.through(address, told, patience), record

    def test_each_change_is_told_once_however_often_the_stream_is_lost(self):
        jobs = Jobs([snapshot(RUNNING), transition(1, RUNNING), heartbeat(), (grpc.StatusCode.CANCELLED,)],
                    [snapshot(RUNNING), transition(1, RUNNING), (grpc.StatusCode.UNAVAILABLE, "DRAINING")],
                    [(grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_CALLS")],
                    [snapshot(RUNNING)],
                    [snapshot(RUNNING), transition(2, SUCCEEDED), snapshot(SUCCEEDED)])
        told, record = self.watch(jobs)
        self.assertEqual(told, ["RUNNING (reason 1)", "SUCCEEDED (reason 2)"])
        self.assertEqual(jobs.sequences, [0, 1, 1, 1, 1])
        self.assertEqual(record.job.state, SUCCEEDED)

    def test_other_errors_end_the_watch_at_once(self):
        with self.assertRaises(quotient.NotFound):
            self.watch(Jobs([(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", "no job 'a'")]))

    def test_a_server_that_stays_away_is_named(self):
        with self.assertRaises(quotient.Unavailable) as caught:
            self.watch(Jobs(*[[(grpc.StatusCode.CANCELLED,)]] * 20), patience=0.3)
        self.assertRegex(caught.exception.message, r"^server 127\.0\.0\.1:\d+: the server dropped the call$")

    def test_a_job_that_is_gone_after_a_lost_answer_was_deleted(self):
        jobs = Jobs()
        with serving(jobs=jobs) as address:
            for name, outcome in (("jobs/there", None), ("jobs/nowhere", quotient.NotFound)):
                record = _work.JobRecord(optimizer_pb2.Job(name=name))
                try:
                    self.through(address, lambda session: _work.delete(session, record))
                    self.assertIsNone(outcome)
                except quotient.NotFound as error:
                    self.assertIs(type(error), outcome)
        self.assertEqual(jobs.deletions, [True, True])


class BlockingJobTest(JobCases, Blockingly, unittest.TestCase):
    pass


class AsyncioJobTest(JobCases, InALoop, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
