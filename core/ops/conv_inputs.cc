#include "core/ops/conv_inputs.h"

#include <algorithm>
#include <string>

#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/support.h"
#include "core/ops/window.h"

namespace quotient::ops {

using model::AttributeMap;
using model::Dim;
using model::Ints;
using model::Shape;
using model::TensorType;

absl::StatusOr<int64_t> ReadGroups(const AttributeMap& attributes) {
  const int64_t groups = attributes.GetInt("group", 1);
  if (groups < 1) return ShapeError("attribute group is ", groups);
  return groups;
}

absl::Status CheckMultiple(const Dim& a, const Dim& b, int64_t factor, absl::string_view what) {
  if (!a.is_number() || !b.is_number()) return absl::OkStatus();
  const std::optional<int64_t> product = CheckedMul(b.number(), factor);
  if (product && a.Is(*product)) return absl::OkStatus();
  return ShapeError(what, ": ", a.number(), " is not ", factor, " times ", b.number());
}

absl::Status CheckDivides(int64_t groups, const Dim& channels) {
  if (!channels.is_number() || channels.number() % groups == 0) return absl::OkStatus();
  return ShapeError(channels.number(), " channels cannot be cut into ", groups, " groups");
}

absl::Status CheckBias(const InferContext& context, const Dim& channels) {
  const Shape* bias = ShapeAt(context, 2);
  if (bias == nullptr) return absl::OkStatus();
  if (bias->size() != 1) return ShapeError("the bias has rank ", bias->size(), ", not 1");
  return CheckMultiple((*bias)[0], channels, 1, "length of the bias");
}

absl::Status CheckRanks(const Shape* input, const Shape* weights) {
  for (const Shape* shape : {input, weights}) {
    if (shape != nullptr && shape->size() < 3) {
      return ShapeError("a convolution of rank ", shape->size(), "; it takes at least 3");
    }
  }
  if (input != nullptr && weights != nullptr && input->size() != weights->size()) {
    return ShapeError("the input has rank ", input->size(), ", the weights ", weights->size());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Ints>> ReadKernel(const AttributeMap& attributes,
                                               const Shape* weights) {
  const Ints* attribute = attributes.FindInts("kernel_shape");
  if (weights == nullptr) {
    return attribute == nullptr ? std::nullopt : std::optional<Ints>(*attribute);
  }
  const std::span<const Dim> spatial = SpatialDims(*weights);
  if (attribute != nullptr && attribute->size() != spatial.size()) {
    return ShapeError("attribute kernel_shape has ", attribute->size(), " numbers, the weights ",
                      spatial.size(), " spatial axes");
  }
  Ints kernel;
  for (size_t axis = 0; axis < spatial.size(); ++axis) {
    if (attribute != nullptr) {
      QUOTIENT_RETURN_IF_ERROR(
          CheckMultiple(spatial[axis], (*attribute)[axis], 1, "kernel_shape and weights"));
      kernel.push_back((*attribute)[axis]);
    } else if (spatial[axis].is_number()) {
      kernel.push_back(spatial[axis].number());
    } else {
      return std::optional<Ints>();
    }
  }
  return std::optional<Ints>(std::move(kernel));
}

void EraseKernelShape(const Shape* weights, AttributeMap& attributes) {
  if (weights == nullptr) return;
  const std::span<const Dim> spatial = SpatialDims(*weights);
  if (std::all_of(spatial.begin(), spatial.end(), [](const Dim& d) { return d.is_number(); })) {
    attributes.Erase("kernel_shape");
  }
}

const Shape* ShapeOf(std::span<const InferInput> inputs, size_t index) {
  const TensorType* type = InputAt(inputs, index).type;
  return type == nullptr || !type->has_rank() ? nullptr : &*type->shape;
}

Shape SpatialInput(const Shape* input, size_t axes) {
  return input == nullptr ? Shape(axes) : Shape(input->begin() + 2, input->end());
}

Interval BoundsOfConvolution(const BoundsContext& context, int first_window_axis, double channels) {
  const model::TensorType& weights = *context.inputs[1].type;
  const bool is_known = weights.has_rank() && weights.rank() > first_window_axis;
  const double terms = is_known
                           ? CountAxes(weights, first_window_axis, weights.rank()).most * channels
                           : kUnknownCount;
  const Interval result = SumOfProducts(context, terms);
  return context.has(2) ? InType(context.dtype(), Sum(result, context.in(2))) : result;
}

double ProductFrom(size_t first, const Dims& dims) {
  double product = 1;
  for (size_t i = first; i < dims.size(); ++i) product *= static_cast<double>(dims[i]);
  return product;
}

OpDef ConvolutionRow(const char* name, int since_opset) {
  using Kind = AttributeDef::Kind;
  return {.name = name,
          .op_class = OpClass::kContraction,
          .min_inputs = 2,
          .max_inputs = 3,
          .max_outputs = 1,
          .since_opset = since_opset,
          .layout = LayoutRole::kChannelsLast,
          .numerics = {.own_rounding = true},
          .attributes = {{"auto_pad", Kind::kString, std::string("NOTSET")},
                         {"dilations", Kind::kInts, std::nullopt},
                         {"group", Kind::kInt, int64_t{1}},
                         {"kernel_shape", Kind::kInts, std::nullopt},
                         {"pads", Kind::kInts, std::nullopt},
                         {"strides", Kind::kInts, std::nullopt}}};
}

std::vector<double> LoadBias(const EvaluateContext& context, int64_t channels) {
  if (context.inputs.size() < 3 || context.inputs[2] == nullptr) {
    return std::vector<double>(channels, 0);
  }
  return context.inputs[2]->AsDoubles();
}

}  // namespace quotient::ops
