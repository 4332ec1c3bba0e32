#include "tests/core/generate/small_universe.h"

#include <algorithm>

namespace quotient::generate {

Universe SmallUniverse() {
  Universe universe;
  universe.name = "small";
  universe.variables = {{"x", {2, 3}, {256, 512}},
                        {"y", {2, 3}, {256, 512}},
                        {"w", {3, 3}, {512, 512}, /*is_weight=*/true},
                        {"i", {1, 2, 4, 4}, {8, 64, 28, 28}}};
  const auto add = [&universe](const char* name, int num_operands, const AttributeMap& attributes) {
    universe.operators.push_back({name, attributes, num_operands, attributes});
  };
  add("Add", 2, {});
  add("MatMul", 2, {});
  universe.operators.back().wants_weight = true;
  add("Concat", 2, {{"axis", int64_t{0}}});
  add("Concat", 2, {{"axis", int64_t{1}}});
  add("Relu", 1, {});
  add("Neg", 1, {});
  add("ReduceMax", 1, {{"axes", Ints{1}}});
  add("MaxPool", 1, {{"kernel_shape", Ints{5, 5}}, {"pads", Ints{2, 2, 2, 2}}});
  add("GlobalMaxPool", 1, {});
  add("Max", 2, {});
  add("Mul", 2, {});
  return universe;
}

Universe SmallUniverseOf(const std::vector<std::string>& operators,
                         const std::vector<std::string>& variables) {
  Universe universe = SmallUniverse();
  const auto others = [](const std::vector<std::string>& names) {
    return
        [&names](const auto& each) { return std::ranges::find(names, each.name) == names.end(); };
  };
  std::erase_if(universe.operators, others(operators));
  std::erase_if(universe.variables, others(variables));
  return universe;
}

}  // namespace quotient::generate
