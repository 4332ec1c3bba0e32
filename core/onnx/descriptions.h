#pragma once

// What a model says about its graph beside nodes and weights: opsets, types of inner values,
// quantization annotations, and initializers that only such things refer to.

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
  bool bind_types;  // take numbers in types from the graph
};

// Drops from `out`, a copy of the original with all nodes in place, the descriptions of values that
// are gone, and defines the initializers that stay although no node reads them: defaults of inputs,
// quantization parameters, and all of them if there is training information. Call when all
// constants that nodes read have been defined.
void KeepDescriptions(const WrittenGraph& written, ConstantWriter& constants, GraphProto* out);

}  // namespace quotient::onnx
