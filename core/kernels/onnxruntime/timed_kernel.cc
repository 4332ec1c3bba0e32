// A kernel costs what it adds to a model, in the form that ONNX Runtime gives it: fused, and in
// blocked layouts. So one of ours is optimized alone first. Then the nodes that this left are put
// into a model once, and into another one many times, each time with constants of their own, which
// are not in the cache when they are read. The difference of the times of both, by the number of
// nodes more, is the kernel's.

#include "core/kernels/onnxruntime/timed_kernel.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/kernel_graph.h"
#include "core/kernels/onnxruntime/node_kernel.h"
#include "core/kernels/onnxruntime/written_graph.h"
#include "core/onnx/repeat_nodes.h"

namespace quotient::kernels::onnxruntime {
namespace {

// How often the nodes are there in the larger model, if they take `once_us` in the smaller one.
int CopiesOf(const KernelSpec& spec, int64_t constant_bytes, double once_us) {
  constexpr double kFewest = 2;
  constexpr double kMost = 8;
  const double bytes_per_us = static_cast<double>(constant_bytes) / once_us;
  const auto copies_of_region = [&](int64_t region) {
    region = std::min(region, int64_t{1} << spec.constant_footprint_log2);
    return static_cast<double>(region) / static_cast<double>(constant_bytes);
  };
  // Constants that take long to read are not in the cache: all copies of them together are as large
  // as all of the model's, or than any cache. What was read faster than memory can be came from a
  // cache, even a large one.
  constexpr double kSlow = 1e3;
  constexpr double kFasterThanMemory = 1e4;
  if (bytes_per_us > kFasterThanMemory) {
    constexpr double kMostToRead = 64;
    return static_cast<int>(std::clamp(copies_of_region(int64_t{1} << 26), kFewest, kMostToRead));
  }
  if (bytes_per_us > kSlow) {
    return static_cast<int>(std::clamp(copies_of_region(int64_t{1} << 24), kFewest, kMost));
  }
  // Else a run is long enough to be timed well, and short enough to be disturbed rarely.
  constexpr double kRunUs = 500;
  return static_cast<int>(std::clamp(kRunUs / once_us, kFewest, kMost));
}

// A model of the helper, unloaded with the object.
class LoadedModel {
 public:
  static absl::StatusOr<LoadedModel> Load(HelperClient* client, const ModelFile& file) {
    LoadedModel loaded(client);
    QUOTIENT_ASSIGN_OR_RETURN(loaded.id_, client->Load(file, Level::kCopies));
    return loaded;
  }
  LoadedModel(LoadedModel&& other) noexcept
      : client_(other.client_), id_(std::exchange(other.id_, {})) {}
  ~LoadedModel() { client_->Unload(id_); }

  absl::Status Feed(std::span<const NamedTensor> inputs, std::span<const KeptTensor> kept,
                    std::span<const std::string> outputs) {
    return client_->Feed(id_, inputs, kept, outputs);
  }
  absl::StatusOr<DeviceReading> Run(int times) const { return client_->Run(id_, times); }
  // The least time of a few runs.
  absl::StatusOr<double> LeastUs() const {
    double least_us = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceReading reading, Run(1));
      least_us = std::min(least_us, reading.us);
    }
    return least_us;
  }

 private:
  explicit LoadedModel(HelperClient* client) : client_(client) {}

  HelperClient* const client_;
  SessionId id_;
};

class TimedKernel : public CompiledKernel {
 public:
  // `once_us` is the least time of a run of `once` so far, and `constant_bytes` are those of one
  // copy.
  TimedKernel(LoadedModel once, double once_us, LoadedModel many, int copies,
              int64_t constant_bytes, int64_t bytes)
      : once_(std::move(once)),
        many_(std::move(many)),
        copies_(copies),
        in_turns_(copies * constant_bytes >= kBeyondSecondLevelCaches),
        bytes_(bytes),
        least_once_us_(once_us) {}

  absl::Status Run(int times) override {
    const int more = copies_ - 1;
    const int runs = (times + more - 1) / more;
    const int block = in_turns_ ? 1 : runs;
    DeviceReading many{.us = 0, .clean = true};
    for (int done = 0; done < runs; done += block) {
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceReading part, RunBoth(block));
      many.us += part.us;
      many.clean = many.clean && part.clean;
    }
    const double us = (many.us / runs - least_once_us_) / more;
    reading_ = {std::max(us, 0.0) * times, many.clean};
    return absl::OkStatus();
  }

  std::optional<DeviceReading> reading() const override { return reading_; }
  int64_t bytes() const override { return bytes_; }

 private:
  // Copies with fewer constants find them in the same cache, however often the two models run.
  static constexpr int64_t kBeyondSecondLevelCaches = int64_t{1} << 20;

  // Runs both models so often, and says what the larger one took.
  absl::StatusOr<DeviceReading> RunBoth(int runs) {
    QUOTIENT_ASSIGN_OR_RETURN(const DeviceReading once, once_.Run(runs));
    least_once_us_ = std::min(least_once_us_, once.us / runs);
    return many_.Run(runs);
  }

  const LoadedModel once_;
  const LoadedModel many_;
  const int copies_;     // In many_.
  const bool in_turns_;  // Run by run. Else all runs of one model come first.
  const int64_t bytes_;
  // The least time of a run of once_ so far. Noise only ever adds to a time, and what it adds here
  // would make the kernel look faster.
  double least_once_us_;
  DeviceReading reading_;
};

// Whether a run of a kernel alone, which takes `once_us`, tells what it takes in a model: it takes
// so long that starting it counts for nothing, and it has no constants, or finds them in memory and
// not in a cache.
bool IsLarge(int64_t constant_bytes, double once_us) {
  constexpr int64_t kBeyondCaches = int64_t{1} << 26;
  constexpr double kLongUs = 1000;
  return once_us >= kLongUs && (constant_bytes == 0 || constant_bytes >= kBeyondCaches);
}

// Such a kernel. Copies of it would take memory and tell nothing more.
class LargeKernel : public CompiledKernel {
 public:
  LargeKernel(LoadedModel once, int64_t bytes) : once_(std::move(once)), bytes_(bytes) {}

  absl::Status Run(int times) override {
    QUOTIENT_ASSIGN_OR_RETURN(reading_, once_.Run(times));
    return absl::OkStatus();
  }

  std::optional<DeviceReading> reading() const override { return reading_; }
  int64_t bytes() const override { return bytes_; }

 private:
  const LoadedModel once_;
  const int64_t bytes_;
  DeviceReading reading_;
};

// A kernel that ONNX Runtime optimizes away: running it takes no time.
class NothingToDo : public CompiledKernel {
 public:
  absl::Status Run(int) override { return absl::OkStatus(); }
  std::optional<DeviceReading> reading() const override { return DeviceReading{}; }
};

// A graph whose nodes are timed, and what it reads.
struct Timed {
  std::string model;
  // The files that the model refers to: those of a dump, or constants.
  Dump dump;
  std::map<std::string, model::Tensor> constants;
  onnx::Borders borders = onnx::Borders::kElsewhere;
  onnx::Memory memory = onnx::Memory::kKept;
  std::vector<NamedTensor> inputs;
  std::vector<KeptTensor> kept;  // The other inputs.
  int64_t constant_bytes = 0;
};

// A kernel of ours, as ONNX Runtime optimizes it alone.
absl::StatusOr<Timed> OptimizedAlone(HelperClient* client, const KernelSpec& spec) {
  QUOTIENT_ASSIGN_OR_RETURN(KernelGraph kernel, GraphOfKernel(spec));
  QUOTIENT_ASSIGN_OR_RETURN(const WrittenGraph written, WriteGraph(kernel.graph));
  Timed timed{.constant_bytes = kernel.constant_bytes};
  QUOTIENT_ASSIGN_OR_RETURN(timed.dump, client->Optimize(written.file));
  timed.model = std::move(timed.dump.model);
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    timed.inputs.push_back({written.values.inputs[i].name, std::move(kernel.inputs[i])});
  }
  return timed;
}

// A node of a graph that ONNX Runtime has optimized, as it is.
Timed NodeAsItIs(const OperandBook& book, const KernelSpec& spec) {
  NodeModel node = ModelOfNode(spec);
  Timed timed{.model = std::move(node.bytes),
              .constants = std::move(node.weights),
              .borders = onnx::Borders::kRepeated,
              .constant_bytes = node.constant_bytes};
  const std::optional<OperandBook::Operands> operands = book.Find(KernelKey(spec));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (operands.has_value()) {
      timed.kept.push_back(
          {node.inputs[i].name, operands->store, operands->values[node.operands[i]]});
    } else {
      timed.inputs.push_back(std::move(node.inputs[i]));
    }
  }
  return timed;
}

// The results of several copies of a kernel, if they are large, do not fit into the cache in which
// each alone would be. A Shape that frees them takes about 0.3 us, which only counts for kernels
// with small ones.
onnx::Memory MemoryOf(const KernelSpec& spec) {
  constexpr int64_t kLarge = int64_t{1} << 18;
  int64_t bytes = 0;
  for (const Operand& output : spec.outputs) {
    if (output.type.is_static()) bytes += StorageBytes(output.type);
  }
  return bytes >= kLarge ? onnx::Memory::kFreed : onnx::Memory::kKept;
}

// What models hold that have the nodes of `timed` so many times, all together: constants as they
// are in a file and as they are packed, and the operands and results of one of them.
int64_t BytesHeld(const KernelSpec& spec, const Timed& timed, int times) {
  constexpr int64_t kForms = 2;
  int64_t bytes = kForms * times * timed.constant_bytes;
  const auto add = [&bytes](const Operand& operand) {
    if (!operand.constant && operand.type.is_static()) bytes += StorageBytes(operand.type);
  };
  std::ranges::for_each(AllOperands(spec), add);
  std::ranges::for_each(spec.outputs, add);
  return bytes;
}

// Loads a model that has the nodes of `timed` once or several times. In the file that the helper
// gets, each of them has weights of its own, which differ from those of all others: ONNX Runtime
// packs equal ones once, and then they are in the cache.
absl::StatusOr<LoadedModel> LoadRepeated(HelperClient* client, const Timed& timed,
                                         const onnx::RepeatedModel& repeated) {
  ModelFile file = timed.dump.FileOf(repeated.bytes);
  for (const auto& [location, constant] : timed.constants) {
    file.external_data[location] = model::BytesOf(constant);
  }
  QUOTIENT_ASSIGN_OR_RETURN(LoadedModel loaded, LoadedModel::Load(client, file));
  QUOTIENT_RETURN_IF_ERROR(loaded.Feed(timed.inputs, timed.kept, repeated.outputs));
  return loaded;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledKernel>> LoadKernel(HelperClient* client,
                                                           const OperandBook& operands,
                                                           const KernelSpec& spec) {
  Timed timed;
  if (IsNodeSpec(spec)) {
    timed = NodeAsItIs(operands, spec);
  } else if (spec.op == kReorderOp) {
    QUOTIENT_ASSIGN_OR_RETURN(const KernelSpec node, SpecOfReorder(spec));
    timed = NodeAsItIs(operands, node);
  } else {
    QUOTIENT_ASSIGN_OR_RETURN(timed, OptimizedAlone(client, spec));
  }
  timed.memory = MemoryOf(spec);
  const auto nodes = onnx::RepeatNodes(timed.model, 1, timed.borders, timed.memory);
  if (absl::IsNotFound(nodes.status())) return std::make_unique<NothingToDo>();
  QUOTIENT_RETURN_IF_ERROR(nodes.status());
  QUOTIENT_ASSIGN_OR_RETURN(LoadedModel once, LoadRepeated(client, timed, *nodes));
  QUOTIENT_ASSIGN_OR_RETURN(const double once_us, once.LeastUs());
  if (IsLarge(timed.constant_bytes, once_us)) {
    return std::make_unique<LargeKernel>(std::move(once), BytesHeld(spec, timed, 1));
  }
  const int copies = CopiesOf(spec, timed.constant_bytes, once_us);
  QUOTIENT_ASSIGN_OR_RETURN(const onnx::RepeatedModel copied,
                            onnx::RepeatNodes(timed.model, copies, timed.borders, timed.memory));
  QUOTIENT_ASSIGN_OR_RETURN(LoadedModel many, LoadRepeated(client, timed, copied));
  return std::make_unique<TimedKernel>(std::move(once), once_us, std::move(many), copies,
                                       timed.constant_bytes, BytesHeld(spec, timed, 1 + copies));
}

}  // namespace quotient::kernels::onnxruntime
