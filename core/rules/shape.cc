// Rules about Shape: the sizes that a model reads of its values, which are told by its inputs.

#include <algorithm>
#include <optional>

#include "core/rules/family.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Shape(x) = Shape(an input of the model), if x has its sizes from that input alone
shape-of-input: Shape[?s](?x) => shape_of_input(?s, ?x)
# Gather(Shape(x); i) = Shape(x; i, i + 1), i constant, a number or neighbours
gather-shape: Gather[?g](Shape[?s](?x), ?i) => shape_gathered(?g, ?s, ?x, ?i) if constant(?i)
# Slice(Shape(x); a, b) = Shape(x; a, b)
slice-shape: Slice[?t](Shape[?s](?x)) => shape_sliced(?t, ?s, ?x)
)";

// The sizes [begin, end) of x, from what a Shape tells.
struct Sizes {
  int64_t begin;
  int64_t end;
};
std::optional<Sizes> SizesTold(const OpWord& shape, const TensorType& x) {
  if (!x.has_rank()) return std::nullopt;
  const Sizes sizes{shape.attributes.GetInt("start", 0), shape.attributes.GetInt("end", x.rank())};
  if (sizes.begin < 0 || sizes.begin >= sizes.end || sizes.end > x.rank()) return std::nullopt;
  return sizes;
}

ClassId ShapeOf(Terms& terms, ClassId x, const Sizes& sizes) {
  constexpr int kAttributesSince = 15;
  if (!terms.AllowsOpset(kAttributesSince)) return ClassId();
  return terms.Op("Shape", {x}, {{"start", sizes.begin}, {"end", sizes.end}});
}

// Whether some size of x is a symbol that is a size of the input as well.
bool SharesSymbol(const TensorType& x, const TensorType& input) {
  return std::ranges::any_of(*x.shape, [&](const model::Dim& dim) {
    return dim.is_symbol() && std::ranges::any_of(*input.shape, [&](const model::Dim& other) {
             return model::SameDim(dim, other);
           });
  });
}

// The only input that x has its symbols from, and its first axis from which on it has these sizes
// of x. If there were two, callers might give them different sizes, which broadcast. args: s, x.
// What is told by a number folds.
ClassId ShapeOfInput(Terms& terms, std::span<const Binding> args) {
  const TensorType x = terms.type(args[1].id);
  const std::optional<Sizes> sizes = SizesTold(terms.word(args[0].op), x);
  if (!sizes) return ClassId();
  const auto first = x.shape->begin() + sizes->begin;
  const auto last = x.shape->begin() + sizes->end;
  if (std::none_of(first, last, [](const model::Dim& dim) { return dim.is_symbol(); })) {
    return ClassId();
  }
  std::vector<ClassId> inputs = terms.InputsOf(args[1].id);
  std::erase_if(inputs, [&](ClassId input) {
    const TensorType& type = terms.type(input);
    return type.has_rank() && !SharesSymbol(x, type);
  });
  if (inputs.size() != 1 || inputs.front() == args[1].id) return ClassId();
  const TensorType& type = terms.type(inputs.front());
  if (!type.has_rank()) return ClassId();
  const auto found =
      std::search(type.shape->begin(), type.shape->end(), first, last, model::SameDim);
  if (found == type.shape->end()) return ClassId();
  const int64_t axis = found - type.shape->begin();
  return ShapeOf(terms, inputs.front(), {axis, axis + (sizes->end - sizes->begin)});
}

// args: g, s, x, i. The indices are a number, or consecutive numbers in rising order.
ClassId ShapeGathered(Terms& terms, std::span<const Binding> args) {
  const std::optional<Sizes> sizes = SizesTold(terms.word(args[1].op), terms.type(args[2].id));
  const model::Tensor& index = *terms.data(args[3].id).constant;
  if (!sizes || index.rank() > 1 || index.elements() == 0 ||
      index.elements() > sizes->end - sizes->begin) {
    return ClassId();
  }
  const int64_t count = sizes->end - sizes->begin;
  const auto position = [&](int64_t i) -> std::optional<int64_t> {
    const int64_t given = index.GetInt(i);
    if (given < -count || given >= count) return std::nullopt;
    return given + (given < 0 ? sizes->end : sizes->begin);
  };
  const std::optional<int64_t> at = position(0);
  if (!at.has_value()) return ClassId();
  const int64_t first = *at;
  for (int64_t i = 1; i < index.elements(); ++i) {
    if (position(i) != first + i) return ClassId();
  }
  const ClassId told = ShapeOf(terms, args[2].id, {first, first + index.elements()});
  return index.rank() == 1 ? told : terms.Op("Squeeze", {told}, {{"axes", Ints{0}}});
}

// args: t, s, x
ClassId ShapeSliced(Terms& terms, std::span<const Binding> args) {
  const std::optional<Sizes> sizes = SizesTold(terms.word(args[1].op), terms.type(args[2].id));
  if (!sizes) return ClassId();
  const TensorType told = model::StaticType(model::DType::kInt64, Ints{sizes->end - sizes->begin});
  const auto range = domain::ReadSlice(terms.word(args[0].op).attributes, told);
  if (!range || range->size() == 0) return ClassId();
  return ShapeOf(terms, args[2].id, {sizes->begin + range->begin, sizes->begin + range->end});
}

void AddWords(Words& words) {
  words.Term("shape_of_input", "oc", ShapeOfInput);
  words.Term("shape_gathered", "oocc", ShapeGathered);
  words.Term("shape_sliced", "ooc", ShapeSliced);
}

}  // namespace

Family ShapeFamily() { return {"shape", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
