// Sums of products.

#include <optional>
#include <string>

#include "core/prove/families.h"
#include "core/prove/window.h"

namespace quotient::prove {
namespace {

// The sum of product(index) over the indices of a box, such as the elements of a kernel.
template <typename Product>
Element SumOver(const Ints& box, const Product& product) {
  if (NumElements(box) == 0) return 0;
  Element sum = 0;
  Ints index(box.size(), 0);
  do {
    sum = Add(sum, product(index));
  } while (Advance(index, box));
  return sum;
}

// Matrices in the last two axes, the axes before are broadcast. A vector on the left is a row, one
// on the right a column, and the result lacks that axis.
absl::StatusOr<FieldTensor> EvaluateMatMul(const Operation& operation) {
  FieldTensor a = operation.input(0);
  FieldTensor b = operation.input(1);
  Ints dims = operation.dims;
  if (b.rank() == 1) dims.push_back(1);
  if (a.rank() == 1) dims.insert(dims.end() - 1, 1);
  if (a.rank() == 1) a.dims.insert(a.dims.begin(), 1);
  if (b.rank() == 1) b.dims.push_back(1);
  FieldTensor product = Filled(dims, [&](const Ints& index) {
    Ints left = index;
    Ints right = index;
    Element sum = 0;
    for (int64_t k = 0; k < a.dims.back(); ++k) {
      left.back() = k;
      right[right.size() - 2] = k;
      sum = Add(sum, Multiply(Broadcast(a, left), Broadcast(b, right)));
    }
    return sum;
  });
  product.dims = operation.dims;
  return product;
}

FieldTensor Transposed(const FieldTensor& matrix) {
  return Filled({matrix.dims[1], matrix.dims[0]}, [&](const Ints& index) {
    return matrix.elements[Offset({index[1], index[0]}, matrix.dims)];
  });
}

absl::StatusOr<FieldTensor> EvaluateGemm(const Operation& operation) {
  const AttributeMap& attributes = operation.attributes;
  const bool left = attributes.GetInt("transA", 0) != 0;
  const bool right = attributes.GetInt("transB", 0) != 0;
  const FieldTensor a = left ? Transposed(operation.input(0)) : operation.input(0);
  const FieldTensor b = right ? Transposed(operation.input(1)) : operation.input(1);
  const std::optional<Element> alpha = FloatAttribute(attributes, "alpha", 1);
  const std::optional<Element> beta = FloatAttribute(attributes, "beta", 1);
  if (!alpha || !beta) return absl::FailedPreconditionError("Gemm: a factor is no number");
  return Filled(operation.dims, [&](const Ints& index) {
    Element sum = 0;
    for (int64_t k = 0; k < a.dims[1]; ++k) {
      sum = Add(sum, Multiply(a.elements[Offset({index[0], k}, a.dims)],
                              b.elements[Offset({k, index[1]}, b.dims)]));
    }
    sum = Multiply(*alpha, sum);
    return operation.has(2) ? Add(sum, Multiply(*beta, Broadcast(operation.input(2), index))) : sum;
  });
}

// Of two operands: the labels that the output lacks are summed over.
absl::StatusOr<FieldTensor> EvaluateEinsum(const Operation& operation) {
  const std::string equation = operation.attributes.GetString("equation", "");
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == equation.npos || arrow == equation.npos) return OtherForm(operation);
  const std::string labels[] = {equation.substr(0, comma),
                                equation.substr(comma + 1, arrow - comma - 1)};
  const std::string output = equation.substr(arrow + 2);
  std::string summed;
  Ints sizes;
  for (size_t input = 0; input < 2; ++input) {
    for (size_t axis = 0; axis < labels[input].size(); ++axis) {
      const char label = labels[input][axis];
      const int64_t size = operation.input(input).dims[axis];
      const size_t known = summed.find(label);
      if (output.find(label) != output.npos) continue;
      if (known == summed.npos) {
        summed.push_back(label);
        sizes.push_back(size);
      } else if (sizes[known] == 1) {
        sizes[known] = size;
      }
    }
  }
  return Filled(operation.dims, [&](const Ints& index) {
    return SumOver(sizes, [&](const Ints& at) {
      Element product = 1;
      for (size_t input = 0; input < 2; ++input) {
        Ints own;
        for (const char label : labels[input]) {
          const size_t place = output.find(label);
          own.push_back(place != output.npos ? index[place] : at[summed.find(label)]);
        }
        product = Multiply(product, Broadcast(operation.input(input), own));
      }
      return product;
    });
  });
}

// x [n, c, ..], w [m, c / group, ..], bias [m].
absl::StatusOr<FieldTensor> EvaluateConv(const Operation& operation) {
  const std::optional<Window> window = ReadWindow(operation);
  if (!window) return absl::UnimplementedError("Conv: auto_pad");
  const FieldTensor& x = operation.input(0);
  const FieldTensor& w = operation.input(1);
  const int64_t inputs = w.dims[1];
  const int64_t outputs_per_group = w.dims[0] / window->group;
  const Ints kernel(w.dims.begin() + 1, w.dims.end());  // The channel within the group first.
  return Filled(operation.dims, [&](const Ints& index) {
    const int64_t group = index[1] / outputs_per_group;
    const Element sum = SumOver(kernel, [&](const Ints& tap) -> Element {
      Ints in_x = {index[0], group * inputs + tap[0]};
      Ints in_w = {index[1], tap[0]};
      for (size_t i = 1; i < tap.size(); ++i) {
        const int64_t at = index[i + 1] * window->strides[i - 1] +
                           tap[i] * window->dilations[i - 1] - window->pads[i - 1];
        if (at < 0 || at >= x.dims[i + 1]) return 0;
        in_x.push_back(at);
        in_w.push_back(tap[i]);
      }
      return Multiply(x.elements[Offset(in_x, x.dims)], w.elements[Offset(in_w, w.dims)]);
    });
    return operation.has(2) ? Add(sum, operation.input(2).elements[index[1]]) : sum;
  });
}

// x [n, c, ..], w [c, m / group, ..], bias [m]: each element of x adds its multiple of the kernel.
absl::StatusOr<FieldTensor> EvaluateConvTranspose(const Operation& operation) {
  const std::optional<Window> window = ReadWindow(operation);
  if (!window) return absl::UnimplementedError("ConvTranspose: auto_pad");
  const FieldTensor& x = operation.input(0);
  const FieldTensor& w = operation.input(1);
  const int64_t inputs_per_group = w.dims[0] / window->group;
  const int64_t outputs_per_group = w.dims[1];
  Ints kernel = {inputs_per_group};
  kernel.insert(kernel.end(), w.dims.begin() + 2, w.dims.end());
  return Filled(operation.dims, [&](const Ints& index) {
    const int64_t group = index[1] / outputs_per_group;
    const Element sum = SumOver(kernel, [&](const Ints& tap) -> Element {
      const int64_t channel = group * inputs_per_group + tap[0];
      Ints in_x = {index[0], channel};
      Ints in_w = {channel, index[1] % outputs_per_group};
      for (size_t i = 1; i < tap.size(); ++i) {
        const int64_t moved =
            index[i + 1] + window->pads[i - 1] - tap[i] * window->dilations[i - 1];
        const int64_t at = moved / window->strides[i - 1];
        if (moved < 0 || moved % window->strides[i - 1] != 0 || at >= x.dims[i + 1]) return 0;
        in_x.push_back(at);
        in_w.push_back(tap[i]);
      }
      return Multiply(x.elements[Offset(in_x, x.dims)], w.elements[Offset(in_w, w.dims)]);
    });
    return operation.has(2) ? Add(sum, operation.input(2).elements[index[1]]) : sum;
  });
}

}  // namespace

std::span<const Definition> ContractionDefinitions() {
  static constexpr Definition kDefinitions[] = {
      {"MatMul", EvaluateMatMul},
      {"Gemm", EvaluateGemm},
      {"Einsum", EvaluateEinsum},
      {"Conv", EvaluateConv},
      {"ConvTranspose", EvaluateConvTranspose},
  };
  return kDefinitions;
}

}  // namespace quotient::prove
