#include "core/optimize/footprint.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/kernels/storage.h"
#include "core/model/tensor.h"
#include "core/os/memory.h"

namespace quotient::optimize {
namespace {

using model::Graph;
using model::ValueId;

// How the bytes of a type are counted.
using Size = double (*)(const model::TensorType& type);

// Returns the bytes of a value in the model's own type, or 0 if the type is not static: such values
// are cut out and never computed.
double PlainBytes(const model::TensorType& type) {
  if (!type.is_static()) return 0;
  const std::optional<int64_t> bytes = model::Tensor::ByteSize(type.dtype, type.dims());
  return bytes ? static_cast<double>(*bytes) : std::numeric_limits<double>::infinity();
}

// Returns the bytes of a value as kernels store it on a CPU (kernels::Storage::kWide). On a GPU a
// value takes no more than that.
double StoredBytes(const model::TensorType& type) {
  const int bits = model::DTypeBits(type.dtype);
  const int stored = model::DTypeBits(kernels::StorageType(type.dtype));
  return PlainBytes(type) * (bits > 0 ? static_cast<double>(stored) / bits : 1);
}

double BytesOf(const Graph& graph, std::span<const ValueId> ids, Size size) {
  double bytes = 0;
  for (ValueId id : ids) bytes += id.valid() ? size(graph.value(id).type) : 0;
  return bytes;
}

// Returns the most bytes that the nodes' results take at one time. A result is counted from when it
// is computed until its last reader has run.
double PeakBytes(const Graph& graph, Size size) {
  std::vector<int> readers(graph.values.size(), 0);
  for (const model::Node& node : graph.nodes) {
    for (ValueId id : node.inputs) readers[id.valid() ? id.value() : 0] += id.valid() ? 1 : 0;
  }
  for (ValueId id : graph.outputs) ++readers[id.value()];  // to the end
  double live = 0, peak = 0;
  const auto free_unread = [&](ValueId id) {
    if (id.valid() && readers[id.value()] == 0) live -= size(graph.value(id).type);
  };
  for (const model::Node& node : graph.nodes) {
    live += BytesOf(graph, node.outputs, size);
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

double ConstantBytes(const Graph& graph, Size size) {
  double bytes = 0;
  for (const model::Value& value : graph.values) {
    if (value.constant.has_value()) bytes += size(value.type);
  }
  return bytes;
}

// Kernels that run the same operator share what they pack; others may need the same constant in
// another form. Candidates may all have other constants.
double PackedBytes(const Graph& graph) {
  absl::flat_hash_set<std::pair<ValueId, absl::string_view>> packed;
  double bytes = 0;
  for (const model::Node& node : graph.nodes) {
    for (ValueId id : node.inputs) {
      if (!id.valid() || !graph.is_constant(id) || !packed.emplace(id, node.op).second) continue;
      bytes += StoredBytes(graph.value(id).type);
    }
  }
  return bytes;
}

// Returns the bytes of all inputs and outputs of the largest node. A running kernel needs at most
// about as much scratch memory, and so does timing it.
double LargestNodeBytes(const Graph& graph) {
  double largest = 0;
  for (const model::Node& node : graph.nodes) {
    largest = std::max(largest, BytesOf(graph, node.inputs, StoredBytes) +
                                    BytesOf(graph, node.outputs, StoredBytes));
  }
  return largest;
}

bool LiesIn(absl::string_view file, std::span<const std::byte> bytes) {
  const std::less_equal<const void*> is_at_or_before;
  return is_at_or_before(file.data(), bytes.data()) &&
         is_at_or_before(bytes.data() + bytes.size(), file.data() + file.size());
}

double OwnConstantBytes(const ModelFiles& files, const Graph& graph) {
  double bytes = 0;
  for (const model::Value& value : graph.values) {
    if (!value.constant.has_value()) continue;
    const std::span<const std::byte> constant = value.constant->bytes();
    const bool is_read = LiesIn(files.model, constant) ||
                         std::ranges::any_of(files.external_data, [&](const auto& file) {
                           return LiesIn(file.second, constant);
                         });
    if (!is_read) bytes += static_cast<double>(constant.size());
  }
  return bytes;
}

// Candidates refer to the constants that they have in common with the original, but may have folded
// all of them. The file of the result has all constants once more.
double BytesOfModels(const Graph& graph, const JobLoad& load) {
  return load.own_constant_bytes + (load.candidates + 1) * ConstantBytes(graph, PlainBytes);
}

double BytesToCheck(const Graph& graph, int input_sets) {
  constexpr double kWide = 2;  // The evaluator's numbers are doubles.
  const double inputs = BytesOf(graph, graph.inputs, PlainBytes);
  const double outputs = BytesOf(graph, graph.outputs, PlainBytes);
  // For each set of inputs there are three tensors per output: that of the original, that of the
  // candidate being compared, and how far rounding moves each element.
  const double sets = input_sets * (inputs + 3 * outputs);
  return sets + kWide * (inputs + PeakBytes(graph, PlainBytes));
}

double BytesToTimeKernels(const Graph& graph) {
  // The random floats that stand for constants (kernels::FootprintLog2), and for activations.
  constexpr double kMostOfConstants = 1 << 28, kOfActivations = 1 << 24;
  const double constants = std::min(ConstantBytes(graph, StoredBytes), kMostOfConstants);
  return constants + kOfActivations + LargestNodeBytes(graph);
}

double BytesOfExecutable(const Graph& graph) {
  return PackedBytes(graph) + BytesOf(graph, graph.inputs, StoredBytes) +
         PeakBytes(graph, StoredBytes) + LargestNodeBytes(graph);
}

// Searching takes memory for each e-node, and libraries for each kernel that they compile.
double BytesToSearch(const Graph& graph) {
  constexpr double kAlways = 1 << 26, kForEachNode = 1 << 16;
  return kAlways + kForEachNode * static_cast<double>(graph.nodes.size());
}

}  // namespace

JobLoad LoadOf(const ModelFiles& files, const Graph& graph, RunBy by, int input_sets,
               int candidates) {
  JobLoad load = {.own_constant_bytes = OwnConstantBytes(files, graph),
                  .input_sets = input_sets,
                  .candidates = candidates};
  if (by == RunBy::kNothing) return load;
  load.loaded = 1 + candidates;
  const auto fit = static_cast<int>(FilesThatFit(graph));
  if (by == RunBy::kFiles) load.loaded = std::min(load.loaded, fit);
  return load;
}

double BytesToRun(const Graph& graph, const JobLoad& load) {
  const double running =
      load.loaded > 0 ? BytesToTimeKernels(graph) + load.loaded * BytesOfExecutable(graph) : 0;
  return BytesToSearch(graph) + BytesOfModels(graph, load) + BytesToCheck(graph, load.input_sets) +
         running;
}

double BytesOfConstants(const Graph& graph) { return ConstantBytes(graph, PlainBytes); }

size_t FilesThatFit(const Graph& graph) {
  // What a job takes beside the files: the programs, the search, the candidates.
  constexpr double kOthers = 200e6;
  constexpr double kLeast = 2, kMost = 100;
  const double bound = 3 * ConstantBytes(graph, PlainBytes) + 300e6;
  const double files = (bound - kOthers) / std::max(BytesOfExecutable(graph), 1.0);
  return static_cast<size_t>(std::clamp(files, kLeast, kMost));
}

absl::Status CheckFits(const Graph& graph, const JobLoad& load) {
  const double bytes = BytesToRun(graph, load);
  const auto memory = static_cast<double>(os::MemoryBytes());
  const double usable = os::kShareToUse * memory;
  if (bytes <= usable) return absl::OkStatus();
  return MakeError(
      Reason::kModelUnsupported,
      absl::StrFormat(
          "checking and measuring would take about %.1f GiB, and a job may use %.1f GiB, "
          "%.0f %% of a memory of %.1f GiB (--measure-shape can give symbolic dimensions "
          "less)",
          bytes / (1 << 30), usable / (1 << 30), 100 * os::kShareToUse, memory / (1 << 30)));
}

}  // namespace quotient::optimize
