// Any bytes are a model or a refusal; what is a model can be inferred, folded, written, and read
// again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/eval/fold.h"
#include "core/model/graph.h"
#include "core/onnx/content_digest.h"
#include "core/onnx/detached_weights.h"
#include "core/onnx/external.h"
#include "core/onnx/reader.h"
#include "core/onnx/writer.h"
#include "core/ops/infer_graph.h"
#include "tests/fuzz/understood.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose

// Small, so that no input is slow or large by right.
onnx::Limits FuzzLimits() {
  onnx::Limits limits;
  limits.max_fields = 20'000;
  limits.max_nodes = 1'000;
  limits.max_tensor_bytes = int64_t{1} << 20;
  return limits;
}

void Check(bool condition, const absl::Status& status = absl::OkStatus()) {
  if (condition) return;
  std::cerr << status << "\n";
  std::abort();
}

eval::FoldLimits SmallFolds() {
  return {.max_result_bytes = 1 << 14, .max_scratch_bytes = 1 << 20, .max_operations = 1 << 20};
}

// A refusal says why.
template <typename T>
bool IsModelOrRefusal(const absl::StatusOr<T>& result) {
  if (!result.ok()) {
    const auto reason = GetReason(result.status());
    Check(reason.has_value() && reason != Reason::kInternal, result.status());
    Check(!result.status().message().empty());
  }
  return result.ok();
}

void WriteAndReadAgain(const onnx::Model& model, const model::Graph& graph,
                       const std::map<std::string, absl::string_view>& files) {
  for (const bool is_simplified : {false, true}) {
    onnx::WriteOptions options;
    options.external_location = "out.data";
    options.annotate_types = is_simplified;
    options.constants_as_initializers = is_simplified;
    const auto written = onnx::Write(model, graph, options);
    if (!IsModelOrRefusal(written)) return;
    auto again = files;
    again["out.data"] = written->external_data;
    const auto second = onnx::Read(written->bytes, again, FuzzLimits(), nullptr);
    Check(second.ok(), second.status());
    Check(second->graph.inputs.size() == graph.inputs.size());
    Check(second->graph.outputs.size() + model.kept_values == graph.outputs.size());
  }
}

void ReadAndWrite(absl::string_view bytes, const std::map<std::string, absl::string_view>& files,
                  const onnx::ReadOptions& options) {
  const absl::StatusOr<onnx::Model> model =
      onnx::Read(bytes, files, FuzzLimits(), nullptr, options);
  if (!IsModelOrRefusal(model)) return;
  Check(model::Validate(model->graph).ok());
  WriteAndReadAgain(*model, model->graph, files);
  model::Graph graph = model->graph;
  if (!ops::InferTypes(graph).ok()) return;
  WriteAndReadAgain(*model, graph, files);
  if (!eval::FoldConstants(graph, SmallFolds()).ok()) return;
  Check(model::Validate(graph).ok());
  WriteAndReadAgain(*model, graph, files);
}

// Names of some values that are no outputs.
std::vector<std::string> InnerValues(absl::string_view bytes,
                                     const std::map<std::string, absl::string_view>& files) {
  constexpr size_t kMost = 4;
  const auto model = onnx::Read(bytes, files, FuzzLimits(), nullptr);
  std::vector<std::string> names;
  if (!model.ok()) return names;
  testing::NoteUnderstood();
  for (const model::Node& node : model->graph.nodes) {
    for (const model::ValueId id : node.outputs) {
      if (!id.valid() || names.size() == kMost) continue;
      const std::string& name = model->graph.value(id).name;
      // What became several nodes has values that the file does not have.
      if (!model->inner_values.contains(name)) names.push_back(name);
    }
  }
  return names;
}

// A model without its weights is the same model with them beside it.
void DetachAndRead(absl::string_view bytes, const std::map<std::string, absl::string_view>& files) {
  const auto detached = onnx::DetachWeights(bytes, files, "weights", /*min_bytes=*/16);
  if (!IsModelOrRefusal(detached)) return;
  const auto whole = onnx::Read(bytes, files, FuzzLimits(), nullptr);
  if (!whole.ok()) return;
  const std::string weights = detached->weights.Write();
  std::map<std::string, absl::string_view> others = files;
  others["weights"] = weights;
  const auto apart = onnx::Read(detached->model, others, FuzzLimits(), nullptr);
  Check(apart.ok(), apart.status());
  const auto digest = onnx::ContentDigest(*whole);
  const auto other = onnx::ContentDigest(*apart);
  Check(digest.ok() && other.ok() && *digest == *other);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  // External tensors find data under two names.
  const std::string file(4096, '\1');
  const std::map<std::string, absl::string_view> files = {{"w.bin", file}, {"a/b", file}};

  IsModelOrRefusal(onnx::ExternalLocations(bytes, FuzzLimits()));
  DetachAndRead(bytes, files);
  for (const bool freeze : {false, true}) {
    ReadAndWrite(bytes, files, {.freeze_initializers = freeze});
  }
  ReadAndWrite(bytes, files, {.kept_values = InnerValues(bytes, files)});
  return 0;
}
