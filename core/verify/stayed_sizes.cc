#include "core/verify/stayed_sizes.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quotient::verify {
namespace {

// Whether some binding has another size than measuring, or none compares values. One that breaks
// names does not count, because there a size may be 1 beside one that stays. Nor do lengths beside
// a large batch, where a Reshape may take other lengths because the elements can be divided.
bool HasOtherSize(const FreeDim& dim, std::span<const CheckedBinding> bindings) {
  bool compares_values = false;
  for (const CheckedBinding& binding : bindings) {
    if (binding.kind == BindingKind::kEmptyBatch || BreaksNames(binding.kind)) continue;
    if (binding.kind == BindingKind::kLargeBatch && dim.axis > 0) continue;
    compares_values = true;
    if (binding.shapes.at(dim.input)[dim.axis] != dim.measured) return true;
  }
  return !compares_values;
}

}  // namespace

std::vector<std::string> SizesThatStayed(const model::Graph& graph, const Shapes& measured,
                                         std::span<const CheckedBinding> bindings) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> sentences;
  std::set<std::string> changed;
  std::vector<FreeDim> stayed;
  for (FreeDim& dim : FreeDims(graph, measured)) {
    if (HasOtherSize(dim, bindings)) {
      changed.insert(dim.symbol);
    } else {
      stayed.push_back(std::move(dim));
    }
  }
  size_t more = 0;
  for (const FreeDim& dim : stayed) {
    if (!dim.symbol.empty() && !changed.insert(dim.symbol).second) continue;
    if (sentences.size() == kMostNamed) {
      ++more;
      continue;
    }
    const std::string name =
        dim.symbol.empty() ? absl::StrCat(dim.axis) : absl::StrCat("'", dim.symbol, "'");
    sentences.push_back(absl::StrCat("no size other than ", dim.measured,
                                     " was checked for dimension ", name, " of input '", dim.input,
                                     "'"));
  }
  if (more > 0) absl::StrAppend(&sentences.back(), " and for ", more, " more");
  return sentences;
}

}  // namespace quotient::verify
