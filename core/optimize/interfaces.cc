#include "core/optimize/interfaces.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/model/tensor.h"
#include "core/onnx/sameness.h"

namespace quotient::optimize {
namespace {

using model::Dim;
using model::Graph;
using model::TensorType;
using model::ValueId;

std::vector<std::string> NamesOf(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// An input of a graph.
struct Input {
  const TensorType& type;
  const std::optional<model::Tensor>& default_value;
};

std::optional<Input> FindInput(const Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const model::Value& value = graph.value(graph.inputs[i]);
    if (value.name == name) return Input{value.type, graph.defaults[i]};
  }
  return std::nullopt;
}

// Whether every tensor of the type `first` is one of the type `second`.
bool Takes(const TensorType& second, const TensorType& first) {
  if (second.dtype != first.dtype) return false;
  if (!second.has_rank()) return true;
  if (!first.has_rank() || first.shape->size() != second.shape->size()) return false;
  for (size_t axis = 0; axis < second.shape->size(); ++axis) {
    const Dim& dim = (*second.shape)[axis];
    if (dim.is_number() && dim != (*first.shape)[axis]) return false;
  }
  return true;
}

std::string Listed(const std::vector<std::string>& names) {
  return absl::StrCat("'", absl::StrJoin(names, "', '"), "'");
}

// What is wrong with an input of the second model; empty if nothing is.
std::string InputDifference(const std::string& name, const Input& wanted, const Input& offered) {
  if (!Takes(offered.type, wanted.type)) {
    return absl::StrCat("input '", name, "' is ", ToString(offered.type), ", but should be ",
                        ToString(wanted.type));
  }
  if (!wanted.default_value.has_value()) return "";
  if (!offered.default_value.has_value()) {
    return absl::StrCat("input '", name, "' has no default, but should have one");
  }
  if (SameContent(*wanted.default_value, *offered.default_value)) return "";
  constexpr int64_t kMostElements = 8;
  return absl::StrCat("input '", name, "' is ", ElementsText(*offered.default_value, kMostElements),
                      " by default, but should be ",
                      ElementsText(*wanted.default_value, kMostElements));
}

void CompareInputs(const onnx::Model& first, const onnx::Model& second,
                   std::vector<std::string>* differences) {
  const size_t before = differences->size();
  const std::vector<std::string> wanted = NamesOf(first.graph, first.graph.inputs);
  std::vector<std::string> offered = NamesOf(second.graph, second.graph.inputs);
  for (const std::string& name : wanted) {
    const std::optional<Input> input = FindInput(first.graph, name);
    const std::optional<Input> other = FindInput(second.graph, name);
    if (!other.has_value()) {
      differences->push_back(absl::StrCat("it has no input '", name, "'"));
      continue;
    }
    std::string difference = InputDifference(name, *input, *other);
    // What is no tensor has no type here.
    const bool is_known = input->type.dtype != model::DType::kUndefined;
    if (difference.empty() && !is_known && !onnx::DeclareSameInput(first, second, name)) {
      difference = absl::StrCat("input '", name, "' is of another type");
    }
    if (!difference.empty()) differences->push_back(std::move(difference));
  }
  for (const std::string& name : offered) {
    if (Contains(wanted, name) || FindInput(second.graph, name)->default_value.has_value())
      continue;
    differences->push_back(absl::StrCat("it needs an input '", name, "'"));
  }
  if (differences->size() > before) return;
  std::erase_if(offered, [&](const std::string& name) { return !Contains(wanted, name); });
  if (wanted == offered) return;
  differences->push_back(absl::StrCat("its inputs are in the order ", Listed(offered),
                                      ", but should be in the order ", Listed(wanted)));
}

void CompareOutputs(const Graph& first, const Graph& second,
                    std::vector<std::string>* differences) {
  const std::vector<std::string> wanted = NamesOf(first, first.outputs);
  const std::vector<std::string> offered = NamesOf(second, second.outputs);
  if (wanted == offered) return;
  const size_t before = differences->size();
  for (const std::string& name : wanted) {
    if (!Contains(offered, name)) {
      differences->push_back(absl::StrCat("it has no output '", name, "'"));
    }
  }
  for (const std::string& name : offered) {
    if (!Contains(wanted, name)) {
      differences->push_back(absl::StrCat("it has an output '", name, "' too many"));
    }
  }
  if (differences->size() > before) return;
  differences->push_back(absl::StrCat("its outputs are in the order ", Listed(offered),
                                      ", but should be in the order ", Listed(wanted)));
}

}  // namespace

std::vector<std::string> InterfaceDifferences(const onnx::Model& first, const onnx::Model& second) {
  std::vector<std::string> differences;
  CompareInputs(first, second, &differences);
  CompareOutputs(first.graph, second.graph, &differences);
  return differences;
}

std::vector<std::string> UnusedInputs(const Graph& first, const Graph& second) {
  std::vector<std::string> unused;
  for (const std::string& name : NamesOf(second, second.inputs)) {
    const bool has_default = FindInput(second, name)->default_value.has_value();
    if (has_default && !FindInput(first, name).has_value()) unused.push_back(name);
  }
  return unused;
}

}  // namespace quotient::optimize
