"""What the comparison of random models lets pass, and what it does not."""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import check
import draw


def model(nodes, outputs, constants=(), dims=("N", 3)):
    graph = helper.make_graph(
        nodes, "test", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def scaled(factor, kind="Mul"):
    return model([helper.make_node(kind, ["x", "c"], ["y"])], [("y", TensorProto.FLOAT)],
                 [("c", np.float32(factor))])


class CompareTest(unittest.TestCase):
    def differs(self, original, other, x, precision="single", has_rounding_trick=False):
        pair = check.Pair(original, other, precision, has_rounding_trick)
        found = pair.differences({"x": np.asarray(x, np.float32)}, "", "")
        self.assertIsNotNone(found)
        return bool(found)

    def test_equal_models_do_not_differ(self):
        self.assertFalse(self.differs(scaled([1, 2, 3]), scaled([1, 2, 3]), [[1, 2, np.inf]]))

    def test_a_small_column_beside_a_large_one_is_judged_by_itself(self):
        wrong = scaled([640, 1.001, 1])
        self.assertTrue(self.differs(scaled([640, 1, 1]), wrong, [[1, 0.1, 1]] * 2))

    def test_rounding_of_the_original_is_allowed(self):
        there_and_back = model(
            [helper.make_node("Add", ["x", "c"], ["a"]), helper.make_node("Sub", ["a", "c"], ["y"])],
            [("y", TensorProto.FLOAT)], [("c", np.float32(1000))])
        self.assertFalse(self.differs(there_and_back, scaled(1.0), [[0.1, 0.2, 0.3]]))

    def test_a_rounding_trick_is_not_taken_for_rounding(self):
        trick = model(
            [helper.make_node("Add", ["x", "c"], ["a"]), helper.make_node("Sub", ["a", "c"], ["y"])],
            [("y", TensorProto.FLOAT)], [("c", np.float32(12582912))])
        x = [[0.1, 1.3, 20.7]]
        self.assertTrue(self.differs(trick, scaled(1.0), x, has_rounding_trick=True))

    def test_nan_infinity_and_shape_count(self):
        for x in ([[0, 1, 2]], [[-1, 1, 1]]):
            root = model([helper.make_node("Sqrt", ["x"], ["y"])], [("y", TensorProto.FLOAT)])
            wrong = model([helper.make_node("Abs", ["x"], ["y"])], [("y", TensorProto.FLOAT)])
            self.assertTrue(self.differs(root, wrong, x))
        inverse = model([helper.make_node("Reciprocal", ["x"], ["y"])], [("y", TensorProto.FLOAT)])
        self.assertTrue(self.differs(inverse, scaled([1, 1, 1]), [[0, 1, 1]]))
        self.assertTrue(self.differs(inverse, scaled([1, 1, 1]), [[1e-45, 1, 1]]))
        rows = model([helper.make_node("Unsqueeze", ["x", "c"], ["y"])], [("y", TensorProto.FLOAT)],
                     [("c", np.array([0]))])
        self.assertTrue(self.differs(scaled(1.0), rows, [[1, 2, 3]]))

    def test_an_index_may_differ_at_a_near_tie_alone(self):
        def best_of(factors):
            return model([helper.make_node("Mul", ["x", "c"], ["s"]),
                          helper.make_node("ArgMax", ["s"], ["y"], axis=1)],
                         [("y", TensorProto.INT64)], [("c", np.float32(factors))])
        near = np.float32(1) + np.float32(2.0 ** -23)
        self.assertFalse(self.differs(best_of([1, 1, 0]), best_of([1, near, 0]), [[1, 1, 0]]))
        self.assertTrue(self.differs(best_of([1, 0.99, 0]), best_of([1, 1.01, 0]), [[1, 1, 0]]))

    def test_a_model_that_does_not_run_differs(self):
        fixed = model([helper.make_node("Reshape", ["x", "c"], ["y"])], [("y", TensorProto.FLOAT)],
                      [("c", np.array([1, 3]))])
        self.assertTrue(self.differs(scaled(1.0), fixed, [[1, 2, 3]] * 2))


class ContradictionTest(unittest.TestCase):
    """ONNX Runtime's optimizations take a declared size for the true one when they fold Shape."""

    @staticmethod
    def rows(factor, *declared):
        """x times a factor, reshaped to [its rows, 1, the rest]."""
        result = model(
            [helper.make_node("Mul", ["x", "factor"], ["m"]),
             helper.make_node("Shape", ["m"], ["n"], start=0, end=1),
             helper.make_node("Concat", ["n", "rest"], ["dims"], axis=0),
             helper.make_node("Reshape", ["m", "dims"], ["y"])],
            [("y", TensorProto.FLOAT)],
            [("factor", np.float32(factor)), ("rest", np.array([1, -1]))])
        result.graph.value_info.extend(
            helper.make_tensor_value_info("m", TensorProto.FLOAT, dims) for dims in declared)
        return result

    def compared(self, original, other, optimize=True):
        pair = check.Pair(original, other, "single", False, optimize)
        found = pair.differences({"x": np.ones((2, 3), np.float32)}, "", "")
        return found, pair.contradictions

    def test_a_size_that_is_not_true_is_blamed_on_onnx_runtime(self):
        found, contradictions = self.compared(self.rows(2, [1, 3]), self.rows(2))
        self.assertEqual(found, [])
        self.assertEqual(len(contradictions), 1)
        self.assertIn("[1, 1, 6] became float32[2, 1, 3]", str(contradictions[0]))

    def test_sizes_that_are_not_true_may_be_in_both_models(self):
        found, contradictions = self.compared(self.rows(2, [1, 3]), self.rows(2, [3, 3]))
        self.assertEqual(found, [])
        self.assertEqual(len(contradictions), 1)
        self.assertIn("[1, 1, 6] became float32[3, 1, 2]", str(contradictions[0]))

    def test_without_its_optimizations_it_does_not_contradict_itself(self):
        stale = self.rows(2, [1, 3])
        self.assertEqual(self.compared(stale, self.rows(2), optimize=False), ([], []))

    def test_a_wrong_model_beside_such_a_size_differs(self):
        found, contradictions = self.compared(self.rows(2, [1, 3]), self.rows(3))
        self.assertEqual(len(found), 1)
        self.assertEqual(contradictions, [])

    def test_a_wrong_model_beside_a_true_size_differs(self):
        found, contradictions = self.compared(self.rows(2, ["N", 3]), self.rows(3))
        self.assertEqual(len(found), 1)
        self.assertEqual(contradictions, [])


class DrawTest(unittest.TestCase):
    def test_a_seed_gives_the_same_model_each_time(self):
        for seed in range(1, 9):
            first, second = (draw.draw(seed).model.SerializeToString() for _ in range(2))
            self.assertEqual(first, second)

    def test_what_is_drawn_is_what_exporters_write(self):
        drawn = [draw.draw(seed) for seed in range(1, 101)]
        self.assertGreaterEqual({d.model.opset_import[0].version for d in drawn}, set(range(9, 22)))
        kinds = {node.op_type for d in drawn for node in d.model.graph.node}
        self.assertGreater(len(kinds), 60)
        self.assertTrue(any(a.type == onnx.AttributeProto.GRAPH for d in drawn
                            for node in d.model.graph.node for a in node.attribute))
        self.assertGreater(sum(bool(d.symbols) for d in drawn), 60)


if __name__ == "__main__":
    unittest.main()
