#pragma once

// Computes the operations of a DnnGraph. `out` must have its dimensions and contain zeros.

#include <span>

#include "core/kernels/cuda/interface/dnn_graph.h"
#include "tests/support/cuda/host_values.h"

namespace quotient::kernels::cuda::host {

// The inputs of an operation, in the order that DnnOp describes.
using Inputs = std::span<const Values* const>;
// Rounds a factor before it is multiplied.
using Factor = double (*)(double);

// host_windows.cc
void Convolve(const DnnNode& node, Inputs inputs, Factor factor, Values& out);
void ConvolveTransposed(const DnnNode& node, Inputs inputs, Factor factor, Values& out);
void Pool(const DnnNode& node, Inputs inputs, Values& out);

// host_sums.cc
void Multiply(Inputs inputs, Factor factor, Values& out);
void Reduce(const DnnNode& node, Inputs inputs, Values& out);
void Normalize(const DnnNode& node, Inputs inputs, Values& out);
void Attend(const DnnNode& node, Inputs inputs, Factor factor, Values& out);

// host_pointwise.cc
void Apply(const DnnNode& node, Inputs inputs, Values& out);

}  // namespace quotient::kernels::cuda::host
