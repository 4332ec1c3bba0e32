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

// An input or output of an executable: its type and layout, and its address on the device.
template <typename Address>
struct Port {
  Operand operand;
  Address address{};
};

// The copy of a value in the first layout that exists. For a value with an input buffer it is that
// buffer, not a copy that a kernel makes. `places` has the addresses of the graph's values.
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

// Fails with INVALID_ARGUMENT unless the tensors match the ports in number and type.
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
