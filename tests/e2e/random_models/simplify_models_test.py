"""A fixed range of seeds: each is simplified, valid, and computes the same. The whole is simplify_models.py."""

import os
import unittest

import simplify_models

SEEDS = range(1001, 1101)


class SimplifyRandomModelsTest(unittest.TestCase):
    def test_all_are_right(self):
        answers = list(simplify_models.answers_to(SEEDS, ["quotient"], min(4, os.cpu_count() or 1)))
        for answer in answers:
            with self.subTest(seed=answer.seed):
                self.assertEqual("", answer.error)
                self.assertEqual("", answer.invalid)
                self.assertEqual("", answer.interface)
                self.assertEqual([], answer.differences)
                before, after = answer.nodes
                self.assertLessEqual(after, before)
        smaller = sum(answer.nodes[1] < answer.nodes[0] for answer in answers)
        self.assertGreater(smaller, len(answers) // 2)


if __name__ == "__main__":
    unittest.main()
