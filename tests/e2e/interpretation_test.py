"""Models that have to be understood in another form before they can be optimized: calls of functions,
old opsets, weights that are inputs. The result is better and, in ONNX Runtime, the same."""

import json
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import harness
import models


def run(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})


def towers(opset=17, call=None):
    """Four convolutions of one input, side by side: one of four times the channels is cheaper. With
    `call` each is made by a call of the function block(x, w, b) instead."""
    random = np.random.default_rng(0)
    nodes, weights = [], []
    for i in range(4):
        weights.append(models.tensor(f"w{i}", random.standard_normal(
            (8, 8, 3, 3), dtype=np.float32) * 0.1))
        weights.append(models.tensor(f"b{i}", random.standard_normal(8, dtype=np.float32)))
        if call is not None:
            nodes.append(call(i))
            continue
        nodes.append(helper.make_node("Conv", ["x", f"w{i}", f"b{i}"], [f"c{i}"], name=f"conv{i}",
                                      pads=[1, 1, 1, 1], kernel_shape=[3, 3]))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], name=f"relu{i}"))
    nodes.append(helper.make_node("Concat", [f"r{i}" for i in range(4)], ["y"], axis=1))
    return models.model(nodes, [models.value("x", [1, 8, 24, 24])],
                        [models.value("y", [1, 32, 24, 24])], weights, opset)


def towers_of_functions():
    """Half of the calls have the attribute, half have its default; the body calls another function, names values as the
    main graph does, and leaves out an optional input of its own."""
    proto = towers(call=lambda i: helper.make_node(
        "block", ["x", f"w{i}", f"b{i}"], [f"r{i}"], domain="local", name=f"block{i}",
        **({"slope": 0.125} if i % 2 else {})))
    conv = helper.make_node("Conv", ["a", "w0", "b0"], ["y"], name="conv", kernel_shape=[3, 3],
                            pads=[1, 1, 1, 1])
    leaky = helper.make_node("activate", ["y", ""], ["x"], domain="local", name="act")
    slope = leaky.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT)
    slope.ref_attr_name = "slope"
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    block = helper.make_function("local", "block", ["a", "w0", "b0"], ["x"], [conv, leaky], opsets,
                                 attribute_protos=[helper.make_attribute("slope", 0.125)])
    relu = helper.make_node("LeakyRelu", ["v"], ["w"], name="relu")
    relu.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT).ref_attr_name = "alpha"
    clip = helper.make_node("Clip", ["w", "low"], ["y"], name="clip")
    activate = helper.make_function("local", "activate", ["v", "low"], ["y"], [relu, clip], opsets,
                                    ["alpha"])
    proto.functions.extend([block, activate])
    proto.opset_import.append(helper.make_opsetid("local", 1))
    return proto


def towers_with_weights_as_inputs():
    proto = towers()
    for tensor in proto.graph.initializer:
        proto.graph.input.append(models.value(tensor.name, tensor.dims))
    return proto


def towers_behind_training_dropout():
    """A Dropout that trains and drops nothing, and one whose mask nothing reads."""
    proto = towers()
    proto.graph.initializer.extend([models.tensor("ratio", np.float32(0)),
                                    models.tensor("train", np.array(True))])
    for i in range(4):
        proto.graph.node[2 * i + 1].output[0] = f"s{i}"
        inputs = [f"s{i}", "ratio", "train"] if i % 2 else [f"s{i}"]
        proto.graph.node.insert(8 + i, helper.make_node("Dropout", inputs, [f"r{i}", f"m{i}"]))
    return proto


def towers_beside_random_functions(seed):
    """Twelve functions that call each other, with attributes given, handed on or left to defaults,
    inputs and outputs left out, subgraphs that capture arguments, and few names, so that they clash;
    and 30 calls beside the towers, each of them an output."""
    random = np.random.default_rng(seed)
    names = ["a", "b", "c", "x", "y", "w0"]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    functions = []

    def refer(node, attribute, to):
        node.attribute.add(name=attribute, type=onnx.AttributeProto.FLOAT).ref_attr_name = to
        return node

    def body_node(inputs, outputs):
        """One node of a body whose function has the attribute alpha."""
        kind = random.integers(0, 5)
        x, y = random.choice(inputs, 2)
        if kind == 0 and functions:
            callee = functions[random.integers(0, len(functions))]
            call = helper.make_node(callee.name, [x, y][:random.integers(1, 3)], [*outputs, ""],
                                    domain="local")
            return refer(call, "alpha", "alpha") if random.integers(0, 2) else call
        if kind == 1:
            node = refer(helper.make_node("LeakyRelu", [x], ["p"]), "alpha", "alpha")
            branches = [helper.make_graph([node, helper.make_node("Mul", ["p", y], ["q"])], "then", [],
                                          [helper.make_empty_tensor_value_info("q")]),
                        helper.make_graph([helper.make_node("Neg", [y], ["p"])], "else", [],
                                          [helper.make_empty_tensor_value_info("p")])]
            return helper.make_node("If", ["yes"], outputs[:1], then_branch=branches[0],
                                    else_branch=branches[1])
        if kind == 2:
            return refer(helper.make_node("LeakyRelu", [x], outputs[:1]), "alpha", "alpha")
        return helper.make_node(["Sub", "Mul"][kind % 2], [x, y], outputs[:1])

    for f in range(12):
        free = list(random.permutation(names))
        known = [free.pop(), free.pop()]
        inputs = list(known)
        # The second input may be left out, so it is read by Clip alone, for which that is right.
        body = [helper.make_node("Constant", [], ["yes"], value=models.tensor("", np.array(f % 2 == 0))),
                helper.make_node("ReduceMax", [inputs[0]], ["low"], keepdims=0),
                helper.make_node("Clip", [inputs[0], "", "low"], [free[-1]])]
        known = [inputs[0], free.pop()]
        while len(free) > 1:
            body.append(body_node(known, [free[-1]]))
            known.append(free.pop())
        body.append(helper.make_node("Neg", [inputs[0]], [free[-1]]))
        defaults = [helper.make_attribute("alpha", float(random.random()))]
        functions.append(helper.make_function("local", f"f{f}", inputs, [known[-1], free[-1]], body,
                                              opsets, attribute_protos=defaults))
    proto = towers()
    proto.graph.node.append(helper.make_node("GlobalMaxPool", ["y"], ["v0"]))
    # Some arguments are called as values of the functions' subgraphs are.
    values = [{5: "p", 9: "q"}.get(i, f"v{i}") for i in range(31)]
    for i in range(30):
        callee = functions[random.integers(0, len(functions))]
        call = helper.make_node(callee.name, [values[i // 2], ""][:random.integers(1, 3)],
                                [values[i + 1], f"z{i}"], domain="local")
        if random.integers(0, 2):
            call.attribute.append(helper.make_attribute("alpha", float(random.random())))
        proto.graph.node.append(call)
        proto.graph.output.extend(models.value(name, [1, 32, 1, 1]) for name in call.output)
    proto.functions.extend(functions)
    proto.opset_import.append(opsets[1])
    return proto


class InterpretationTest(harness.TestCase):
    def optimized(self, model, *more):
        onnx.save(model, self.folder / "in.onnx")
        result = self.quotient("optimize", "in.onnx", "-o", "out.onnx", "--local", "--device",
                               "model:h200", "--budget", "20s", "--report", "report.json", *more)
        self.assert_code(result, 0)
        report = json.loads((self.folder / "report.json").read_text())
        return onnx.load(self.folder / "out.onnx"), report

    def assert_better_and_the_same(self, model, *more):
        optimized, report = self.optimized(model, *more)
        self.assertEqual(report["outcome"], "improved", report["notes"])
        onnx.checker.check_model(optimized)
        self.assertEqual(sum(node.op_type == "Conv" for node in optimized.graph.node), 1)
        random = np.random.default_rng(1)
        for scale in (1, 1000):
            x = {"x": random.standard_normal((1, 8, 24, 24), dtype=np.float32) * scale}
            x |= {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
            for before, after in zip(run(model, x), run(optimized, x), strict=True):
                np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4 * scale)
        return optimized, report

    def test_functions(self):
        optimized, report = self.assert_better_and_the_same(towers_of_functions())
        self.assertEqual(len(optimized.functions), 0)
        self.assertTrue(any("8 calls" in note for note in report["notes"]), report["notes"])

    def test_random_functions(self):
        for seed in range(3):
            with self.subTest(seed):
                optimized, _ = self.assert_better_and_the_same(towers_beside_random_functions(seed))
                self.assertEqual(len(optimized.functions), 0)

    def test_old_opsets(self):
        for opset in (4, 5, 6):
            with self.subTest(opset):
                # A Relu before opset 6 is one that ONNX Runtime has no kernel for.
                proto = towers(opset)
                if opset < 6:
                    for node in proto.graph.node:
                        if node.op_type == "Relu":
                            node.op_type = "Softplus"
                self.assert_better_and_the_same(proto)

    def test_dropouts_that_drop_nothing(self):
        optimized, _ = self.assert_better_and_the_same(towers_behind_training_dropout())
        self.assertNotIn("Dropout", [node.op_type for node in optimized.graph.node])

    def test_weights_that_are_inputs(self):
        proto = towers_with_weights_as_inputs()
        same, report = self.optimized(proto)
        self.assertEqual(len(same.graph.input), 9)
        self.assertTrue(any("8 initializers are inputs, too" in n for n in report["notes"]),
                        report["notes"])
        frozen, report = self.assert_better_and_the_same(proto, "--freeze-initializers")
        self.assertEqual([i.name for i in frozen.graph.input], ["x"])
        self.assertTrue(any("--freeze-initializers" in note for note in report["notes"]))

    def test_an_input_without_a_shape_is_no_reason_to_refuse(self):
        proto = models.model([helper.make_node("Relu", ["x"], ["y"])], [models.value("x", None)],
                             [models.value("y", None)])
        onnx.save(proto, self.folder / "shapeless.onnx")
        for shape in ([], ["--shape", "x=2,3"]):
            result = self.quotient("optimize", "shapeless.onnx", "-o", "out.onnx", "--local",
                                   "--budget", "1s", *shape)
            self.assert_code(result, 0)


if __name__ == "__main__":
    unittest.main()
