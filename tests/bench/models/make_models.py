"""Makes models of kinds for which no package has small trained ones, with random weights.

usage: make_models.py OUT

    vocoder.onnx         a HiFi-GAN of 64 mel frames: Convs and ConvTransposes of one spatial axis,
                         LeakyRelu, blocks of three kernel sizes that are averaged
    unet_diffusion.onnx  a UNet like that of Stable Diffusion, 32 x 32: GroupNormalization as
                         PyTorch exports it (Reshape, InstanceNormalization, Reshape, Mul, Add),
                         SiLU, attention of the image with itself and with a text, GEGLU

Nodes are spelled as the exporter of PyTorch 2 spells them at opset 14. Equal calls write equal files.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 14


class Net:
    """A graph that grows node by node. Values are strings."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, value):
        return self.constant(np.asarray(value, np.float32))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def weight(self, shape, scale=None):
        """Normally distributed; by default so that the size of activations is kept."""
        if scale is None:
            scale = 1 / np.sqrt(np.prod(shape[1:]))
        return self.floats(self.random.standard_normal(shape) * scale)

    def scales(self, shape):
        return self.floats(1 + 0.2 * self.random.standard_normal(shape))

    def op(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, inputs, filters, kernel, dilation=1, stride=1, axes=2):
        pads = [kernel // 2 * dilation] * (2 * axes)
        return self.op("Conv", x, self.weight([filters, inputs] + [kernel] * axes),
                       self.weight([filters], 0.1), kernel_shape=[kernel] * axes, group=1,
                       dilations=[dilation] * axes, strides=[stride] * axes, pads=pads)

    def save(self, path, inputs, output, shape, opset=OPSET):
        def value(name, dims):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

        graph = helper.make_graph(self.nodes, path.stem,
                                  [value(name, dims) for name, dims in inputs.items()],
                                  [value(output, shape)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                  ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def vocoder(path):
    net = Net(seed=1)
    frames, channels = 64, 256
    x = net.conv("mel", 80, channels, 7, axes=1)
    for rate, kernel in ((8, 16), (8, 16), (4, 8)):
        x = net.op("LeakyRelu", x, alpha=0.1)
        weight = net.weight([channels, channels // 2, kernel], 1 / np.sqrt(channels * kernel / rate))
        x = net.op("ConvTranspose", x, weight, net.weight([channels // 2], 0.1),
                   kernel_shape=[kernel], strides=[rate], dilations=[1], group=1,
                   pads=[(kernel - rate) // 2] * 2)
        channels, frames = channels // 2, frames * rate
        parts = [block(net, x, channels, kernel) for kernel in (3, 5, 7)]
        total = net.op("Add", net.op("Add", parts[0], parts[1]), parts[2])
        x = net.op("Div", total, net.floats(3))
    x = net.conv(net.op("LeakyRelu", x, alpha=0.1), channels, 1, 7, axes=1)
    net.save(path, {"mel": [1, 80, 64]}, net.op("Tanh", x), [1, 1, frames])


def block(net, x, channels, kernel):
    for dilation in (1, 2):
        y = net.op("LeakyRelu", x, alpha=0.1)
        x = net.op("Add", net.conv(y, channels, channels, kernel, dilation, axes=1), x)
    return x


def silu(net, x):
    return net.op("Mul", x, net.op("Sigmoid", x))


def linear(net, x, inputs, outputs, bias=True):
    y = net.op("MatMul", x, net.weight([inputs, outputs], 1 / np.sqrt(inputs)))
    return net.op("Add", net.weight([outputs], 0.1), y) if bias else y


def gemm(net, x, inputs, outputs):
    return net.op("Gemm", x, net.weight([outputs, inputs]), net.weight([outputs], 0.1), transB=1)


def group_norm(net, x, channels):
    y = net.op("Reshape", x, net.ints(0, 32, -1))
    y = net.op("InstanceNormalization", y, net.floats(np.ones(32)), net.floats(np.zeros(32)))
    y = net.op("Reshape", y, net.op("Shape", x))
    y = net.op("Mul", y, net.scales([channels, 1, 1]))
    return net.op("Add", y, net.weight([channels, 1, 1], 0.1))


def layer_norm(net, x, width):
    centered = net.op("Sub", x, net.op("ReduceMean", x, axes=[-1]))
    variance = net.op("ReduceMean", net.op("Pow", centered, net.floats(2)), axes=[-1])
    y = net.op("Div", centered, net.op("Sqrt", net.op("Add", variance, net.floats(1e-5))))
    return net.op("Add", net.op("Mul", y, net.scales([width])), net.weight([width], 0.1))


def residual(net, x, inputs, outputs, step):
    y = net.conv(silu(net, group_norm(net, x, inputs)), inputs, outputs, 3)
    shift = gemm(net, silu(net, step), 256, outputs)
    for axis in (2, 3):
        shift = net.op("Unsqueeze", shift, net.ints(axis))
    y = net.op("Add", y, shift)
    y = net.conv(silu(net, group_norm(net, y, outputs)), outputs, outputs, 3)
    return net.op("Add", x if inputs == outputs else net.conv(x, inputs, outputs, 1), y)


def attention(net, x, context, width, context_width, queries, keys, heads=8):
    size = width // heads

    def parted(value, length):
        value = net.op("Reshape", value, net.ints(0, length, heads, size))
        value = net.op("Transpose", value, perm=[0, 2, 1, 3])
        return net.op("Reshape", value, net.ints(heads, length, size))

    q = parted(linear(net, x, width, width, bias=False), queries)
    k = parted(linear(net, context, context_width, width, bias=False), keys)
    v = parted(linear(net, context, context_width, width, bias=False), keys)
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    scores = net.op("Softmax", net.op("Mul", scores, net.floats(size**-0.5)), axis=-1)
    y = net.op("Reshape", net.op("MatMul", scores, v), net.ints(1, heads, queries, size))
    y = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), net.ints(0, queries, width))
    return linear(net, y, width, width)


def geglu(net, x, width):
    both = linear(net, x, width, 8 * width)
    value, gate = (net.op("Slice", both, net.ints(begin * width), net.ints((begin + 4) * width),
                          net.ints(-1)) for begin in (0, 4))
    erf = net.op("Erf", net.op("Div", gate, net.floats(2**0.5)))
    gelu = net.op("Mul", net.op("Mul", gate, net.op("Add", erf, net.floats(1))), net.floats(0.5))
    return linear(net, net.op("Mul", value, gelu), 4 * width, width)


def transformer(net, x, width, side):
    pixels = side * side
    y = net.conv(group_norm(net, x, width), width, width, 1)
    y = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 3, 1]), net.ints(1, pixels, width))
    z = layer_norm(net, y, width)
    y = net.op("Add", attention(net, z, z, width, width, pixels, pixels), y)
    z = layer_norm(net, y, width)
    y = net.op("Add", attention(net, z, "text", width, 256, pixels, 77), y)
    y = net.op("Add", geglu(net, layer_norm(net, y, width), width), y)
    y = net.op("Transpose", net.op("Reshape", y, net.ints(1, side, side, width)), perm=[0, 3, 1, 2])
    return net.op("Add", net.conv(y, width, width, 1), x)


def unet_diffusion(path):
    net = Net(seed=2)
    step = gemm(net, silu(net, gemm(net, "step", 64, 256)), 256, 256)
    side, channels = 32, 64
    x = net.conv("sample", 4, channels, 3)
    skipped = [(x, channels)]
    levels = ((64, False), (128, True), (256, True))
    for i, (width, attends) in enumerate(levels):
        x = residual(net, x, channels, width, step)
        channels = width
        if attends:
            x = transformer(net, x, channels, side)
        skipped.append((x, channels))
        if i < 2:
            x = net.conv(x, channels, channels, 3, stride=2)
            side //= 2
            skipped.append((x, channels))
    x = residual(net, x, channels, channels, step)
    x = residual(net, transformer(net, x, channels, side), channels, channels, step)
    for i, (width, attends) in enumerate(reversed(levels)):
        for _ in range(2):
            skip, more = skipped.pop()
            x = residual(net, net.op("Concat", x, skip, axis=1), channels + more, width, step)
            channels = width
            if attends:
                x = transformer(net, x, channels, side)
        if i < 2:
            x = net.op("Resize", x, "", net.floats([1, 1, 2, 2]), mode="nearest",
                       coordinate_transformation_mode="asymmetric", nearest_mode="floor")
            side *= 2
            x = net.conv(x, channels, channels, 3)
    x = net.conv(silu(net, group_norm(net, x, channels)), channels, 4, 3)
    net.save(path, {"sample": [1, 4, 32, 32], "step": [1, 64], "text": [1, 77, 256]}, x,
             [1, 4, 32, 32])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    vocoder(out / "vocoder.onnx")
    unet_diffusion(out / "unet_diffusion.onnx")


if __name__ == "__main__":
    main()
