"""The Python client and a real server: models in all their forms, results, jobs, and what goes wrong."""

import asyncio
import http.server
import threading
import unittest
from concurrent import futures

from client_harness import LONG, QUICK, TestCase, models

import grpc
import numpy as np
import onnx
import quotient


class Export:
    """What torch.onnx.export returns, as far as it is used; torch need not be there."""

    def __init__(self, proto):
        self.proto = proto

    def save(self, destination):
        onnx.save(self.proto, destination)


class SilentHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


class ResultTest(TestCase):
    def test_models_in_all_forms_blocking_and_in_a_loop(self):
        address = self.serve().address
        proto = onnx.load(self.model)
        forms = [self.model, str(self.model), proto.SerializeToString(), proto, Export(proto)]

        async def in_a_loop():
            async with quotient.aio.Client(address) as client:
                jobs = [await client.submit(form, name="a.onnx", seed=1, **QUICK) for form in forms]
                return [await job for job in jobs], await client.optimize(proto, seed=2, **QUICK)

        with quotient.Client(address) as client:
            blocking = [client.optimize(form, name="a.onnx", **QUICK) for form in forms]
        awaited, optimized = asyncio.run(in_a_loop())
        for results in (blocking, awaited):
            self.assertEqual(len({result.job for result in results}), 1)  # Equal jobs are one.
        for result in (blocking[0], awaited[0], optimized):
            self.assertTrue(result.improved)
            self.assertLess(result.report.nodes[1], result.report.nodes[0])
            self.assert_same(self.model, result.save(self.folder / "out.onnx"))
            onnx.checker.check_model(result.load())

    def test_the_report_is_that_of_the_command_line(self):
        client = self.client()
        onnx.save(models.conv_bn_relu(1), self.folder / "conv.onnx")
        for model, options in ((self.model, QUICK),
                               (self.folder / "conv.onnx", {"device": "cpu", "budget": 2, "threads": 1})):
            job = client.submit(model, **options)
            result = job.result()
            table = self.quotient("result", job.name, "-o", "cli.onnx", "--html", "r.html", "--report", "r.json")
            self.assert_code(table, 0)
            self.assertEqual(result.model, (self.folder / "cli.onnx").read_bytes())
            self.assertEqual(result.report.html, (self.folder / "r.html").read_text())
            self.assertEqual(job.report().json, (self.folder / "r.json").read_text())
            # The command line prints more; what this prints is there, in the same order.
            lines = iter(line.rstrip() for line in table.out.splitlines())
            for line in str(result.report).splitlines():
                self.assertTrue(any(each == line or (line.endswith("confidence") and each.startswith(line))
                                    for each in lines), f"{line!r} is not there, or elsewhere:\n{table.out}")

    def test_no_improvement_is_the_original_byte_for_byte(self):
        onnx.save(models.conv_bn_relu(), self.model)
        result = self.client().optimize(self.model, **QUICK)
        self.assertFalse(result.improved)
        self.assertEqual(result.model, self.model.read_bytes())
        self.assertEqual(str(result).splitlines()[0], "m.onnx: no improvement on model:h200")

    def test_external_data_goes_there_and_comes_back(self):
        client = self.client()
        inner = self.folder / "weights"
        inner.mkdir()
        for proto, improves in ((models.chain(), True), (models.conv_bn_relu(), False)):
            self.model.unlink()
            models.with_external_data(proto, self.model, "weights/w.bin")
            result = client.optimize(self.model, **QUICK)
            self.assertEqual(result.improved, improves)
            self.assertEqual(result.external_data, ["m.optimized.onnx.data" if improves else "weights/w.bin"])
            self.assert_same(self.model, result.save(self.folder / "out" / "m.onnx"))
            self.assert_same(self.model, result.path)
            (inner / "w.bin").unlink()

    def test_results_with_weights_of_their_own_can_be_moved(self):
        # Weights of more than a mebibyte that are kept as they are stay in a file.
        random = np.random.default_rng(0)
        weights = random.standard_normal((600, 600)).astype(np.float32)
        proto = models.model(
            [models.helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
             models.helper.make_node("Transpose", ["t"], ["u"], perm=[1, 0]),
             models.helper.make_node("MatMul", ["u", "w"], ["y"])],
            [models.value("x", [4, 600])], [models.value("y", [4, 600])], [models.tensor("w", weights)])
        models.with_external_data(proto, self.model, "w.bin")
        result = self.client().optimize(self.model, **QUICK)
        self.assertTrue(result.improved)
        self.assertEqual(result.external_data, ["m.optimized.onnx.data"])
        self.assert_same(self.model, result.save(self.folder / "out" / "m.optimized.onnx"))
        self.assertGreater(result.load().ByteSize(), weights.nbytes)

    def test_only_cached_starts_no_work(self):
        client = self.client()
        with self.assertRaises(quotient.NoResult) as caught:
            client.optimize(self.model, only_cached=True, **QUICK)
        self.assertEqual((caught.exception.reason, client.jobs()), ("RESULT_NOT_FOUND", []))
        result = client.optimize(self.model, **QUICK)
        self.assertEqual(client.optimize(self.model, only_cached=True, **QUICK).job, result.job)
        self.assertNotEqual(client.optimize(self.model, skip_cache_lookup=True, **QUICK).job, result.job)
        with self.assertRaisesRegex(TypeError, "exclude each other"):
            client.optimize(self.model, only_cached=True, skip_cache_lookup=True)


class JobTest(TestCase):
    def await_search(self, job):
        for progress in job.progress():
            if progress.enodes > 0:
                return

    def test_a_job_is_found_again_and_told_from_its_beginning(self):
        client = self.client()
        name = client.submit(self.model, priority=3, **QUICK).name
        job = client.job(name)
        told = [str(progress) for progress in job.progress()]
        self.assertEqual((told[0], told[-1], job.state), ("QUEUED (submitted)", "SUCCEEDED (finished)", "SUCCEEDED"))
        self.assertTrue(any(line.startswith("search") for line in told) or len(told) >= 3, told)
        self.assertEqual([(each.name, each.model_name) for each in client.jobs()], [(name, "m.onnx")])
        job.delete()
        with self.assertRaises(quotient.NotFound) as caught:
            client.job(name)
        self.assertIn(name.split("/")[1], caught.exception.message)
        with self.assertRaises(quotient.NotFound):
            job.delete()

    def test_a_stopped_job_has_a_result_and_a_cancelled_one_has_none(self):
        client = self.client()
        job = client.submit(self.model, **LONG)
        self.await_search(job)
        job.stop()
        self.assertTrue(any("told to finish" in note for note in job.report().notes))
        other = client.submit(self.model, **LONG)
        self.await_search(other)
        with self.assertRaises(quotient.NoResult) as caught:
            client.submit(self.model, queue_deadline=0.1, **QUICK).result()
        self.assertEqual(caught.exception.reason, "QUEUE_DEADLINE")
        other.cancel()
        with self.assertRaises(quotient.Cancelled) as caught:
            other.result()
        self.assertEqual(str(caught.exception), f"CANCELLED: {other.name} was cancelled")
        self.assertEqual(other.wait().state, "CANCELLED")

    def test_a_request_is_withdrawn_and_others_keep_the_job(self):
        client = self.client()
        ours, theirs = client.submit(self.model, **LONG), client.submit(self.model, **LONG)
        self.assertEqual(ours.name, theirs.name)
        ours.cancel()
        self.assertIn(client.job(ours.name).state, ("QUEUED", "RUNNING"))
        theirs.cancel()
        self.assertEqual(theirs.wait().state, "CANCELLED")

    def test_many_jobs_are_awaited_at_once_and_tasks_that_are_cancelled_withdraw_theirs(self):
        address = self.serve("--workers", "2").address

        async def work():
            async with quotient.aio.Client(address) as client:
                jobs = [await client.submit(self.model, seed=seed, **QUICK) for seed in range(12)]
                results = await asyncio.gather(*jobs)
                self.assertEqual([result.job for result in results], [job.name for job in jobs])
                task = asyncio.create_task(client.optimize(self.model, **LONG))
                while not (running := [job for job in await client.jobs() if job.state == "RUNNING"]):
                    await asyncio.sleep(0.02)
                async for progress in running[0].progress():
                    if progress.enodes > 0:
                        break
                task.cancel()
                with self.assertRaises(asyncio.CancelledError) as caught:
                    await task
                self.assertEqual((await running[0].wait()).state, "CANCELLED")
                self.assertEqual(caught.exception.__notes__, [f"{running[0].name} cancelled"])

        asyncio.run(work())


class WrongTest(TestCase):
    """Each has its class, its reason, and a message that names what is wrong."""

    def fails(self, kind, reason, words, work):
        with self.assertRaises(kind) as caught:
            work()
        self.assertIs(type(caught.exception), kind)
        self.assertEqual(caught.exception.reason, reason)
        self.assertRegex(caught.exception.message, words)

    def test_the_server(self):
        def optimize(address):
            return lambda: quotient.optimize(self.model, address=address, patience=0.5)

        # Port 9 is "discard", which nobody serves.
        self.fails(quotient.Unavailable, "UNAVAILABLE", "^server 127.0.0.1:9: ", optimize("127.0.0.1:9"))
        web = http.server.HTTPServer(("127.0.0.1", 0), SilentHandler)
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        address = f"127.0.0.1:{web.server_port}"
        self.fails(quotient.Unavailable, "UNAVAILABLE", f"^server {address}: ", optimize(address))
        web.shutdown()
        thread.join()
        web.server_close()
        other = grpc.server(futures.ThreadPoolExecutor(1))
        port = other.add_insecure_port("127.0.0.1:0")
        other.start()
        self.fails(quotient.ServerError, "UNIMPLEMENTED", ".", optimize(f"127.0.0.1:{port}"))
        other.stop(None).wait()

    def test_the_model_and_the_options(self):
        client = self.client()
        self.fails(quotient.ModelError, "MODEL_MALFORMED", "^model: ", lambda: client.optimize(b"no model", **QUICK))
        cycle = onnx.load(self.model)
        cycle.graph.node[0].input[0] = cycle.graph.node[1].output[0]
        self.fails(quotient.ModelError, "MODEL_CYCLIC", "product", lambda: client.optimize(cycle, **QUICK))
        self.fails(quotient.OptionError, "OPTION_INVALID", "device: 'moon' is not one of",
                   lambda: client.submit(self.model, device="moon"))
        self.fails(quotient.OptionError, "OPTION_INVALID", "^budget", lambda: client.submit(self.model, budget=-1))
        self.fails(quotient.DeviceError, "DEVICE_NOT_PRESENT", ".", lambda: client.submit(self.model, device="cuda:7"))
        self.fails(quotient.NotFound, "JOB_NOT_FOUND", "none", lambda: client.job("jobs/none"))
        with self.assertRaisesRegex(TypeError, "no option 'budgt'; did you mean budget"):
            client.optimize(self.model, budgt=30)

    def test_too_many_jobs(self):
        client = self.client("--max-queued-jobs-per-client", "1")
        jobs = [client.submit(self.model, seed=0, **LONG)]
        next(progress for progress in jobs[0].progress() if progress.enodes > 0)
        jobs.append(client.submit(self.model, seed=1, **LONG))
        self.fails(quotient.QuotaError, "QUOTA_JOBS", ".", lambda: client.submit(self.model, seed=2, **LONG))
        for job in jobs:
            job.cancel()


if __name__ == "__main__":
    unittest.main()
