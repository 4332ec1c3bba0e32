"""quotient profile: predicted against measured."""

import json
import unittest

import onnx

import harness
import models

NUMBER = r" +~?[0-9]+\.[0-9]"
ROW = rf"^ {NUMBER}{NUMBER} +[0-9]+\.[0-9][0-9]  "


class ProfileTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.conv_bn_relu(), self.folder / "m.onnx")

    def profile(self, *arguments):
        return self.quotient("profile", "m.onnx", "--threads", "1", *arguments)

    def test_the_table(self):
        result = self.profile("--device", "cpu")
        self.assert_code(result, 0)
        lines = result.out.splitlines()
        self.assertRegex(lines[0], r"^m\.onnx: profile on cpu \(.+\), 1 thread$")
        self.assertRegex(lines[2], r"^ +predicted us +measured us +ratio")
        self.assertRegex(lines[3], ROW + r"whole, [0-9]+ runs?$")
        self.assertRegex(lines[4], ROW + r"sum of its kernels, each by its own runs$")
        kernels = lines[lines.index("  by kernel, equal ones together, the widest gap first") + 1:]
        self.assertRegex(
            "\n".join(kernels),
            rf"(?m){ROW}x 3  Conv\+BatchNormalization\+Relu 1x8x16x16 \[8x8x3x3\] .*  \(conv0\)$")

    def test_json_adds_up_and_the_page_has_a_picture(self):
        result = self.profile("--device", "cpu", "--json", "--html", "p.html")
        self.assert_code(result, 0)
        profile = result.json()
        for whole, part in (("predicted_us", "predicted_us"), ("kernels_us", "measured_us")):
            for rows in (profile["kernels"], profile["operators"]):
                self.assertAlmostEqual(profile[whole], sum(row[part] for row in rows), places=6)
        page = (self.folder / "p.html").read_text()
        self.assertIn("<svg", page)
        self.assertEqual(page.count("<circle"), len(profile["kernels"]))

    def test_onnxruntime_tells_its_own_kernels(self):
        result = self.profile("--device", "onnxruntime", "--json")
        self.assert_code(result, 0)
        profile = json.loads(result.out)
        self.assertGreater(profile["measured_us"], 0)
        self.assertGreater(profile["kernels_us"], 0)
        for kernel in profile["kernels"]:
            self.assertGreaterEqual(kernel["measured_us"], 0)
            self.assertNotIn(":", kernel["op"])
        self.assertIn("Conv (nchwc)", [kernel["op"] for kernel in profile["kernels"]])
        self.assertRegex(profile["device"]["library"], r"^ONNX Runtime 1\.")
        self.assertIn(profile["device"]["hardware"], profile["device"]["fingerprint"])

    def test_a_model_that_onnxruntime_refuses_is_refused(self):
        onnx.save(models.with_unknown_operator(), self.folder / "m.onnx")
        self.assert_code(self.profile("--device", "onnxruntime"), 3, "Frobnicate")

    def test_what_cannot_be_run_or_written_is_named(self):
        self.assert_code(self.profile("--device", "model:h200"), 2, "nothing can be run")
        self.assert_code(self.profile("--html", "no/such/folder.html"), 2, "no/such/folder.html")
        self.assertFalse((self.folder / "p.html").exists())


if __name__ == "__main__":
    unittest.main()
