"""quotient check: whether two models are the same, and where they part."""

import unittest

import onnx

import faulty_models
import harness


class CheckTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.good = faulty_models.Builder()
        onnx.save(self.good.build(), self.folder / "good.onnx")

    def check(self, second, *arguments):
        return self.quotient("check", "good.onnx", second, *arguments)

    def test_a_result_is_the_same(self):
        self.assert_code(self.quotient("optimize", "good.onnx", "-o", "fast.onnx", "--local", "--device",
                                       "model:h200"), 0)
        result = self.check("fast.onnx")
        self.assert_code(result, 0)
        self.assertIn("same: fast.onnx computes what good.onnx does\n", result.out)
        self.assertIn("compared at count=[", result.out)

    def test_every_fault_is_found_and_located(self):
        self.assertGreaterEqual(len(self.good.faults), 30)
        for fault, (shown_at, says) in self.good.faults.items():
            with self.subTest(fault):
                model = faulty_models.Builder(fault).build()
                onnx.checker.check_model(model, full_check=True)
                onnx.save(model, self.folder / "bad.onnx")
                result = self.check("bad.onnx", "--json")
                self.assert_code(result, 1)
                told = result.json()
                self.assertFalse(told["same"])
                if shown_at is not None:
                    self.assertEqual(shown_at, told["parted"]["value"])
                else:
                    self.assertIn(says, " ".join([*told["interface"], told["failure"]]))

    def test_where_they_part_is_said_in_words(self):
        onnx.save(faulty_models.Builder("a slope is the usual one").build(), self.folder / "bad.onnx")
        result = self.check("bad.onnx")
        self.assert_code(result, 1)
        self.assertIn("different: bad.onnx is not the same as good.onnx\n", result.out)
        self.assertRegex(result.out, r"they part at 'act', which LeakyRelu computes: \[.*\] is -.* instead of -")

    def test_what_cannot_be_compared_is_an_error(self):
        (self.folder / "junk.onnx").write_bytes(b"junk")
        self.assert_code(self.check("junk.onnx"), 3, "MODEL_MALFORMED", "junk.onnx")
        self.assert_code(self.check("none.onnx"), 2, "OPTION_INVALID", "none.onnx")
        self.assert_code(self.quotient("check", "good.onnx"), 2)


if __name__ == "__main__":
    unittest.main()
