#include "core/kernels/onnxruntime/traced_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/node_kernel.h"
#include "core/kernels/onnxruntime/sliced_run.h"
#include "core/onnx/runtime_graph.h"

namespace quotient::kernels::onnxruntime {
namespace {

// A store with the values of a file. Its operands are in the book as long as it is there.
class Trace {
 public:
  Trace(HelperClient* client, OperandBook* book, StoreId store)
      : client_(*client), book_(*book), store_(store) {}
  Trace(const Trace&) = delete;
  ~Trace() {
    book_.Forget(store_);
    client_.Drop(store_);
  }

 private:
  HelperClient& client_;
  OperandBook& book_;
  const StoreId store_;
};

// The class of what passes through the caches between two reads of a constant: a run reads every
// constant once, and writes every other value. Rounded up, since caches also hold what they do not
// need.
int FootprintOf(const Summaries& summaries) {
  int64_t bytes = 0;
  for (const auto& [name, summary] : summaries) {
    if (summary.type.is_static()) bytes += summary.type.bytes();
  }
  return FootprintLog2(2 * bytes - 1);
}

// Values in blocked layouts have names of their own. By such a name: that of the value which a
// change of layout makes of it.
using PlainNames = absl::flat_hash_map<std::string, std::string>;

PlainNames PlainNamesOf(const onnx::RuntimeGraph& graph) {
  PlainNames names;
  for (const onnx::RuntimeNode& node : graph.nodes) {
    if (node.op != "ReorderOutput") continue;
    // One that brings channels to the end computes a Transpose as well.
    const bool transposes =
        !node.attributes.has_value() || node.attributes->GetInt("channels_last", 0) != 0;
    if (!transposes) names.emplace(node.inputs[0], node.outputs[0]);
  }
  return names;
}

// What a node may be known by in the file. Nodes in blocked layouts are called by the value that
// they computed before, also factors and normalizations that became a Conv of single channels:
// "value_mul_nchwc", "value_bn_nchwc". Fused ones are called by the first node that they were:
// "node/MatMulAddFusion". All others keep their names.
std::vector<std::string> NamesOf(const onnx::RuntimeNode& node, const PlainNames& plain) {
  std::vector<std::string> names = node.outputs;
  for (const std::string& output : node.outputs) {
    const auto found = plain.find(output);
    if (found != plain.end()) names.push_back(found->second);
  }
  absl::string_view name = node.name;
  if (absl::ConsumeSuffix(&name, "_nchwc")) {
    names.emplace_back(name);
    if (absl::ConsumeSuffix(&name, "_mul") || absl::ConsumeSuffix(&name, "_bn")) {
      names.emplace_back(name);
    }
  }
  if (!name.empty()) names.emplace_back(name);
  absl::ConsumeSuffix(&name, "/");
  if (const size_t slash = name.rfind('/'); slash != absl::string_view::npos) {
    names.emplace_back(name.substr(0, slash));
  }
  return names;
}

bool ReadsConstants(const KernelSpec& spec) {
  for (const Operand& input : spec.inputs) {
    if (input.constant) return true;
  }
  return false;
}

}  // namespace

void OperandBook::Add(const std::string& key, Operands operands) {
  const absl::MutexLock lock(&mutex_);
  by_key_.try_emplace(key, std::move(operands));
}

std::optional<OperandBook::Operands> OperandBook::Find(const std::string& key) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second);
}

void OperandBook::Forget(StoreId store) {
  const absl::MutexLock lock(&mutex_);
  absl::erase_if(by_key_, [store](const auto& entry) {
    const StoreId& other = entry.second.store;
    return other.process == store.process && other.store == store.store;
  });
}

absl::StatusOr<FileKernels> TraceFile(HelperClient* client, OperandBook* book,
                                      const ModelFile& file, std::span<const NamedTensor> inputs,
                                      int threads, int footprint_log2) {
  QUOTIENT_ASSIGN_OR_RETURN(const Dump dump, client->Optimize(file));
  const absl::StatusOr<onnx::RuntimeGraph> graph = onnx::ReadRuntimeGraph(dump.model);
  if (!graph.ok()) return absl::InternalError(graph.status().message());
  StoreId store;
  const absl::StatusOr<Summaries> summaries = RunInSlices(*client, dump, inputs, &store);
  FileKernels kernels;
  kernels.operands = std::make_shared<const Trace>(client, book, store);
  QUOTIENT_RETURN_IF_ERROR(summaries.status());
  const int footprint = footprint_log2 > 0 ? footprint_log2 : FootprintOf(*summaries);
  const PlainNames plain = PlainNamesOf(*graph);
  for (const onnx::RuntimeNode& node : graph->nodes) {
    FileKernel& kernel = kernels.kernels.emplace_back();
    kernel.op = node.op;
    kernel.label = LabelOf(node.name, node.op);
    kernel.names = NamesOf(node, plain);
    absl::StatusOr<KernelSpec> spec = SpecOfNode(node, *graph, *summaries);
    if (!spec.ok()) continue;
    spec->threads = threads;
    spec->constant_footprint_log2 = ReadsConstants(*spec) ? footprint : 0;
    book->Add(KernelKey(*spec), {store, node.inputs});
    kernel.spec = *std::move(spec);
  }
  return kernels;
}

}  // namespace quotient::kernels::onnxruntime
