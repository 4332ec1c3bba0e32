"""Makes a model that differs small: fewer outputs, nodes replaced by inputs that hold what the node
yielded, declarations taken away, for as long as the difference stays."""

import argparse
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper

import check
import compare
import run
from graph import ELEMENT_TYPES
from interface import names_read, needed_nodes

BONUS = "bonus_out"


def pruned(model, outputs):
    """Only what the named outputs hang on."""
    small = onnx.ModelProto()
    small.CopyFrom(model)
    graph = small.graph
    nodes = needed_nodes(list(model.graph.node), outputs)
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    graph.output.extend(o for o in model.graph.output if o.name in outputs)
    read = {name for node in nodes for name in names_read(node)} | set(outputs)
    made = {name for node in nodes for name in node.output}
    for field, wanted in ((graph.initializer, read), (graph.input, read), (graph.value_info, made)):
        kept = [entry for entry in field if entry.name in wanted]
        del field[:]
        field.extend(kept)
    return small


def all_values(model, feed):
    """What each value of the main graph holds under a feed."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    present = {output.name for output in wide.graph.output}
    names = [name for node in model.graph.node for name in node.output if name]
    wide.graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in names if name not in present)
    session = compare.open_session(wide, reuse=False)
    inputs = {entry.name for entry in session.get_inputs()}
    feed = {name: array for name, array in feed.items() if name in inputs}
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def with_input(model, name, array):
    """The value `name` fed instead of computed; its sizes are given if the file is static."""
    small = onnx.ModelProto()
    small.CopyFrom(model)
    for node in small.graph.node:
        for index, output in enumerate(node.output):
            if output == name:
                node.output[index] = f"{name}|cut"
    small.graph.input.append(helper.make_tensor_value_info(
        name, ELEMENT_TYPES[array.dtype], [None] * array.ndim))
    kept = [info for info in small.graph.value_info if info.name != name]
    del small.graph.value_info[:]
    small.graph.value_info.extend(kept)
    return pruned(small, [output.name for output in small.graph.output])


def with_bonus(model):
    """The model with a branch beside it that always gains: else what is left after a cut may come
    back untouched, with the error in it or not, for want of a gain."""
    large = onnx.ModelProto()
    large.CopyFrom(model)
    random = np.random.default_rng(0)
    graph = large.graph
    for name, shape in (("bonus_a", (64, 64)), ("bonus_b", (64, 2))):
        graph.initializer.append(numpy_helper.from_array(
            random.standard_normal(shape).astype(np.float32), name))
    graph.input.append(helper.make_tensor_value_info("bonus_in", onnx.TensorProto.FLOAT, [1, 64]))
    graph.output.append(helper.make_tensor_value_info(BONUS, onnx.TensorProto.FLOAT, [1, 2]))
    graph.node.extend([helper.make_node("MatMul", ["bonus_in", "bonus_a"], ["bonus_middle"]),
                       helper.make_node("MatMul", ["bonus_middle", "bonus_b"], [BONUS])])
    return large


class Shrinker:
    """Tries smaller models; a try is a call of the program."""

    def __init__(self, precision, has_rounding_trick, folder, arguments=check.ARGUMENTS):
        self.precision = precision
        self.has_rounding_trick = has_rounding_trick
        self.folder = folder
        self.arguments = arguments
        self.tries = 0

    def differs(self, model, feed):
        self.tries += 1
        names = {entry.name for entry in model.graph.input}
        feed = {name: array for name, array in feed.items() if name in names}
        outcome = check.optimize(model, self.folder, self.arguments)
        if outcome.model is None:
            return False
        try:
            pair = check.Pair(model, outcome.model, self.precision, self.has_rounding_trick)
            return bool(pair.differences(feed, "", ""))
        except Exception:
            return False

    def fewer_outputs(self, model, feed):
        names = [output.name for output in model.graph.output]
        for name in names:
            small = pruned(model, [name, BONUS])
            if name != BONUS and len(names) > 2 and self.differs(small, feed):
                return small
        return model

    def fewer_nodes(self, model, feed):
        """Cuts the graph at values, from the last one on: the later the cut, the more goes."""
        values = all_values(model, feed)
        outputs = {output.name for output in model.graph.output}
        for node in reversed(list(model.graph.node)):
            for name in node.output:
                made = {n for other in model.graph.node for n in other.output}
                if name in outputs or name not in made or name not in values:
                    continue
                array = np.asarray(values[name])
                small = with_input(model, name, array)
                if self.differs(small, {**feed, name: array}):
                    model, feed = small, {**feed, name: array}
        return model, feed

    def earlier_output(self, model, feed):
        """The first value that differs when it is an output."""
        values = all_values(model, feed)
        for node in model.graph.node:
            for name in node.output:
                small = onnx.ModelProto()
                small.CopyFrom(model)
                if name not in values:
                    continue
                small.graph.output.append(helper.make_tensor_value_info(
                    name, ELEMENT_TYPES[values[name].dtype], None))
                small = pruned(small, [name, BONUS])
                if len(small.graph.node) < len(model.graph.node) and self.differs(small, feed):
                    return small
        return model

    def fewer_declarations(self, model, feed):
        for info in list(model.graph.value_info):
            small = onnx.ModelProto()
            small.CopyFrom(model)
            kept = [entry for entry in model.graph.value_info if entry.name != info.name]
            del small.graph.value_info[:]
            small.graph.value_info.extend(kept)
            if self.differs(small, feed):
                model = small
        return model

    def shrink(self, model, feed):
        large = with_bonus(model)
        feed = {**feed, "bonus_in": np.ones((1, 64), np.float32)}
        if self.differs(large, feed):
            model = large
        model = self.fewer_outputs(model, feed)
        model = self.earlier_output(model, feed)
        for _ in range(3):
            count = len(model.graph.node)
            model, feed = self.fewer_nodes(model, feed)
            if len(model.graph.node) == count:
                break
        alone = pruned(model, [o.name for o in model.graph.output if o.name != BONUS])
        if self.differs(alone, feed):
            model = alone
        return self.fewer_declarations(model, feed), feed


def shrink_seed(seed, folder):
    """The smallest model of a seed that still differs, and a feed of it; None if none differs."""
    drawn, _ = run.draw_valid(seed)
    outcome = check.optimize(drawn.model, folder)
    if outcome.model is None:
        return None
    shrinker = Shrinker(drawn.precision, drawn.has_rounding_trick, folder)
    for difference in check.check(drawn, outcome.model).differences:
        if shrinker.differs(drawn.model, difference.feed):
            return shrinker.shrink(drawn.model, difference.feed)
    return None


def describe(model):
    def declared(info):
        dims = [d.dim_value or d.dim_param or "." for d in info.type.tensor_type.shape.dim]
        return f"{info.name}{dims}"
    lines = ["inputs " + ", ".join(map(declared, model.graph.input))]
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute
                      if a.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.TENSOR)}
        lines.append(f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)}) "
                     f"{attributes or ''}")
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        shown = array.tolist() if array.size <= 8 else "..."
        lines.append(f"const {tensor.name}: {array.dtype}{list(array.shape)} = {shown}")
    lines.append("outputs " + ", ".join(map(declared, model.graph.output)))
    lines += ["declares " + declared(info) for info in model.graph.value_info]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as folder:
            result = shrink_seed(seed, pathlib.Path(folder))
        if result is None:
            print(f"seed {seed}: does not differ")
            continue
        model, feed = result
        onnx.save(model, arguments.out / f"{seed}.onnx")
        held = {entry.name for entry in model.graph.input}
        sizes = {name: list(np.shape(array)) for name, array in feed.items() if name in held}
        print(f"--- seed {seed}, opset {model.opset_import[0].version}, fed {sizes}\n"
              f"{describe(model)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
