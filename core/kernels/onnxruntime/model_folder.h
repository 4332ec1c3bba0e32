#pragma once

// The folder in which a program and its helper process hand each other models. Nobody else can
// reach it, and one model at a time is there.

namespace quotient::kernels::onnxruntime {

// What the names of such folders begin with, in $TMPDIR or /tmp.
inline constexpr char kFolderName[] = "quotient-ort-";

inline constexpr char kModelFile[] = "model.onnx";
inline constexpr char kWeightsFile[] = "weights";  // What is large in the model.
inline constexpr char kDumpFile[] = "dump.onnx";   // The graph that runs, if it was asked for.
inline constexpr char kDumpWeightsFile[] = "dump.weights";  // What is large in it.

}  // namespace quotient::kernels::onnxruntime
