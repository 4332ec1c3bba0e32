"""Reasons and their classes; which errors may pass; when to give up."""

import pathlib
import pickle
import re
import unittest

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

import quotient
from quotient._retry import Retry
from quotient.errors import CLASS_OF_REASON, from_rpc, from_status, make_error, may_pass

REASONS = pathlib.Path(__file__).resolve().parents[3] / "core" / "base" / "reason.cc"
ROW = re.compile(r'\{Reason::k\w+, "(\w+)",\s*absl::StatusCode::k(\w+)\}')


class Call:
    """What grpc.RpcError tells."""

    def __init__(self, code, details="", metadata=()):
        self._values = (code, details, metadata)

    def code(self):
        return self._values[0]

    def details(self):
        return self._values[1]

    def trailing_metadata(self):
        return self._values[2]


def with_reason(code, reason, message):
    detail = any_pb2.Any()
    detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="quotient.dev"))
    return status_pb2.Status(code=code.value[0], message=message, details=[detail])


class TableTest(unittest.TestCase):
    def test_has_the_reasons_that_the_server_knows(self):
        rows = dict(ROW.findall(REASONS.read_text()))
        self.assertGreater(len(rows), 30)
        self.assertEqual(set(CLASS_OF_REASON), set(rows))
        unavailable = {reason for reason, code in rows.items() if code == "Unavailable"}
        self.assertEqual({reason for reason, kind in CLASS_OF_REASON.items() if kind is quotient.Unavailable},
                         unavailable)

    def test_reasons_of_newer_servers_go_by_their_code(self):
        error = from_status(with_reason(grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_GPU_SECONDS", "enough"))
        self.assertIs(type(error), quotient.QuotaError)
        self.assertEqual((error.reason, error.message, str(error)),
                         ("QUOTA_GPU_SECONDS", "enough", "QUOTA_GPU_SECONDS: enough"))
        self.assertIs(type(from_status(with_reason(grpc.StatusCode.DATA_LOSS, "NEW", ""))), quotient.ServerError)

    def test_errors_can_be_sent_to_other_processes_and_do_not_control_terminals(self):
        error = pickle.loads(pickle.dumps(make_error("MODEL_CYCLIC", "a\x1b[2J")))
        self.assertIs(type(error), quotient.ModelError)
        self.assertEqual(str(error), "MODEL_CYCLIC: a?[2J")
        self.assertIsInstance(make_error("CANCELLED", ""), quotient.NoResult)


class CallTest(unittest.TestCase):
    def test_details_have_the_reason(self):
        status = with_reason(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", "no job 'x'")
        metadata = (("other", "y"), ("grpc-status-details-bin", status.SerializeToString()))
        error = from_rpc(Call(grpc.StatusCode.NOT_FOUND, "shorter", metadata))
        self.assertIs(type(error), quotient.NotFound)
        self.assertEqual(error.message, "no job 'x'")

    def test_a_failure_is_a_failure_whatever_its_details_say(self):
        metadata = (("grpc-status-details-bin", status_pb2.Status(message="fine").SerializeToString()),)
        self.assertEqual(from_rpc(Call(grpc.StatusCode.INTERNAL, "no", metadata)).reason, "INTERNAL")

    def test_a_server_that_is_silent_or_hangs_up_counts_as_away(self):
        for code in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE):
            self.assertTrue(may_pass(from_rpc(Call(code, "", None))), code)
        self.assertTrue(may_pass(from_rpc(Call(grpc.StatusCode.INTERNAL, "Internal error from Core", None))))
        self.assertFalse(may_pass(from_rpc(Call(grpc.StatusCode.INTERNAL, "a bug", None))))

    def test_a_server_that_is_another_one_does_not(self):
        error = from_rpc(Call(grpc.StatusCode.UNIMPLEMENTED, "unknown service"))
        self.assertIs(type(error), quotient.ServerError)
        self.assertFalse(may_pass(error))


class RetryTest(unittest.TestCase):
    def setUp(self):
        self.now = 0.0

    def pauses(self, retry, error, count):
        pauses = []
        for _ in range(count):
            pauses.append(retry.pause_after(error))
            self.now += pauses[-1]
        return pauses

    def test_pauses_grow_until_patience_is_over_and_progress_begins_anew(self):
        retry = Retry(5, lambda: self.now)
        away = make_error("DRAINING", "")
        self.assertEqual(self.pauses(retry, away, 5), [0.1, 0.2, 0.4, 0.8, 1.6])
        retry.progressed()
        self.assertEqual(self.pauses(retry, away, 1), [0.1])
        self.now += 10
        with self.assertRaises(quotient.Unavailable):
            retry.pause_after(away)

    def test_only_what_may_pass_is_repeated(self):
        retry = Retry(5, lambda: self.now)
        self.assertEqual(self.pauses(retry, make_error("QUOTA_CALLS", ""), 1), [0.1])
        for reason in ("QUOTA_JOBS", "INTERNAL", "POISONED"):
            with self.assertRaises(quotient.Error):
                retry.pause_after(make_error(reason, ""))


if __name__ == "__main__":
    unittest.main()
