#include "core/rules/simplifying.h"

#include <algorithm>
#include <iterator>

#include "core/rules/rule_set.h"

namespace quotient::rules {
namespace {

// Not among them, although they remove operators, are rules that take apart what runtimes fuse by
// its spelling: the scale of a normalization or the half of a GELU would become part of the weights
// behind it (matmul-scale-rows, conv-scaled-input), a square is a Pow there (pow-two), and a MatMul
// takes a Transpose with it that has no other form (reshape-transpose-reshape).
constexpr const char* kNames[] = {
    // Normalizations, factors and summands become part of weights and biases.
    "conv-batchnorm",
    "convtranspose-batchnorm",
    "gemm-batchnorm",
    "batchnorm-affine",
    "conv-scale",
    "conv-shift",
    "convtranspose-scale",
    "convtranspose-shift",
    "gemm-scale",
    "gemm-shift",
    "layernorm-scale",
    "layernorm-shift",
    "rmsnorm-scale",
    "matmul-scale-columns",
    "matmul-scalar-out",
    "matmul-scalar-left",
    "matmul-scalar-right",
    "matmul-neg",
    "conv-neg",
    "conv-sum",
    "conv-plus-input",
    "conv-plus-batchnorm",
    "gemm-of-matmul",
    // Several operators are one that the model's opset has.
    "layernorm",
    "rmsnorm",
    "swish",
    "gelu",
    "gelu-tanh",
    "hardswish",
    "hardsigmoid",
    "max-zero",
    // What changes nothing, or nothing that is read.
    "nan-guard",
    "softmax-shift",
    "layernorm-of-shift",
    "layernorm-sum",
    "relu-nonnegative",
    "abs-nonnegative",
    "max-self",
    "min-self",
    "add-max-min",
    "mul-max-min",
    "max-relu",
    "identity",
    "dropout",
    "cast-same",
    "cast-cast",
    "where-self",
    "where-not",
    "fold-constant",
    "add-zero",
    "sub-zero",
    "mul-one",
    "div-one",
    "pow-one",
    "and-true",
    "or-false",
    "not-not",
    "neg-neg",
    // Constants meet.
    "add-neg",
    "sub-neg",
    "sub-constant",
    "div-constant",
    "mul-reciprocal",
    "add-constants",
    "mul-constants",
    "add-pairs",
    "mul-rotate",
    "mul-over-add",
    "factor-constant",
    "factor-gate",
    "matmul-sum",
    "matmul-sum-inputs",
    "conv-sum-inputs",
    "add-reductions",
    "sum-of-pools",
    "neg-of-sub",
    "product-of-negs",
    // Bounds.
    "max-of-mins",
    "min-of-maxes",
    "max-of-relus",
    "clip-relu",
    "clip-of-relu",
    "clip-of-clip",
    "relu-of-clip",
    // Views and moves.
    "transpose-transpose",
    "transpose-identity",
    "transpose-of-ones",
    "squeeze-reshape",
    "unsqueeze-reshape",
    "flatten-reshape",
    "reshape-reshape",
    "reshape-same",
    "expand-same",
    "tile-same",
    "pad-nothing",
    "expand-expand",
    "expand-binary",
    "expand-multiply",
    "binary-of-pads",
    "transpose-add",
    "transpose-mul",
    "transpose-sub",
    "transpose-div",
    "add-transpose",
    "transpose-add-constant",
    "transpose-mul-constant",
    "reshape-mul-scalar",
    "reshape-add-vector",
    "add-vector-reshape",
    "add-between-reshapes",
    "unary-of-move",
    "move-of-unary",
    "matmul-transposed",
    "gemm-transpose-a",
    "gemm-transpose-b",
    "matmul-transpose-b",
    "matmul-unflatten",
    "conv-of-pad",
    "pool-of-pad",
    "reduce-of-reduce",
    "concat-single",
    "concat-concat",
    "concat-empty",
    "concat-slices",
    "slice-concat",
    "slice-whole",
    "slice-slice",
    "shape-of-input",
    "gather-shape",
    "slice-shape",
    // Quantization, bit for bit.
    "quantize-of-dequantize",
    "quantize-of-relu",
    "quantize-of-clip",
    "clip-of-dequantize",
};

}  // namespace

std::vector<std::string> SimplifyingRules() {
  return std::vector<std::string>(std::begin(kNames), std::end(kNames));
}

std::vector<std::string> RulesThatMayLose() {
  const std::vector<std::string> simplifying = SimplifyingRules();
  std::vector<std::string> others = RuleNames();
  std::erase_if(others, [&](const std::string& name) {
    return std::ranges::find(simplifying, name) != simplifying.end();
  });
  return others;
}

}  // namespace quotient::rules
