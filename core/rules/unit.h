#pragma once

// Estimates the size of the values to which a summand is added. IsShift compares summands with
// results around 1. But behind a factor of 2^-22, results are around 2^-22, and x 2^-22 + 1 rounds
// x to halves. There a summand of 1 is large, and its rounding is on purpose if later nodes enlarge
// the result.

#include "core/rules/terms.h"

namespace quotient::rules {

// The size of the elements of the class if the activations from which it is computed are around 1.
// It is followed through a few constant factors, summands, and contractions with weights, in all
// e-nodes of the class, of which the smallest result counts. A tensor has one unit, that of its
// largest channel.
double UnitOf(const View& view, ClassId id);

// The same for a contraction of x with a weight: Conv, ConvTranspose, Gemm or MatMul.
double UnitOfContraction(const View& view, const OpWord& word, ClassId x, ClassId weight);

// Like IsShift (magnitudes.h), but for results around `unit`, or around 1 if that is less.
bool IsShiftBeside(const ClassData& summand, double unit);

}  // namespace quotient::rules
