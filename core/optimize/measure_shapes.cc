#include "core/optimize/measure_shapes.h"

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::optimize {
namespace {

constexpr int64_t kBatch = 1;
constexpr int64_t kLength = 128;
constexpr int64_t kSide = 224;

using model::Dim;
using model::Graph;
using model::ValueId;

// Inputs that a node we know reads.
std::vector<bool> ReadByKnownNodes(const Graph& graph) {
  const std::vector<bool> live = model::LiveNodes(graph);
  std::vector<bool> read(graph.values.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n] || graph.nodes[n].is_opaque()) continue;
    for (ValueId id : graph.nodes[n].inputs) {
      if (id.valid()) read[id.value()] = true;
    }
  }
  return read;
}

absl::Status Missing(const model::Value& input, absl::string_view what) {
  return MakeError(
      Reason::kShapeMissing,
      absl::StrCat("input '", input.name, "' of type ", ToString(input.type), ": ", what,
                   "; bind it with --measure-shape ", input.name,
                   "=DIMS (for measuring only) or --shape ", input.name, "=DIMS (for good)"));
}

class Chooser {
 public:
  Chooser(const Graph& graph, const std::map<std::string, std::vector<int64_t>>& asked)
      : graph_(graph) {
    result_.shapes = asked;
  }

  absl::StatusOr<MeasureShapes> Run() {
    CollectSymbols();
    const std::vector<bool> read = ReadByKnownNodes(graph_);
    for (ValueId id : graph_.inputs) {
      const model::Value& input = graph_.value(id);
      if (!read[id.value()] || input.type.is_static()) continue;
      if (result_.shapes.contains(input.name)) continue;
      QUOTIENT_RETURN_IF_ERROR(Bind(input));
    }
    return std::move(result_);
  }

 private:
  // Symbols that the user's dims bind. A wrong rank is BindShapes' to refuse.
  void CollectSymbols() {
    for (ValueId id : graph_.inputs) {
      const model::Value& input = graph_.value(id);
      const auto asked = result_.shapes.find(input.name);
      if (asked == result_.shapes.end() || !input.type.has_rank()) continue;
      if (asked->second.size() != input.type.shape->size()) continue;
      for (size_t axis = 0; axis < asked->second.size(); ++axis) {
        const Dim& dim = (*input.type.shape)[axis];
        if (dim.is_symbol()) symbols_[dim.symbol()] = asked->second[axis];
      }
    }
  }

  absl::Status Bind(const model::Value& input) {
    if (input.type.dtype == model::DType::kUndefined) return absl::OkStatus();
    if (!input.type.has_rank()) return Missing(input, "its rank is not known");
    std::vector<int64_t> dims;
    for (int axis = 0; axis < input.type.rank(); ++axis) {
      dims.push_back(Number(input, axis));
    }
    result_.shapes[input.name] = std::move(dims);
    return absl::OkStatus();
  }

  int64_t Number(const model::Value& input, int axis) {
    const Dim& dim = input.type.dim(axis);
    if (dim.is_number()) return dim.number();
    if (const auto bound = symbols_.find(dim.symbol());
        dim.is_symbol() && bound != symbols_.end()) {
      return bound->second;
    }
    const int64_t assumed = axis == 0 ? kBatch : input.type.rank() < 4 ? kLength : kSide;
    const std::string label =
        dim.is_symbol() ? absl::StrCat("'", dim.symbol(), "'") : absl::StrCat(axis);
    if (dim.is_symbol()) symbols_[dim.symbol()] = assumed;
    result_.guessed |= axis != 0;
    result_.notes.push_back(absl::StrCat("dimension ", label, " of input '", input.name,
                                         "' was taken as ", assumed, " for measuring"));
    return assumed;
  }

  const Graph& graph_;
  std::map<std::string, int64_t> symbols_;
  MeasureShapes result_;
};

}  // namespace

absl::StatusOr<MeasureShapes> ChooseMeasureShapes(
    const Graph& graph, const std::map<std::string, std::vector<int64_t>>& asked) {
  return Chooser(graph, asked).Run();
}

}  // namespace quotient::optimize
