"""What a file declares around its nodes, right and wrong: names of symbols, value_info, outputs,
initializers that can be overridden. ONNX Runtime takes most of it as a claim."""

import onnx
from onnx import helper, numpy_helper

from graph import ELEMENT_TYPES


def subgraphs(node):
    return [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def names_read(node):
    """Inputs of a node, and what its subgraphs may capture."""
    names = set(node.input)
    for graph in subgraphs(node):
        for inner in graph.node:
            names |= names_read(inner)
        names |= {output.name for output in graph.output}
    return names - {""}


class Interface:
    """Draws the declarations of one graph."""

    def __init__(self, g):
        self.g = g
        self.style = g.pick("names", "names", "one name", "?", "", "missing", "mixed")
        self.truth = g.pick("none", "none", "complete", "stale", "stale", "half stale")
        self.output_truth = g.pick("complete", "complete", "stale", "ranks", "nothing")
        self.shown = {name: self._shown(name) for name in g.symbols}

    def _shown(self, name):
        style = self.style
        if style == "mixed":
            style = self.g.pick("names", "?", "", "missing", "one name")
        return {"names": name, "one name": "N", "?": "?", "": "", "missing": None}[style]

    def _symbol_of(self, sizes):
        for name, held in self.g.symbols.items():
            if held == sizes:
                return self.shown[name]
        return None

    def dims(self, value, truth):
        if truth == "half stale":
            truth = self.g.pick("stale", "complete", "partly stale")
        dims = []
        for axis in range(value.rank):
            sizes = [array.shape[axis] for array in value.arrays]
            stale = truth == "stale" or (truth == "partly stale" and self.g.chance(0.5))
            if len(set(sizes)) == 1 or stale:
                dims.append(sizes[0])
            else:
                dims.append(self._symbol_of(sizes))
        return [None] * value.rank if truth == "ranks" else dims

    def value_infos(self, nodes):
        if self.truth == "none":
            return []
        names = [name for node in nodes for name in node.output if name in self.g.values]
        return [self._info(self.g.values[name], self.truth)
                for name in names if self.truth == "complete" or self.g.chance(0.8)]

    def _info(self, value, truth):
        return helper.make_tensor_value_info(
            value.name, ELEMENT_TYPES[value.dtype], self.dims(value, truth))

    def inputs(self):
        infos = []
        for entry in self.g.inputs:
            dims = [self.shown[dim] if isinstance(dim, str) else dim for dim in entry.dims]
            infos.append(helper.make_tensor_value_info(
                entry.name, ELEMENT_TYPES[entry.dtype], dims))
        return infos

    def outputs(self, values):
        infos = []
        for value in values:
            if self.output_truth == "nothing":
                infos.append(helper.make_tensor_value_info(
                    value.name, ELEMENT_TYPES[value.dtype], None))
                continue
            info = self._info(value, self.output_truth)
            if value.rank > 1 and self.output_truth == "stale" and self.g.chance(0.2):
                del info.type.tensor_type.shape.dim[-1]  # of another rank than the value
            infos.append(info)
        return infos


def needed_nodes(nodes, outputs):
    """The nodes that the outputs hang on, in order."""
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed & set(node.output):
            kept.append(node)
            needed |= names_read(node)
    return kept[::-1]


def initializers_of(g, nodes, outputs):
    made = {name for node in nodes for name in node.output}
    wanted = {name for node in nodes for name in names_read(node)} | set(outputs)
    return [value for name, value in g.values.items()
            if value.is_constant and name in wanted and name not in made]


def assemble(g, outputs):
    """The whole model, and its declared inputs that have a default value."""
    interface = Interface(g)
    names = [value.name for value in outputs]
    nodes = g.nodes if g.chance(0.1) else needed_nodes(g.nodes, names)
    constants = initializers_of(g, nodes, names)
    old = g.opset <= 8 and g.chance(0.5)  # files of IR version 3 list all weights as inputs
    listed = constants if old else [
        value for value in constants if g.chance(0.5)] if g.chance(0.1) else []
    graph = helper.make_graph(
        nodes, "random",
        interface.inputs() + [interface._info(value, "complete") for value in listed],
        interface.outputs(outputs),
        [numpy_helper.from_array(value.arrays[0], value.name) for value in constants],
        value_info=interface.value_infos(nodes))
    version = 3 if old else g.pick(4, 6, 7, 8, 9, 10)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", g.opset)], ir_version=version)
    return model, [] if old else listed
