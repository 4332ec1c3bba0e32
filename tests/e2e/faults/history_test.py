"""The checker of histories finds what it is for."""

import dataclasses
import unittest

import history

DIGEST = "ab" * 32


def steps(job, *rows):
    return [history.Transition(job, i + 1, 1000 * i, *row) for i, row in enumerate(rows)]


def sound():
    """One job that was interrupted and has a result, and one that waits."""
    ended = steps("a", ("QUEUED", "QUEUED", "submitted"), ("QUEUED", "RUNNING", "claimed"),
                  ("RUNNING", "QUEUED", "interrupted"), ("QUEUED", "RUNNING", "claimed"),
                  ("RUNNING", "SUCCEEDED", "finished"))
    waiting = steps("b", ("QUEUED", "QUEUED", "submitted"))
    return history.History(states={"a": "SUCCEEDED", "b": "QUEUED"}, epochs={"a": 2, "b": 0},
                           transitions=ended + waiting, submissions={"r1": "a", "r2": "b"}, leases={},
                           blobs={(DIGEST, "a")}, counted={("c", DIGEST): (7, 1)}, totals={"c": 7 + 1444 + 1074},
                           clients={"a": "c", "b": "c"}, sizes={DIGEST: 7}, present={DIGEST: True},
                           rows={"a": (1444, 100), "b": (1074, 50)})


class HistoryTest(unittest.TestCase):
    def assert_found(self, broken, words, told=history.Told()):
        found = history.anomalies(broken, told)
        self.assertTrue(any(words in text for text in found), found)

    def with_steps(self, job, *rows, **changes):
        kept = [step for step in sound().transitions if step.job != job]
        return dataclasses.replace(sound(), transitions=kept + steps(job, *rows), **changes)

    def test_a_sound_history_has_no_anomalies(self):
        told = history.Told(accepted={"a", "b"}, results={"a": [DIGEST, DIGEST]})
        self.assertEqual(history.anomalies(sound(), told), [])
        self.assertEqual(history.unfinished(sound()), ["b"])
        self.assertEqual(history.recoveries(sound()), [1.0])

    def test_a_gap_in_the_log(self):
        broken = sound()
        del broken.transitions[2]
        self.assert_found(broken, "a: the log has the numbers [1, 2, 4, 5]")

    def test_a_step_that_is_not_allowed(self):
        self.assert_found(
            self.with_steps("a", ("QUEUED", "QUEUED", "submitted"), ("QUEUED", "SUCCEEDED", "finished")),
            "a: 2: from QUEUED to SUCCEEDED")

    def test_a_second_end(self):
        broken = sound()
        broken.transitions.insert(5, history.Transition("a", 6, 9000, "SUCCEEDED", "FAILED", "POISONED"))
        self.assert_found(broken, "from SUCCEEDED to FAILED")

    def test_a_log_that_contradicts_itself(self):
        self.assert_found(
            self.with_steps("b", ("QUEUED", "QUEUED", "submitted"), ("RUNNING", "QUEUED", "drained")),
            "b: 2: from RUNNING, but it was QUEUED")

    def test_a_log_that_contradicts_the_job(self):
        self.assert_found(dataclasses.replace(sound(), states={"a": "FAILED", "b": "QUEUED"}),
                          "a: is FAILED, but the log ends otherwise")

    def test_a_lease_that_is_not_in_the_log(self):
        self.assert_found(dataclasses.replace(sound(), epochs={"a": 3, "b": 0}), "2 leases in the log, 3 in the job")

    def test_a_lease_of_a_job_that_does_not_run(self):
        self.assert_found(dataclasses.replace(sound(), leases={"b": 1}), "b: is QUEUED and its lease is 1")

    def test_a_running_job_without_a_lease(self):
        running = (("QUEUED", "QUEUED", "submitted"), ("QUEUED", "RUNNING", "claimed"))
        states = {"a": "SUCCEEDED", "b": "RUNNING"}
        self.assert_found(self.with_steps("b", *running, states=states, epochs={"a": 2, "b": 1}),
                          "b: is RUNNING and its lease is None")
        self.assert_found(self.with_steps("b", *running, states=states, epochs={"a": 2, "b": 1}, leases={"b": 7}),
                          "b: its lease has the epoch 7 of 1")

    def test_a_job_that_was_tried_too_often(self):
        died = (("QUEUED", "RUNNING", "claimed"), ("RUNNING", "QUEUED", "process_died"))
        self.assert_found(
            self.with_steps("b", ("QUEUED", "QUEUED", "submitted"), *(3 * died), epochs={"a": 2, "b": 3}),
            "b: 3 attempts were charged")

    def test_a_job_that_was_accepted_and_is_lost(self):
        self.assert_found(sound(), "c: was accepted and is lost", history.Told(accepted={"c"}))
        self.assertEqual(history.anomalies(sound(), history.Told(accepted={"c"}, deleted={"c"})), [])

    def test_two_results_of_one_job(self):
        self.assert_found(sound(), "a: clients got 2 different results", history.Told(results={"a": ["x", "y"]}))

    def test_a_result_of_a_job_that_has_none(self):
        self.assert_found(sound(), "b: a client has its result, but it is QUEUED", history.Told(results={"b": ["x"]}))

    def test_watchers_that_saw_something_else(self):
        seen = sound().transitions[:3]
        self.assertEqual(history.anomalies(sound(), history.Told(watched=[seen])), [])
        self.assert_found(sound(), "a: a watcher saw the numbers [1, 3]", history.Told(watched=[seen[::2]]))
        other = [dataclasses.replace(seen[0], reason="drained")]
        self.assert_found(sound(), "which is not in the log", history.Told(watched=[other]))

    def test_a_blob_that_is_lost_or_damaged(self):
        self.assert_found(dataclasses.replace(sound(), present={}), f"a: the blob {DIGEST}")
        broken = dataclasses.replace(sound(), present={DIGEST: False})
        self.assert_found(broken, f"a: the blob {DIGEST}")
        self.assertEqual(history.anomalies(broken, damaged={"a"}), [])

    def test_sums_that_are_wrong(self):
        for broken, words in (({"counted": {}}, "are counted as {}"),
                              ({"counted": {("c", DIGEST): (7, 2)}}, "are counted as"),
                              ({"clients": {"a": "d", "b": "c"}}, "are counted as"),
                              ({"sizes": {DIGEST: 8}}, f"the blob {DIGEST} counts with 7 bytes"),
                              ({"totals": {}}, "the sums of clients are {}"),
                              ({"totals": {"c": 2525, "d": 1}}, "the sums of clients are"),
                              ({"rows": {"a": (1445, 100), "b": (1073, 50)}}, "the rows of a count with 1445 bytes")):
            self.assert_found(dataclasses.replace(sound(), **broken), words)

    def test_files_that_no_job_has(self):
        loose = "cd" * 32

        def with_loose(**clients):
            rows = {(client, loose): (9, 0) for client in clients}
            return dataclasses.replace(
                sound(), counted=sound().counted | rows, present={DIGEST: True, loose: True},
                sizes={DIGEST: 7, loose: 9}, totals=sound().totals | {client: 9 for client in clients})

        self.assertEqual(history.anomalies(with_loose(d=1)), [])
        self.assert_found(with_loose(), f"the blob {loose} counts for nobody")
        self.assert_found(with_loose(d=1, e=1), f"the blob {loose} counts for 2 clients")
        self.assert_found(dataclasses.replace(sound(), counted=sound().counted | {("d", DIGEST): (7, 0)},
                                              totals=sound().totals | {"d": 7}),
                          f"the blob {DIGEST} counts for 1 clients without a job")

    def test_remains_of_a_job_that_is_gone(self):
        broken = sound()
        del broken.states["b"]
        self.assert_found(broken, "b: the log has a job that is not there")
        self.assert_found(broken, "b: request r2 has a job that is not there")


if __name__ == "__main__":
    unittest.main()
