// Operators that only move elements, and Shape, which tells how many there are.

#include <algorithm>
#include <optional>

#include "core/prove/families.h"

namespace quotient::prove {
namespace {

absl::StatusOr<FieldTensor> EvaluateReshape(const Operation& operation) {
  if (operation.input(0).elements.size() != static_cast<size_t>(NumElements(operation.dims))) {
    return OtherForm(operation);
  }
  return FieldTensor{operation.dims, operation.input(0).elements};
}

absl::StatusOr<FieldTensor> EvaluateTranspose(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  const Ints* perm = operation.attributes.FindInts("perm");
  if (perm == nullptr || perm->size() != x.dims.size()) return OtherForm(operation);
  Ints from(x.dims.size());
  return Filled(operation.dims, [&](const Ints& index) {
    for (size_t axis = 0; axis < perm->size(); ++axis) from[(*perm)[axis]] = index[axis];
    return x.elements[Offset(from, x.dims)];
  });
}

absl::StatusOr<FieldTensor> EvaluateExpand(const Operation& operation) {
  return Filled(operation.dims,
                [&](const Ints& index) { return Broadcast(operation.input(0), index); });
}

absl::StatusOr<FieldTensor> EvaluateTile(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  Ints from(x.dims.size());
  return Filled(operation.dims, [&](const Ints& index) {
    for (size_t axis = 0; axis < from.size(); ++axis) from[axis] = index[axis] % x.dims[axis];
    return x.elements[Offset(from, x.dims)];
  });
}

absl::StatusOr<FieldTensor> EvaluateConcat(const Operation& operation) {
  const int64_t given = operation.attributes.GetInt("axis", 0);
  const size_t axis = given < 0 ? given + operation.dims.size() : given;
  return Filled(operation.dims, [&](const Ints& index) {
    Ints own = index;
    size_t part = 0;
    while (own[axis] >= operation.input(part).dims[axis]) {
      own[axis] -= operation.input(part++).dims[axis];
    }
    return operation.input(part).elements[Offset(own, operation.input(part).dims)];
  });
}

// Starts are in the tensor: that is so in canonical form where the dimension is a number.
absl::StatusOr<FieldTensor> EvaluateSlice(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  const Ints* axes = operation.attributes.FindInts("axes");
  const Ints* starts = operation.attributes.FindInts("starts");
  if (axes == nullptr || starts == nullptr) return OtherForm(operation);
  const Ints steps = operation.attributes.GetInts("steps", Ints(axes->size(), 1));
  return Filled(operation.dims, [&](const Ints& index) {
    Ints from = index;
    for (size_t i = 0; i < axes->size(); ++i) {
      const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + x.rank() : (*axes)[i];
      const int64_t dim = x.dims[axis];
      const int64_t start = (*starts)[i] < 0 ? (*starts)[i] + dim : (*starts)[i];
      const int64_t first = std::clamp<int64_t>(start, 0, steps[i] < 0 ? dim - 1 : dim);
      from[axis] = first + steps[i] * index[axis];
    }
    return x.elements[Offset(from, x.dims)];
  });
}

// The sizes along the axes from `start` to before `end`.
absl::StatusOr<FieldTensor> EvaluateShape(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  const int64_t start = operation.attributes.GetInt("start", 0);
  return Filled(operation.dims, [&](const Ints& index) {
    return FromInteger(x.dims[(start < 0 ? start + x.rank() : start) + index[0]]);
  });
}

absl::StatusOr<FieldTensor> EvaluatePad(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  const Ints* pads = operation.attributes.FindInts("pads");
  const std::optional<Element> value = FloatAttribute(operation.attributes, "constant_value", 0);
  if (pads == nullptr || pads->size() != 2 * x.dims.size() || !value.has_value() ||
      operation.attributes.GetString("mode", "constant") != "constant") {
    return OtherForm(operation);
  }
  return Filled(operation.dims, [&](const Ints& index) {
    Ints from = index;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      from[axis] -= (*pads)[axis];
      if (from[axis] < 0 || from[axis] >= x.dims[axis]) return *value;
    }
    return x.elements[Offset(from, x.dims)];
  });
}

absl::StatusOr<FieldTensor> EvaluateGather(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  const FieldTensor& indices = operation.input(1);
  int64_t axis = operation.attributes.GetInt("axis", 0);
  if (axis < 0) axis += x.rank();
  bool inside = true;
  FieldTensor result = Filled(operation.dims, [&](const Ints& index) {
    const auto at = index.begin() + axis;
    int64_t taken =
        ToInteger(indices.elements[Offset(Ints(at, at + indices.rank()), indices.dims)]);
    if (taken < 0) taken += x.dims[axis];
    Ints from(index.begin(), at);
    from.push_back(taken);
    from.insert(from.end(), at + indices.rank(), index.end());
    if (taken < 0 || taken >= x.dims[axis]) return inside = false, Element{0};
    return x.elements[Offset(from, x.dims)];
  });
  if (!inside) return absl::FailedPreconditionError("an index is outside");
  return result;
}

}  // namespace

std::span<const Definition> MoveDefinitions() {
  static constexpr Definition kDefinitions[] = {
      {"Identity", EvaluateReshape},    {"Dropout", EvaluateReshape},
      {"Reshape", EvaluateReshape},     {"Squeeze", EvaluateReshape},
      {"Unsqueeze", EvaluateReshape},   {"Flatten", EvaluateReshape},
      {"Transpose", EvaluateTranspose}, {"Expand", EvaluateExpand},
      {"Tile", EvaluateTile},           {"Concat", EvaluateConcat},
      {"Slice", EvaluateSlice},         {"Pad", EvaluatePad},
      {"Gather", EvaluateGather},       {"Shape", EvaluateShape},
  };
  return kDefinitions;
}

}  // namespace quotient::prove
