#include "core/optimize/open_sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace quotient::optimize {
namespace {

using model::Dim;
using model::Graph;
using model::ValueId;

constexpr int64_t kLength = 128;
constexpr int64_t kSide = 224;

// Whether a live node reads each value.
std::vector<bool> ReadValues(const Graph& graph) {
  const std::vector<bool> live = model::LiveNodes(graph);
  std::vector<bool> read(graph.values.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    for (ValueId id : graph.nodes[n].inputs) {
      if (id.valid()) read[id.value()] = true;
    }
  }
  return read;
}

// Returns the number that is assumed for the length of a sequence or the side of an image. It is
// halved until the tensor, which may have such symbols along many axes, has no more elements than
// usual tensors.
int64_t AssumedExtent(const model::TensorType& type) {
  constexpr double kMostElements = 1 << 22;
  double known = 1;
  int open = 0;
  for (int axis = 0; axis < type.rank(); ++axis) {
    if (type.dim(axis).is_number()) known *= static_cast<double>(type.dim(axis).number());
    open += axis > 0 && !type.dim(axis).is_number() ? 1 : 0;
  }
  int64_t extent = type.rank() < 4 ? kLength : kSide;
  while (extent > 1 && known * std::pow(extent, open) > kMostElements) extent /= 2;
  return extent;
}

std::string DimName(const OpenSize& size) {
  const bool has_name = !absl::StartsWith(size.symbol, model::kInferredSymbol);
  return absl::StrCat(has_name ? absl::StrCat("'", size.symbol, "'") : absl::StrCat(size.axis),
                      " of input '", size.input, "'");
}

}  // namespace

OpenSizes::OpenSizes(const Graph& graph, const ops::InputShapes& asked)
    : graph_(graph), asked_(asked), read_(ReadValues(graph)) {
  CollectBound();
  CollectSizes();
}

// Collects the symbols that the user's dims bind. BindShapes refuses dims of a wrong rank.
void OpenSizes::CollectBound() {
  for (ValueId id : graph_.inputs) {
    const model::Value& input = graph_.value(id);
    const auto asked = asked_.find(input.name);
    if (asked == asked_.end() || !input.type.has_rank()) continue;
    if (asked->second.size() != input.type.shape->size()) continue;
    for (size_t axis = 0; axis < asked->second.size(); ++axis) {
      const Dim& dim = (*input.type.shape)[axis];
      if (dim.is_symbol()) bound_[dim.symbol()] = asked->second[axis];
    }
  }
}

void OpenSizes::CollectSizes() {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    if (!IsOpen(graph_.inputs[i])) continue;
    const model::Value& input = graph_.value(graph_.inputs[i]);
    for (int axis = 0; axis < input.type.rank(); ++axis) {
      const Dim& dim = input.type.dim(axis);
      if (!dim.is_symbol() || bound_.contains(dim.symbol())) continue;
      if (!index_.emplace(dim.symbol(), sizes_.size()).second) continue;
      sizes_.push_back({dim.symbol(), input.name, axis, Assumed(i, axis)});
    }
  }
}

bool OpenSizes::IsOpen(ValueId id) const {
  const model::Value& input = graph_.value(id);
  return read_[id.value()] && !asked_.contains(input.name) && input.type.has_rank() &&
         input.type.dtype != model::DType::kUndefined;
}

int64_t OpenSizes::Assumed(size_t input, int axis) const {
  const int rank = graph_.value(graph_.inputs[input]).type.rank();
  const std::optional<model::Tensor>& fallback = graph_.defaults[input];
  if (fallback.has_value() && static_cast<int>(fallback->dims().size()) == rank) {
    return std::max<int64_t>(fallback->dims()[axis], 1);
  }
  return axis == 0 ? kAssumedBatch : AssumedExtent(graph_.value(graph_.inputs[input]).type);
}

int64_t OpenSizes::NumberOf(const Dim& dim, const std::vector<int64_t>& numbers) const {
  if (dim.is_number()) return dim.number();
  const auto bound = bound_.find(dim.symbol());
  return bound != bound_.end() ? bound->second : numbers[index_.at(dim.symbol())];
}

ops::InputShapes OpenSizes::ShapesWith(const std::vector<int64_t>& numbers) const {
  ops::InputShapes shapes = asked_;
  for (ValueId id : graph_.inputs) {
    const model::Value& input = graph_.value(id);
    if (!IsOpen(id) || input.type.is_static()) continue;
    std::vector<int64_t>& dims = shapes[input.name];
    for (const Dim& dim : *input.type.shape) dims.push_back(NumberOf(dim, numbers));
  }
  return shapes;
}

std::string OpenSizes::Names() const {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (const OpenSize& size : std::span(sizes_).first(std::min(sizes_.size(), kMostNamed))) {
    names.push_back(DimName(size));
  }
  if (sizes_.size() > kMostNamed) {
    names.push_back(absl::StrCat(sizes_.size() - kMostNamed, " more"));
  }
  return absl::StrJoin(names, ", ");
}

std::vector<std::string> OpenSizes::Notes(const std::vector<int64_t>& numbers) const {
  std::vector<std::string> notes;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    notes.push_back(absl::StrCat("dimension ", DimName(sizes_[i]), " was taken as ", numbers[i],
                                 " for measuring"));
  }
  for (ValueId id : graph_.inputs) {
    const model::Value& input = graph_.value(id);
    if (!read_[id.value()] || input.type.has_rank() || asked_.contains(input.name)) continue;
    if (input.type.dtype == model::DType::kUndefined) {
      notes.push_back(absl::StrCat("input '", input.name,
                                   "' is not a tensor, or its element type is not known, so what "
                                   "reads it is not measured"));
      continue;
    }
    notes.push_back(absl::StrCat("the rank of input '", input.name,
                                 "' is not known, so what reads it is not measured; "
                                 "--measure-shape ",
                                 input.name, "=DIMS says it"));
  }
  return notes;
}

}  // namespace quotient::optimize
