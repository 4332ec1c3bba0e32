"""What models of one shape are made of: values, constants, nodes, and a chain of nodes."""
import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
DIMS = [2, 4]


def value(name, dims=None, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, DIMS if dims is None else dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def random(name, *dims):
    rng = np.random.default_rng(abs(hash_of(name)))
    return constant(name, rng.standard_normal(dims).astype(np.float32))


def hash_of(name):
    return sum((i + 1) * ord(c) for i, c in enumerate(name))


def node(operator, inputs, output, **attributes):
    # helper.make_node sorts and checks far more than is needed for 100,000 nodes.
    outputs = [output] if isinstance(output, str) else output
    if attributes:
        return helper.make_node(operator, inputs, outputs, **attributes)
    made = helper.NodeProto()
    made.op_type = operator
    made.input.extend(inputs)
    made.output.extend(outputs)
    return made


def model(nodes, outputs, inputs=None, initializers=(), opset=17):
    graph = helper.GraphProto()
    graph.name = "g"
    graph.node.extend(nodes)
    graph.input.extend([value("x")] if inputs is None else inputs)
    graph.output.extend(outputs)
    graph.initializer.extend(initializers)
    made = ModelProto()
    made.ir_version = 8
    made.opset_import.append(helper.make_opsetid("", opset))
    made.graph.CopyFrom(graph)
    return made


def matrix(name):
    return constant(name, np.eye(4, dtype=np.float32) + 0.01 * (hash_of(name) % 97) / 97)


def kernel(name):
    return constant(name, np.float32(0.1) * (1 + hash_of(name) % 7) * np.ones([4, 4, 1, 1], np.float32))


def vector(name):
    return random(name, 4)


def chain(*operators, **settings):
    def make(n):
        nodes = [node(operators[i % len(operators)], [f"v{i}"], f"v{i + 1}") for i in range(n)]
        nodes[0].input[0] = "x"
        return model(nodes, [value(f"v{n}")], **settings)
    return make
