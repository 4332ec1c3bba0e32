"""Uploads and downloads, with a server that loses them, lies, or is short of room. In both ways."""

import hashlib
import unittest

import grpc

import quotient
from fake_server import Blockingly, InALoop, abort, serving
from quotient import _blobs
from quotient.v1 import blob_pb2, blob_pb2_grpc, common_pb2

DATA = bytes(range(256)) * (3 << 12)  # 3 MiB
ABORTED = (grpc.StatusCode.UNAVAILABLE, "DRAINING")


class Store(blob_pb2_grpc.BlobServiceServicer):
    """Keeps what it is sent. `cuts` has, for each stream of an upload, after how many chunks it ends how."""

    def __init__(self, blobs=(), cuts=()):
        self.blobs = {hashlib.sha256(data).hexdigest(): data for data in blobs}
        self.cuts = list(cuts)
        self.partial = {}
        self.started = 0
        self.received = 0  # Bytes, in all.
        self.offset = None  # A lie.

    def FindMissing(self, request, context):
        missing = [blob for blob in request.blobs if blob.sha256 not in self.blobs]
        return blob_pb2.FindMissingResponse(missing=missing)

    def StartUpload(self, request, context):
        self.started += 1
        name = f"upload-{self.started}"
        self.partial[name] = b""
        return blob_pb2.StartUploadResponse(upload_id=name, committed_offset=self.offset or 0)

    def QueryUpload(self, request, context):
        if request.upload_id not in self.partial:
            abort(context, grpc.StatusCode.NOT_FOUND, "NOT_FOUND", "no such upload; start it again")
        return blob_pb2.QueryUploadResponse(committed_offset=len(self.partial[request.upload_id]))

    def Upload(self, requests, context):
        name, chunks = next(requests).header.upload_id, 0
        most, *how = self.cuts.pop(0) if self.cuts else (None,)
        for request in requests:
            if request.finish:
                data = self.partial.pop(name)
                self.blobs[hashlib.sha256(data).hexdigest()] = data
                return blob_pb2.UploadResponse(committed_offset=len(data), done=True)
            if chunks == most:
                break
            chunks += 1
            self.received += len(request.data)
            self.partial[name] += request.data
        if how == ["lost"]:
            self.partial.clear()
            how = ABORTED
        elif not how:
            return blob_pb2.UploadResponse(committed_offset=len(self.partial[name]))
        abort(context, *how)


class Downloads(blob_pb2_grpc.BlobServiceServicer):
    """Sends pieces of what `answers` has, one for each call: bytes from the offset on, then an error or none."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.offsets = []

    def Download(self, request, context):
        self.offsets.append(request.offset)
        data, how = self.answers.pop(0)
        for begin in range(0, len(data), 1 << 20):
            yield blob_pb2.DownloadResponse(data=data[begin:begin + (1 << 20)])
        if how is not None:
            abort(context, *how)


def digest(data):
    return common_pb2.Digest(sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data))


class UploadCases:
    def upload(self, store, patience=5, *blobs):
        pairs = [(_blobs.digest_of(memoryview(data)), memoryview(data)) for data in blobs or (DATA,)]
        with serving(blobs=store) as address:
            self.through(address, lambda session: _blobs.upload(session, pairs), patience)

    def test_only_what_is_missing_is_sent(self):
        store = Store([DATA])
        self.upload(store, 5, DATA, b"", b"hello", b"hello")
        self.assertEqual(set(store.blobs.values()), {DATA, b"", b"hello"})
        self.assertEqual((store.started, store.received), (2, 5))

    def test_goes_on_where_it_was_cut_off(self):
        for how in ((grpc.StatusCode.UNAVAILABLE, "DRAINING"), (grpc.StatusCode.CANCELLED,), ()):
            with self.subTest(how):
                store = Store(cuts=[(1, *how), (1, *how)])
                self.upload(store)
                self.assertEqual(list(store.blobs.values()), [DATA])
                self.assertEqual((store.started, store.received), (1, len(DATA)))

    def test_begins_anew_where_it_was_lost(self):
        store = Store(cuts=[(2, "lost")])
        self.upload(store)
        self.assertEqual(list(store.blobs.values()), [DATA])
        self.assertEqual((store.started, store.received), (2, 2 * _blobs.CHUNK_BYTES + len(DATA)))

    def test_waits_for_its_turn(self):
        store = Store(cuts=[(0, grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_CALLS")] * 2)
        self.upload(store)
        self.assertEqual(list(store.blobs.values()), [DATA])

    def test_progress_restarts_patience(self):
        # Six pauses of 0.1 s, each after a chunk. Without progress they would grow to 5 s, more than the patience.
        self.upload(Store(cuts=[(1, *ABORTED)] * 6), 4)

    def test_gives_up_when_patience_is_over(self):
        with self.assertRaises(quotient.Unavailable) as caught:
            self.upload(Store(cuts=[(0, *ABORTED)] * 50), 0.5)
        self.assertRegex(str(caught.exception), r"^DRAINING: server 127\.0\.0\.1:\d+: ")

    def test_an_offset_outside_of_the_bytes_is_an_error(self):
        for offset in (-1, len(DATA) + 1, 2**63 - 1):
            store = Store()
            store.offset = offset
            with self.assertRaises(quotient.ServerError) as caught:
                self.upload(store)
            self.assertEqual(caught.exception.reason, "INTERNAL")


class DownloadCases:
    def download(self, downloads, wanted):
        self.taken = bytearray()
        with serving(blobs=downloads) as address:
            self.through(address, lambda session: _blobs.download(session, digest(wanted), self.taken.extend))
        return bytes(self.taken)

    def test_goes_on_where_it_was_cut_off(self):
        half = len(DATA) // 2
        downloads = Downloads((DATA[:half], ABORTED), (b"", ABORTED), (DATA[half:], None))
        self.assertEqual(self.download(downloads, DATA), DATA)
        self.assertEqual(downloads.offsets, [0, half, half])

    def test_what_arrives_damaged_or_does_not_end_is_an_error(self):
        for sent in (b"jello", b"hell", DATA):
            with self.assertRaises(quotient.ServerError) as caught:
                self.download(Downloads((sent, None)), b"hello")
            self.assertEqual(caught.exception.reason, "BLOB_CORRUPT")
            self.assertLessEqual(len(self.taken), 5)


class BlockingUploadTest(UploadCases, Blockingly, unittest.TestCase):
    pass


class AsyncioUploadTest(UploadCases, InALoop, unittest.TestCase):
    pass


class BlockingDownloadTest(DownloadCases, Blockingly, unittest.TestCase):
    pass


class AsyncioDownloadTest(DownloadCases, InALoop, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
