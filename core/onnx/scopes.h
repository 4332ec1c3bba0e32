#pragma once

// Names and order in graphs: which values subgraphs capture, and in which order nodes run.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/names.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Returns the names that the subgraphs of a node use but do not define, each once, in order of
// first use.
std::vector<std::string> CapturedNames(const NodeProto& node);

// Marks in `names` every name that the node, or a graph inside it, defines or uses.
void TakeNames(const NodeProto& node, NamePool& names);

// Describes a node in messages: "node 3 'conv1' (Conv)".
std::string NodeLabel(int64_t index, const NodeProto& node);

// Returns an order in which every node comes after the producers of the values that it reads or
// captures. That is the given order if it is topological, as ONNX demands. Otherwise each position
// gets the first node in the given order that can run. Fails with MODEL_CYCLIC, naming a node on a
// cycle; `where` is put before its name.
absl::StatusOr<std::vector<int>> TopologicalOrder(
    const google::protobuf::RepeatedPtrField<NodeProto>& nodes, absl::string_view where);

}  // namespace quotient::onnx
