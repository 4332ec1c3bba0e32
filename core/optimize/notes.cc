#include "core/optimize/notes.h"

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/counted.h"
#include "core/domain/facts.h"

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

void AddCutNodes(int64_t cut_nodes, Notes& notes) {
  if (cut_nodes == 0) return;
  notes.push_back(absl::StrCat(
      cut_nodes,
      " nodes are not understood: they pass through untouched, checking and measuring cut the "
      "model there, and no time holds what they take"));
}

// A model is raised to newer opsets but never lowered to older ones.
void AddNewerOpset(int opset, int max_opset, Notes& notes) {
  if (max_opset == 0 || opset <= max_opset) return;
  notes.push_back(
      absl::StrCat("the model itself needs opset ", opset, ", so the result does, too"));
}

void AddAssumedFiniteInputs(Notes& notes) {
  notes.push_back(absl::StrFormat(
      "as asked for, float inputs were taken to hold no NaN, no infinity and nothing beyond %g: "
      "guards against them may be gone",
      domain::kLargestAssumedInput));
}

// Tells whether what an objection is about is still in a result. Values are known by name.
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

  // A node that was objected to is written as it was read or not at all.
  bool Has(const onnx::ObjectionAt& objection) const {
    return (objection.part == Part::kNode ? made_ : declared_).contains(objection.value);
  }

 private:
  absl::flat_hash_set<absl::string_view> made_;      // Outputs of nodes.
  absl::flat_hash_set<absl::string_view> declared_;  // Values whose declaration is objected to.
};

}  // namespace

Notes NotesOnReading(const Prepared& original, const Options& options) {
  Notes notes = original.stale_declarations;
  const Notes& shapes = original.shapes.notes;
  notes.insert(notes.end(), shapes.begin(), shapes.end());
  AddOverridableInitializers(original.model, notes);
  AddInlinedCalls(original.model, notes);
  AddCutNodes(original.cut.cut_nodes, notes);
  AddNewerOpset(original.model.opset, options.max_opset, notes);
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

}  // namespace quotient::optimize
