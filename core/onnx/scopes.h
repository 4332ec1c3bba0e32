#pragma once

// Names and order in graphs: what a subgraph captures from outside, and in which order nodes run.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/names.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// The names that the subgraphs of a node use and do not define themselves, each once, in order of
// first use.
std::vector<std::string> CapturedNames(const NodeProto& node);

// Takes every name that the node or a graph inside it defines or uses.
void TakeNames(const NodeProto& node, NamePool& names);

// A text for messages: "node 3 'conv1' (Conv)".
std::string NodeLabel(int64_t index, const NodeProto& node);

// An order in which every node stands behind the producers of what it reads, captures included:
// the given order if it is one (ONNX demands that), else the nearest one to it. MODEL_CYCLIC naming
// a node on a cycle. `where` is put before the node.
absl::StatusOr<std::vector<int>> TopologicalOrder(
    const google::protobuf::RepeatedPtrField<NodeProto>& nodes, absl::string_view where);

}  // namespace quotient::onnx
