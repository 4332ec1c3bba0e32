#include "core/optimize/footprint.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/reason.h"
#include "core/model/tensor.h"
#include "core/os/memory.h"

namespace quotient::optimize {
namespace {

using model::ValueId;

double BytesOf(const model::TensorType& type) {
  if (!type.is_static()) return 0;
  const std::optional<int64_t> bytes = model::Tensor::ByteSize(type.dtype, type.dims());
  return bytes ? static_cast<double>(*bytes) : std::numeric_limits<double>::infinity();
}

double BytesOf(const model::Graph& graph, std::span<const ValueId> ids) {
  double bytes = 0;
  for (ValueId id : ids) bytes += id.valid() ? BytesOf(graph.value(id).type) : 0;
  return bytes;
}

// What the nodes produce, from when it is made until its last reader has run.
double PeakBytes(const model::Graph& graph) {
  std::vector<int> readers(graph.values.size(), 0);
  for (const model::Node& node : graph.nodes) {
    for (ValueId id : node.inputs) readers[id.valid() ? id.value() : 0] += id.valid() ? 1 : 0;
  }
  for (ValueId id : graph.outputs) ++readers[id.value()];  // to the end
  double live = 0, peak = 0;
  const auto free_unread = [&](ValueId id) {
    if (id.valid() && readers[id.value()] == 0) live -= BytesOf(graph.value(id).type);
  };
  for (const model::Node& node : graph.nodes) {
    live += BytesOf(graph, node.outputs);
    peak = std::max(peak, live);
    for (ValueId id : node.outputs) free_unread(id);
    for (ValueId id : node.inputs) {
      if (!id.valid() || !graph.value(id).producer.valid()) continue;
      --readers[id.value()];
      free_unread(id);
    }
  }
  return peak;
}

double ConstantBytes(const model::Graph& graph) {
  double bytes = 0;
  for (const model::Value& value : graph.values) {
    if (value.constant.has_value()) bytes += BytesOf(value.type);
  }
  return bytes;
}

}  // namespace

double BytesToRun(const model::Graph& graph, int input_sets, int executables) {
  const double inputs = BytesOf(graph, graph.inputs), outputs = BytesOf(graph, graph.outputs);
  const double peak = PeakBytes(graph);
  constexpr double kWide = 2;  // the evaluator's numbers are doubles
  const double checking = input_sets * (inputs + outputs) + kWide * (inputs + peak);
  const double running = executables * (ConstantBytes(graph) + inputs + peak);
  return checking + running;
}

absl::Status CheckFits(const model::Graph& graph, int input_sets, int executables) {
  constexpr double kShare = 0.75;
  const double bytes = BytesToRun(graph, input_sets, executables);
  const auto memory = static_cast<double>(os::MemoryBytes());
  if (bytes <= kShare * memory) return absl::OkStatus();
  return MakeError(
      Reason::kModelUnsupported,
      absl::StrFormat("checking and measuring would take about %.1f GiB, too much for a memory of "
                      "%.1f GiB (--measure-shape can give symbolic dimensions less)",
                      bytes / (1 << 30), memory / (1 << 30)));
}

}  // namespace quotient::optimize
