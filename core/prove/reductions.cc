// Sums, means and extremes along axes, and normalizations by them.

#include <array>
#include <optional>

#include "core/prove/families.h"

namespace quotient::prove {
namespace {

// The sum over these axes, which are kept with size 1.
FieldTensor SumOver(const FieldTensor& x, const Ints& axes) {
  Ints dims = x.dims;
  for (const int64_t axis : axes) dims[axis] = 1;
  FieldTensor sums{dims, std::vector<Element>(NumElements(dims), 0)};
  if (x.elements.empty()) return sums;
  Ints index(x.dims.size(), 0);
  size_t at = 0;
  do {
    Ints into = index;
    for (const int64_t axis : axes) into[axis] = 0;
    Element& sum = sums.elements[Offset(into, dims)];
    sum = Add(sum, x.elements[at++]);
  } while (Advance(index, x.dims));
  return sums;
}

// Nullopt for the mean of nothing.
std::optional<FieldTensor> MeanOver(const FieldTensor& x, const Ints& axes) {
  int64_t count = 1;
  for (const int64_t axis : axes) count *= x.dims[axis];
  const std::optional<Element> scale = Inverse(FromInteger(count));
  if (!scale) return std::nullopt;
  FieldTensor means = SumOver(x, axes);
  for (Element& mean : means.elements) mean = Multiply(mean, *scale);
  return means;
}

Ints AxesFrom(int64_t first, int rank) {
  Ints axes;
  for (int64_t axis = first < 0 ? first + rank : first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

// All axes if none are given.
Ints ReducedAxes(const Operation& operation) {
  const int rank = operation.input(0).rank();
  const Ints* given = operation.attributes.FindInts("axes");
  if (given == nullptr || given->empty()) return AxesFrom(0, rank);
  Ints axes = *given;
  for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
  return axes;
}

// With attributes alone: axes that are an input belong to another form.
absl::Status CheckForm(const Operation& operation) {
  if (operation.inputs.size() == 1 && operation.attributes.GetInt("noop_with_empty_axes", 0) == 0) {
    return absl::OkStatus();
  }
  return OtherForm(operation);
}

absl::StatusOr<FieldTensor> EvaluateReduceSum(const Operation& operation) {
  if (const absl::Status form = CheckForm(operation); !form.ok()) return form;
  return FieldTensor{operation.dims, SumOver(operation.input(0), ReducedAxes(operation)).elements};
}

absl::StatusOr<FieldTensor> Mean(const Operation& operation, const Ints& axes) {
  std::optional<FieldTensor> means = MeanOver(operation.input(0), axes);
  if (!means) return NoValue(operation);
  means->dims = operation.dims;
  return *std::move(means);
}

absl::StatusOr<FieldTensor> EvaluateReduceMean(const Operation& operation) {
  if (const absl::Status form = CheckForm(operation); !form.ok()) return form;
  return Mean(operation, ReducedAxes(operation));
}

absl::StatusOr<FieldTensor> EvaluateGlobalAveragePool(const Operation& operation) {
  return Mean(operation, AxesFrom(2, operation.input(0).rank()));
}

using ExtremeOf = Element (*)(const Operation&, std::span<const Element>);

// The extreme along axes.
absl::StatusOr<FieldTensor> Extreme(const Operation& operation, const Ints& axes,
                                    ExtremeOf extreme_of) {
  const FieldTensor& x = operation.input(0);
  if (x.elements.empty()) return NoValue(operation);
  Ints dims = x.dims;
  for (const int64_t axis : axes) dims[axis] = 1;
  std::vector<std::vector<Element>> groups(NumElements(dims));
  Ints index(x.dims.size(), 0);
  size_t at = 0;
  do {
    Ints into = index;
    for (const int64_t axis : axes) into[axis] = 0;
    groups[Offset(into, dims)].push_back(x.elements[at++]);
  } while (Advance(index, x.dims));
  FieldTensor result{operation.dims, {}};
  for (const std::vector<Element>& group : groups) {
    result.elements.push_back(extreme_of(operation, group));
  }
  return result;
}

absl::StatusOr<FieldTensor> EvaluateReduceMax(const Operation& operation) {
  if (const absl::Status form = CheckForm(operation); !form.ok()) return form;
  return Extreme(operation, ReducedAxes(operation), Largest);
}

absl::StatusOr<FieldTensor> EvaluateReduceMin(const Operation& operation) {
  if (const absl::Status form = CheckForm(operation); !form.ok()) return form;
  return Extreme(operation, ReducedAxes(operation), Smallest);
}

absl::StatusOr<FieldTensor> EvaluateGlobalMaxPool(const Operation& operation) {
  return Extreme(operation, AxesFrom(2, operation.input(0).rank()), Largest);
}

// scale (x - mean) / sqrt(variance + epsilon) + shift, all along the channels.
absl::StatusOr<FieldTensor> EvaluateBatchNormalization(const Operation& operation) {
  const std::optional<Element> epsilon = FloatAttribute(operation.attributes, "epsilon", 1e-5);
  if (operation.attributes.GetInt("training_mode", 0) != 0 || operation.dims.size() < 2) {
    return OtherForm(operation);
  }
  if (!epsilon) return NoValue(operation);
  bool has_values = true;
  FieldTensor result = Filled(operation.dims, [&](const Ints& index) {
    const auto channel = [&](size_t input) { return operation.input(input).elements[index[1]]; };
    const Element x = operation.input(0).elements[Offset(index, operation.dims)];
    const std::optional<Element> inverse =
        Inverse(Open(operation, "Sqrt", std::array{Add(channel(4), *epsilon)}));
    has_values &= inverse.has_value();
    const Element scale = Multiply(channel(1), inverse.value_or(0));
    return Add(Multiply(Subtract(x, channel(3)), scale), channel(2));
  });
  if (!has_values) return NoValue(operation);
  return result;
}

// (x - mean) / sqrt(variance + epsilon), of the elements along the axes.
absl::StatusOr<FieldTensor> Normalized(const Operation& operation, const FieldTensor& x,
                                       const Ints& axes) {
  const std::optional<Element> epsilon = FloatAttribute(operation.attributes, "epsilon", 1e-5);
  const std::optional<FieldTensor> mean = MeanOver(x, axes);
  if (!epsilon || !mean) return NoValue(operation);
  const FieldTensor centered = Filled(x.dims, [&](const Ints& index) {
    return Subtract(x.elements[Offset(index, x.dims)], Broadcast(*mean, index));
  });
  FieldTensor squares = centered;
  for (Element& each : squares.elements) each = Multiply(each, each);
  const FieldTensor variance = *MeanOver(squares, axes);
  bool has_values = true;
  FieldTensor result = Filled(x.dims, [&](const Ints& index) {
    const std::optional<Element> inverse =
        Inverse(Open(operation, "Sqrt", std::array{Add(Broadcast(variance, index), *epsilon)}));
    has_values &= inverse.has_value();
    return Multiply(Broadcast(centered, index), inverse.value_or(0));
  });
  if (!has_values) return NoValue(operation);
  return result;
}

absl::StatusOr<FieldTensor> EvaluateLayerNormalization(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  const absl::StatusOr<FieldTensor> normalized =
      Normalized(operation, x, AxesFrom(operation.attributes.GetInt("axis", -1), x.rank()));
  if (!normalized.ok()) return normalized;
  return Filled(operation.dims, [&](const Ints& index) {
    const Element value =
        Multiply(Broadcast(*normalized, index), Broadcast(operation.input(1), index));
    return operation.has(2) ? Add(value, Broadcast(operation.input(2), index)) : value;
  });
}

// Times input 1 plus input 2, which are along the channels.
FieldTensor ScaledChannels(const Operation& operation, const FieldTensor& normalized) {
  return Filled(operation.dims, [&](const Ints& index) {
    const auto channel = [&](size_t input) { return operation.input(input).elements[index[1]]; };
    return Add(Multiply(Broadcast(normalized, index), channel(1)), channel(2));
  });
}

absl::StatusOr<FieldTensor> EvaluateInstanceNormalization(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  const absl::StatusOr<FieldTensor> normalized = Normalized(operation, x, AxesFrom(2, x.rank()));
  if (!normalized.ok()) return normalized;
  return ScaledChannels(operation, *normalized);
}

absl::StatusOr<FieldTensor> EvaluateGroupNormalization(const Operation& operation) {
  FieldTensor grouped = operation.input(0);
  const int64_t groups = operation.attributes.GetInt("num_groups", 1);
  const int64_t elements = NumElements(Ints(grouped.dims.begin() + 1, grouped.dims.end()));
  grouped.dims = {grouped.dims[0], groups, elements / groups};
  absl::StatusOr<FieldTensor> normalized = Normalized(operation, grouped, {2});
  if (!normalized.ok()) return normalized;
  normalized->dims = operation.dims;
  return ScaledChannels(operation, *normalized);
}

// x / sqrt(mean(x^2) + epsilon) scale.
absl::StatusOr<FieldTensor> EvaluateRmsNormalization(const Operation& operation) {
  const FieldTensor& x = operation.input(0);
  const Ints axes = AxesFrom(operation.attributes.GetInt("axis", -1), x.rank());
  const std::optional<Element> epsilon = FloatAttribute(operation.attributes, "epsilon", 1e-5);
  FieldTensor squares = x;
  for (Element& each : squares.elements) each = Multiply(each, each);
  const std::optional<FieldTensor> mean = MeanOver(squares, axes);
  if (!epsilon || !mean) return NoValue(operation);
  bool has_values = true;
  FieldTensor result = Filled(operation.dims, [&](const Ints& index) {
    const std::optional<Element> inverse =
        Inverse(Open(operation, "Sqrt", std::array{Add(Broadcast(*mean, index), *epsilon)}));
    has_values &= inverse.has_value();
    return Multiply(Multiply(Broadcast(x, index), inverse.value_or(0)),
                    Broadcast(operation.input(1), index));
  });
  if (!has_values) return NoValue(operation);
  return result;
}

// Exp of each element over the sum along the axis, which is a function of its own: without the
// functional equation of Exp, nothing follows from a shift.
absl::StatusOr<FieldTensor> EvaluateSoftmax(const Operation& operation) {
  FieldTensor exponentials = operation.input(0);
  for (Element& each : exponentials.elements) each = Open(operation, "Exp", std::array{each});
  int64_t axis = operation.attributes.GetInt("axis", -1);
  if (axis < 0) axis += exponentials.rank();
  const FieldTensor sums = SumOver(exponentials, {axis});
  bool has_values = true;
  FieldTensor result = Filled(operation.dims, [&](const Ints& index) {
    const std::optional<Element> inverse = Inverse(Broadcast(sums, index));
    has_values &= inverse.has_value();
    return Multiply(Broadcast(exponentials, index), inverse.value_or(0));
  });
  if (!has_values) return NoValue(operation);
  return result;
}

}  // namespace

std::span<const Definition> ReductionDefinitions() {
  static constexpr Definition kDefinitions[] = {
      {"ReduceSum", EvaluateReduceSum},
      {"ReduceMean", EvaluateReduceMean},
      {"ReduceMax", EvaluateReduceMax},
      {"ReduceMin", EvaluateReduceMin},
      {"GlobalAveragePool", EvaluateGlobalAveragePool},
      {"GlobalMaxPool", EvaluateGlobalMaxPool},
      {"BatchNormalization", EvaluateBatchNormalization},
      {"LayerNormalization", EvaluateLayerNormalization},
      {"InstanceNormalization", EvaluateInstanceNormalization},
      {"GroupNormalization", EvaluateGroupNormalization},
      {"RMSNormalization", EvaluateRmsNormalization},
      {"Softmax", EvaluateSoftmax},
  };
  return kDefinitions;
}

}  // namespace quotient::prove
