#pragma once

// What Conv and ConvTranspose share: checks of their inputs, and reading of weights and bias.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/ops/op.h"

namespace quotient::ops {

// Reads attribute group. Fails with MODEL_SHAPE unless it is positive.
absl::StatusOr<int64_t> ReadGroups(const model::AttributeMap& attributes);

// The following checks fail with MODEL_SHAPE, saying what does not fit, and accept what is not
// known.

// Checks that `a` is `factor` times `b`.
absl::Status CheckMultiple(const model::Dim& a, const model::Dim& b, int64_t factor,
                           absl::string_view what);
absl::Status CheckDivides(int64_t groups, const model::Dim& channels);
// Checks that input 2, if present, is a vector with one element per output channel.
absl::Status CheckBias(const InferContext& context, const model::Dim& channels);
// Checks that input and weights have the same rank, at least 3. Null means unknown.
absl::Status CheckRanks(const model::Shape* input, const model::Shape* weights);

// The kernel's size from the weights, otherwise from the attribute; nullopt if neither tells.
absl::StatusOr<std::optional<model::Ints>> ReadKernel(const model::AttributeMap& attributes,
                                                      const model::Shape* weights);
// Removes the attribute kernel_shape where the weights say the same.
void EraseKernelShape(const model::Shape* weights, model::AttributeMap& attributes);

// The shape of input `index`; null if not known.
const model::Shape* ShapeOf(std::span<const InferInput> inputs, size_t index);
// The spatial dimensions of input 0; unknown ones if its shape is not known.
model::Shape SpatialInput(const model::Shape* input, size_t axes);

// The row of an operator with input, weights and bias.
OpDef ConvolutionRow(const char* name, int since_opset);

// Bounds of sums of products of all weights beyond axis `first_window_axis`, times `channels`, with
// a bias.
Interval BoundsOfConvolution(const BoundsContext& context, int first_window_axis, double channels);

// The product of the dimensions from `first` on.
double ProductFrom(size_t first, const Dims& dims);

// The bias of each output channel; zeros if there is none.
std::vector<double> LoadBias(const EvaluateContext& context, int64_t channels);

}  // namespace quotient::ops
