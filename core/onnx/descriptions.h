#pragma once

// Writes the parts of a model that describe its graph: opsets, types of inner values, quantization
// annotations, and the initializers that only such parts refer to.

#include "core/model/graph.h"
#include "core/onnx/constant_writer.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"
#include "core/onnx/value_names.h"

namespace quotient::onnx {

// Sets the version of the default domain.
void SetOpset(int opset, ModelProto* model);

struct WrittenGraph {
  const Skeleton& skeleton;
  const model::Graph& graph;
  const ValueNames& names;
  bool bind_types;  // WriteOptions::bind_types.
};

// `out` is a copy of the original graph that already has the new nodes. Removes the descriptions of
// values that no longer exist, and defines the initializers that are kept although no node reads
// them: defaults of inputs, quantization parameters, and all initializers if there is training
// information. All constants that nodes read must have been defined before.
void KeepDescriptions(const WrittenGraph& written, ConstantWriter& constants, GraphProto* out);

// Adds the types of the values that nodes of `out` compute, are known, and are neither outputs nor
// described yet, and the numbers that are missing in those that are described.
void AnnotateTypes(const model::Graph& graph, const ValueNames& names, GraphProto* out);

}  // namespace quotient::onnx
