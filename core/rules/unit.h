#pragma once

// How large what a summand meets is. IsShift bounds a summand against results around 1. Behind a
// scale of 2^-22 results are around 2^-22, and (x 2^-22 + 1) rounds x to halves: a summand there is
// large although it is 1, and its rounding is on purpose if what follows enlarges it again.

#include "core/rules/terms.h"

namespace quotient::rules {

// The size that elements of the class have where the activations it is computed from are around 1,
// as far as that can be read: through a few constant factors, contractions with weights, and
// summands, along all forms of the class, of which the smallest counts. A whole tensor has one
// unit, that of its largest channel.
double UnitOf(const View& view, ClassId id);

// The same of a contraction of x with a weight: Conv, ConvTranspose, Gemm, MatMul.
double UnitOfContraction(const View& view, const OpWord& word, ClassId x, ClassId weight);

// IsShift (magnitudes.h) against results around `unit`, or around 1 if that is less.
bool IsShiftBeside(const ClassData& summand, double unit);

}  // namespace quotient::rules
