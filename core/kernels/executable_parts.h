#pragma once

// What the executables of all backends share.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/memory_plan.h"
#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::kernels {

// A value that goes in or out: its type and layout, and where it lies on the device.
template <typename Address>
struct Port {
  Operand operand;
  Address address{};
};

// The copy of a value in whichever layout it first has; of one with an input buffer the one that is
// set, not one that a kernel makes of it. `places`: where the values of the graph lie.
template <typename Address>
Port<Address> PortOf(const model::Graph& graph, model::ValueId id,
                     const std::map<Slot, Address>& places,
                     const std::optional<Address>& input_buffer) {
  const model::TensorType& type = graph.value(id).type;
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    const auto found = places.find(Slot{id, layout});
    if (found == places.end() || (input_buffer && *input_buffer != found->second)) continue;
    return {Operand{type, false, layout}, found->second};
  }
  return {Operand{type}};
}

// INVALID_ARGUMENT unless the tensors are as many as the ports, and of their types.
template <typename Address>
absl::Status CheckInputs(const std::vector<model::Tensor>& inputs,
                         const std::vector<Port<Address>>& ports) {
  if (inputs.size() != ports.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("executable: ", ports.size(), " inputs wanted, ", inputs.size(), " given"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type() == ports[i].operand.type) continue;
    return absl::InvalidArgumentError(absl::StrCat("executable: input ", i, " is ",
                                                   ToString(inputs[i].type()), ", not ",
                                                   ToString(ports[i].operand.type)));
  }
  return absl::OkStatus();
}

// For errors: "node 'NAME' (OP)".
inline std::string Describe(const model::Graph& graph, const KernelGroup& group) {
  if (group.nodes.empty()) return group.spec.op;
  const model::Node& node = graph.node(group.nodes[0]);
  return absl::StrCat("node '", node.name, "' (", node.op, ")");
}

}  // namespace quotient::kernels
