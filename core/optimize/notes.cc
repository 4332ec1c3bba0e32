#include "core/optimize/notes.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/counted.h"
#include "core/domain/facts.h"
#include "core/onnx/writer.h"
#include "core/ops/infer_graph.h"

namespace quotient::optimize {
namespace {

using Notes = std::vector<std::string>;
using Part = onnx::ObjectionAt::Part;

void AddOverridableInitializers(const onnx::Model& model, Notes& notes) {
  if (model.overridable_initializers > 0) {
    notes.push_back(
        absl::StrCat(Counted(model.overridable_initializers, "initializer"),
                     model.overridable_initializers == 1 ? " is an input" : " are inputs",
                     ", too, so a caller may override what would have to be constant: "
                     "--freeze-initializers takes them for constants"));
  }
  if (model.frozen_initializers > 0) {
    notes.push_back(absl::StrCat(Counted(model.frozen_initializers, "input"),
                                 " with an initializer became constants (--freeze-initializers): "
                                 "an optimized model does not have these inputs"));
  }
}

void AddInlinedCalls(const onnx::Model& model, Notes& notes) {
  if (model.inlined_calls == 0) return;
  notes.push_back(absl::StrCat(Counted(model.inlined_calls, "call"),
                               " of the model's own functions counted as the nodes that the "
                               "functions are made of"));
}

void AddCutNodes(int64_t cut_nodes, bool run_with_them, Notes& notes) {
  if (cut_nodes == 0) return;
  const bool is_one = cut_nodes == 1;
  notes.push_back(absl::StrCat(
      Counted(cut_nodes, "node"), is_one ? " is" : " are", " not understood, or ",
      is_one ? "its" : "their",
      " sizes are not known: ", run_with_them ? "checking cuts" : "checking and measuring cut",
      " the model there, ", is_one ? "it passes" : "they pass", " through untouched, and no ",
      run_with_them ? "prediction" : "time", " holds what ", is_one ? "it takes" : "they take"));
}

// Whether a dimension has a number in `measured` that neither follows from the inputs nor is
// declared.
bool HasAssumedSize(const model::Value& value, const model::TensorType& measured) {
  const model::TensorType& type = value.type;
  if (!type.has_rank() || !measured.has_rank() || type.rank() != measured.rank()) return false;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const bool is_declared = value.declared.has_rank() && value.declared.rank() == type.rank() &&
                             value.declared.dim(axis).is_number();
    const bool is_known = type.dim(axis).is_number() ||
                          !absl::StartsWith(type.dim(axis).symbol(), model::kInferredSymbol);
    if (!is_declared && !is_known && measured.dim(axis).Is(ops::kAssumedSize)) return true;
  }
  return false;
}

void AddAssumedSizes(const model::Graph& graph, const model::Graph& measured, Notes& notes) {
  const int64_t count = std::ranges::count_if(graph.nodes, [&](const model::Node& node) {
    return node.is_opaque() && std::ranges::any_of(node.outputs, [&](model::ValueId id) {
             return id.valid() && HasAssumedSize(graph.value(id), measured.value(id).type);
           });
  });
  if (count == 0) return;
  notes.push_back(absl::StrCat("sizes that only a run can tell, behind ", Counted(count, "node"),
                               ", were taken as ", ops::kAssumedSize, " for measuring"));
}

// A model is raised to newer opsets but never lowered to older ones.
void AddNewerOpset(int opset, int max_opset, Notes& notes) {
  if (max_opset == 0 || opset <= max_opset) return;
  notes.push_back(
      absl::StrCat("the model itself needs opset ", opset, ", so the result does, too"));
}

// Notes which operator keeps the model at an older opset than `wanted`, because rules then make no
// operators that are newer than that.
void AddKeptOpset(const onnx::Model& model, int wanted, Notes& notes) {
  const std::string op = onnx::OperatorThatKeepsOpset(model, wanted);
  if (op.empty()) return;
  const int highest = onnx::HighestOpset(model, wanted);
  notes.push_back(absl::StrCat(
      "operators newer than opset ", highest, " were not used: ", op, ", which opset ", highest + 1,
      " defines anew, stands in what is left as it is (a node, its subgraphs or a function)"));
}

void AddAssumedFiniteInputs(Notes& notes) {
  notes.push_back(absl::StrFormat(
      "as asked for, float inputs were taken to hold no NaN, no infinity and nothing beyond %g: "
      "guards against them may be gone",
      domain::kLargestAssumedInput));
}

// Tells whether the node or value that an objection is about is still in a result. Values are
// identified by name.
class Standing {
 public:
  explicit Standing(const onnx::Model& result) {
    for (const model::Node& node : result.graph.nodes) {
      for (const model::ValueId output : node.outputs) {
        if (output.valid()) made_.insert(result.graph.value(output).name);
      }
    }
    for (const onnx::ObjectionAt& objection : result.objections) {
      if (objection.part == Part::kDeclaration) declared_.insert(objection.value);
    }
  }

  // A node with an objection is written as it was read, or not at all, so its outputs identify it.
  bool Has(const onnx::ObjectionAt& objection) const {
    return (objection.part == Part::kNode ? made_ : declared_).contains(objection.value);
  }

 private:
  absl::flat_hash_set<absl::string_view> made_;      // Outputs of nodes.
  absl::flat_hash_set<absl::string_view> declared_;  // Values whose declaration is objected to.
};

}  // namespace

Notes NotesOnReading(const Prepared& original, const Options& options, bool run_with_cut_nodes) {
  Notes notes = original.stale_declarations;
  const Notes& shapes = original.shapes.notes;
  notes.insert(notes.end(), shapes.begin(), shapes.end());
  AddOverridableInitializers(original.model, notes);
  AddInlinedCalls(original.model, notes);
  AddCutNodes(original.cut.cut_nodes, run_with_cut_nodes, notes);
  AddAssumedSizes(original.graph, original.measured, notes);
  AddNewerOpset(original.model.opset, options.max_opset, notes);
  AddKeptOpset(original.model, WantedOpset(options, original.model), notes);
  if (options.assume_finite_inputs) AddAssumedFiniteInputs(notes);
  return notes;
}

Notes NotesOnObjections(const onnx::Model& original, const onnx::Model* result) {
  constexpr int64_t kMostShown = 5;
  Notes notes;
  if (original.objections.empty()) return notes;
  std::optional<Standing> standing;
  if (result != nullptr) standing.emplace(*result);
  int64_t count = 0;
  for (const onnx::ObjectionAt& objection : original.objections) {
    if (standing.has_value() && !standing->Has(objection)) continue;
    if (++count <= kMostShown) notes.push_back(absl::StrCat("left as it is: ", objection.text));
  }
  if (count > kMostShown) {
    notes.push_back(absl::StrCat("left as it is: ", count - kMostShown, " more places"));
  }
  return notes;
}

Notes NotesOnSnapshot(const report::KernelCounts& kernels) {
  if (2 * kernels.measured >= kernels.total()) return {};
  return {absl::StrCat(
      "the snapshot has ", kernels.measured == 0 ? "none" : absl::StrCat("only ", kernels.measured),
      " of the ", Counted(kernels.total(), "kernel"),
      " of this model, so costs are mostly estimates: better record one when this model has been "
      "optimized on the device itself")};
}

Notes NotesOnOneThread(int threads) {
  return {absl::StrCat("other work on this machine had the cores that ", threads,
                       " threads would have needed, so kernels and graphs ran on one thread: "
                       "predicted and measured times, and gains, are those of one thread")};
}

Notes NotesOnDisturbance(const Decision& decision) {
  if (!decision.disturbed) return {};
  const std::string what = "other work on this machine interrupted most runs";
  if (decision.by_cpu_time) {
    return {
        absl::StrCat(what,
                     ", so the CPU time of runs on one thread was compared instead, and no time "
                     "with all threads is known")};
  }
  return {absl::StrCat(what, decision.original.disturbed
                                 ? ", and no CPU time of runs on one thread could be compared "
                                   "instead: no time is known"
                                 : ": the times say less than usual")};
}

Notes NotesOnRefusal(const Device& device, const absl::Status& refusal) {
  if (!device.runs_files() || !absl::IsUnimplemented(refusal)) return {};
  return {
      "--device cpu measures without what this device refuses, and may optimize the rest of the "
      "model"};
}

}  // namespace quotient::optimize
