#pragma once

#include <cstdint>

namespace quotient::ops {

// The functions of one float that operators compute element by element. Backends list their kernels
// by function, so that the compiler names the functions that a list lacks.
enum class UnaryFunction : uint8_t {
  kNone,  // The operator computes no such function.
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,
  kClip,
  kCos,
  kCosh,
  kCube,  // Pow with the exponent 3.
  kElu,
  kErf,
  kExp,
  kFloor,
  kGeluErf,
  kGeluTanh,  // Gelu by its approximation.
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,
  kLog,
  kMish,
  kNeg,
  kReciprocal,
  kRelu,
  kRound,
  kSelu,
  kSigmoid,
  kSign,
  kSin,
  kSinh,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kSquare,  // Pow with the exponent 2.
  kSwish,
  kTan,
  kTanh,
  kThresholdedRelu,
};

}  // namespace quotient::ops
