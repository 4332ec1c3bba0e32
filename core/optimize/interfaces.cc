#include "core/optimize/interfaces.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace quotient::optimize {
namespace {

using model::Dim;
using model::Graph;
using model::TensorType;
using model::ValueId;

std::vector<std::string> NamesOf(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The inputs that must be given, and those that may be.
struct Inputs {
  explicit Inputs(const Graph& graph) : all(NamesOf(graph, graph.inputs)) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (!graph.defaults[i].has_value()) needed.push_back(all[i]);
    }
  }
  std::vector<std::string> all;
  std::vector<std::string> needed;
};

const TensorType& TypeOf(const Graph& graph, const std::string& input) {
  const auto found =
      std::ranges::find_if(graph.inputs, [&](ValueId id) { return graph.value(id).name == input; });
  return graph.value(*found).type;
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

void CompareInputs(const Graph& first, const Graph& second, std::vector<std::string>* differences) {
  const Inputs wanted(first);
  const Inputs offered(second);
  const size_t before = differences->size();
  for (const std::string& name : wanted.all) {
    if (!Contains(offered.all, name)) {
      differences->push_back(absl::StrCat("it has no input '", name, "'"));
    } else if (!Takes(TypeOf(second, name), TypeOf(first, name))) {
      differences->push_back(absl::StrCat("input '", name, "' is ", ToString(TypeOf(second, name)),
                                          ", but should be ", ToString(TypeOf(first, name))));
    }
  }
  for (const std::string& name : offered.needed) {
    if (Contains(wanted.all, name)) continue;
    differences->push_back(absl::StrCat("it needs an input '", name, "'"));
  }
  if (differences->size() > before || wanted.needed == offered.needed) return;
  differences->push_back(absl::StrCat("its inputs are in the order ", Listed(offered.needed),
                                      ", but should be in the order ", Listed(wanted.needed)));
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

std::vector<std::string> InterfaceDifferences(const Graph& first, const Graph& second) {
  std::vector<std::string> differences;
  CompareInputs(first, second, &differences);
  CompareOutputs(first, second, &differences);
  return differences;
}

}  // namespace quotient::optimize
