#pragma once

#include "core/model/graph.h"
#include "core/onnx/reader.h"

namespace quotient::onnx {

// Makes a model of a graph that was not read from a file, so that it can be written (writer.h). Its
// inputs are called "in0", "in1", ..., its outputs "out0", "out1", .... The types of inputs and
// outputs must be static.
Model NewModel(model::Graph graph, int opset);

}  // namespace quotient::onnx
