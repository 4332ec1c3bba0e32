#include "core/optimize/subject.h"

#include <span>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace quotient::optimize {
namespace {

// The values of a cut graph that are inputs or outputs of its model. `prefix` begins their keys
// (verify::CutGraph).
std::vector<kernels::FileValue> ValuesOfModel(const model::Graph& graph,
                                              const std::vector<model::ValueId>& ids,
                                              const std::vector<std::string>& keys,
                                              absl::string_view prefix) {
  std::vector<kernels::FileValue> values;
  for (size_t i = 0; i < ids.size(); ++i) {
    absl::string_view name = keys[i];
    if (!absl::ConsumePrefix(&name, prefix)) continue;
    values.push_back({ids[i], std::string(name), graph.value(ids[i]).type});
  }
  return values;
}

// The outputs of a file that are asked for: those of the cut, in its order. If nodes were cut out,
// nothing is compared with the reference, and all outputs of the file are asked for, because the
// cut may have none of them.
std::vector<kernels::FileValue> RequestedOutputs(const Subject& subject) {
  const model::Graph& read = subject.read;
  const verify::CutGraph& cut = subject.cut;
  absl::flat_hash_set<absl::string_view> of_file;
  std::vector<kernels::FileValue> values;
  const auto outputs = std::span(read.outputs);
  for (const model::ValueId id : outputs.first(outputs.size() - subject.kept_values)) {
    const model::Value& output = read.value(id);
    of_file.insert(output.name);
    values.push_back({id, output.name, output.type});
  }
  if (cut.cut_nodes > 0) return values;
  values = ValuesOfModel(cut.graph, cut.graph.outputs, cut.output_keys, "output ");
  std::erase_if(values, [&](const auto& value) { return !of_file.contains(value.name); });
  return values;
}

absl::StatusOr<std::unique_ptr<kernels::Executable>> Compile(const Subject& subject,
                                                             const kernels::Backend& backend,
                                                             const kernels::PlanChoice& plans) {
  if (!backend.runs_files()) return backend.CompileGraph(subject.cut.graph, plans);
  return backend.CompileFile(subject.file, {InputsOfFile(subject.cut), RequestedOutputs(subject)});
}

}  // namespace

std::vector<kernels::FileValue> InputsOfFile(const verify::CutGraph& cut) {
  return ValuesOfModel(cut.graph, cut.graph.inputs, cut.input_keys, "input ");
}

absl::StatusOr<std::unique_ptr<kernels::Executable>> CompileSubject(
    const Subject& subject, const std::vector<model::Tensor>& inputs,
    const kernels::Backend& backend, const kernels::PlanChoice& plans) {
  const model::Graph& graph = subject.cut.graph;
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Executable> executable,
                            Compile(subject, backend, plans));
  absl::flat_hash_map<model::ValueId, size_t> position;
  for (size_t i = 0; i < graph.inputs.size(); ++i) position.emplace(graph.inputs[i], i);
  std::vector<model::Tensor> wanted;
  for (model::ValueId id : executable->input_values()) {
    const auto at = position.find(id);
    if (at == position.end()) {
      return absl::InternalError("the executable has an input that the model has not");
    }
    wanted.push_back(inputs[at->second]);
  }
  QUOTIENT_RETURN_IF_ERROR(executable->SetInputs(wanted));
  return executable;
}

}  // namespace quotient::optimize
