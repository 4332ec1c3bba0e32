"""Makes a small model with random weights for each operator that ONNX Runtime has a slow kernel for.

usage: make_slow_kernels.py OUT

    cubic.onnx, linear.onnx  a Resize between two Convs, and behind one as in segmentation networks
    mish.onnx, prelu.onnx    between two Convs; Mish as exporters write it before opset 18
    group_norm.onnx          GroupNormalization of opset 21 between two Convs
    einsum.onnx              scores of attention, projections and products all as Einsum
    dfl.onnx                 the head of YOLOv8: Softmax along an axis in the middle, and a Conv of it
    pruned.onnx              a residual network whose Convs were left with numbers of channels that are no multiples of four
    stft.onnx, stft_512.onnx the front of networks that hear: logarithms of mel energies, five seconds, 16 kHz
"""

import argparse
import pathlib

import numpy as np

from make_models import Net


def between_convs(path, seed, middle, opset=18, side=56):
    """`middle` gets the net, a value of 32 channels and their number, and returns a value and its side."""
    net = Net(seed)
    x, after = middle(net, net.conv("x", 32, 32, 3), 32)
    net.save(path, {"x": [1, 32, side, side]}, net.conv(x, 32, 16, 3), [1, 16, after, after], opset)


def cubic(net, x, channels):
    return net.op("Resize", x, "", "", net.ints(1, channels, 56, 56), mode="cubic"), 56


def mish(net, x, _):
    return net.op("Mul", x, net.op("Tanh", net.op("Softplus", x))), 56


def prelu(net, x, channels):
    return net.op("PRelu", x, net.floats(net.random.uniform(0.1, 0.4, (channels, 1, 1)))), 56


def group_norm(net, x, channels):
    return net.op("GroupNormalization", x, net.scales([channels]), net.weight([channels], 0.1), num_groups=8), 56


def linear(path):
    net = Net(seed=5)
    x = net.conv("x", 32, 21, 3)
    x = net.op("Resize", x, "", "", net.ints(1, 21, 224, 224), mode="linear")
    net.save(path, {"x": [1, 32, 28, 28]}, net.op("Sigmoid", x), [1, 21, 224, 224], 18)


def einsum(path):
    net = Net(seed=6)
    parts = [net.op("Einsum", "x", net.weight([768, 12, 64], 768**-0.5), equation="bnd,dhe->bnhe") for _ in range(2)]
    scores = net.op("Einsum", *parts, equation="bqhd,bkhd->bhqk")
    net.save(path, {"x": [1, 197, 768]}, net.op("Softmax", scores, axis=-1), [1, 12, 197, 197], 18)


def dfl(path):
    net = Net(seed=7)
    x = net.op("Transpose", net.op("Reshape", "x", net.ints(1, 4, 16, 8400)), perm=[0, 2, 1, 3])
    x = net.op("Conv", net.op("Softmax", x, axis=1), net.floats(np.arange(16).reshape(1, 16, 1, 1)))
    net.save(path, {"x": [1, 64, 8400]}, net.op("Reshape", x, net.ints(1, 4, 8400)), [1, 4, 8400], 18)


def stft(path, seed, length, step, samples=80000):
    net = Net(seed)
    window = net.floats(np.hanning(length + 1)[:length])
    frames, frequencies = (samples - length) // step + 1, length // 2 + 1
    x = net.op("STFT", "x", net.constant(np.int64(step)), window, net.constant(np.int64(length)))
    x = net.op("ReduceSum", net.op("Mul", x, x), net.ints(-1), keepdims=0)
    x = net.op("MatMul", x, net.floats(net.random.uniform(0, 2 / frequencies, (frequencies, 80))))
    x = net.op("Log", net.op("Add", x, net.floats(1e-6)))
    net.save(path, {"x": [1, samples, 1]}, x, [1, frames, 80], 18)


def pruned(path):
    net = Net(seed=10)
    x = net.op("MaxPool", net.op("Relu", net.conv("x", 3, 61, 3)), kernel_shape=[2, 2], strides=[2, 2])
    for inner in (43, 57, 38, 50):
        y = net.op("Relu", net.conv(x, 61, inner, 1))
        y = net.op("Relu", net.conv(y, inner, inner, 3))
        x = net.op("Relu", net.op("Add", x, net.conv(y, inner, 61, 1)))
    x = net.op("Flatten", net.op("GlobalAveragePool", net.op("Relu", net.conv(x, 61, 128, 1))))
    net.save(path, {"x": [1, 3, 56, 56]}, x, [1, 128], 18)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    between_convs(out / "cubic.onnx", 1, cubic, side=28)
    between_convs(out / "mish.onnx", 2, mish)
    between_convs(out / "prelu.onnx", 3, prelu)
    between_convs(out / "group_norm.onnx", 4, group_norm, opset=21)
    linear(out / "linear.onnx")
    einsum(out / "einsum.onnx")
    dfl(out / "dfl.onnx")
    pruned(out / "pruned.onnx")
    stft(out / "stft.onnx", 8, 400, 160)
    stft(out / "stft_512.onnx", 9, 512, 160)


if __name__ == "__main__":
    main()
