#pragma once

// The operator families. Each is a file with the rows of its operators and their type inference and
// reference evaluation; op_table.cc collects them. A family looks like this:
//
//   std::span<const OpDef> ViewOps() {
//     static const auto& rows = *new std::vector<OpDef>{
//         {.name = "Identity", .op_class = OpClass::kView, .min_inputs = 1, .max_inputs = 1,
//          .max_outputs = 1, .since_opset = 1, .infer = InferIdentity,
//          .evaluate = EvaluateIdentity},
//     };
//     return rows;
//   }

#include <span>

#include "core/ops/op.h"

namespace quotient::ops {

std::span<const OpDef> UnaryOps();
std::span<const OpDef> FunctionOps();
std::span<const OpDef> ActivationOps();
std::span<const OpDef> BinaryOps();
std::span<const OpDef> PowerOps();
std::span<const OpDef> LogicOps();
std::span<const OpDef> ConvOps();
std::span<const OpDef> ConvTransposeOps();
std::span<const OpDef> PoolOps();
std::span<const OpDef> MatmulOps();
std::span<const OpDef> SoftmaxOps();
std::span<const OpDef> NormalizationOps();
std::span<const OpDef> AttentionOps();
std::span<const OpDef> RotaryOps();
std::span<const OpDef> ReduceOps();
std::span<const OpDef> ViewOps();
std::span<const OpDef> CastOps();
std::span<const OpDef> MoveOps();
std::span<const OpDef> RepeatOps();
std::span<const OpDef> SliceOps();
std::span<const OpDef> PadOps();
std::span<const OpDef> GatherOps();
std::span<const OpDef> QuantizeOps();
std::span<const OpDef> IndexTupleOps();
std::span<const OpDef> SelectOps();
std::span<const OpDef> SourceOps();
std::span<const OpDef> CumSumOps();
std::span<const OpDef> ResizeOps();
std::span<const OpDef> EinsumOps();
std::span<const OpDef> StftOps();

}  // namespace quotient::ops
