#pragma once

// Outputs of models, in the answers of the helper. It may answer anything, so all of it is checked.

#include <string>

#include "absl/status/statusor.h"
#include "core/kernels/onnxruntime/helper.pb.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/model/tensor.h"

namespace quotient::kernels::onnxruntime {

// An output as a tensor. INTERNAL if it does not have the type that it should have.
absl::StatusOr<model::Tensor> ToTensor(const ort::v1::TensorInfo& info, std::string bytes,
                                       const model::TensorType& type);

// What was told of an output that was kept. It has neither type nor content if it is of a type that
// Quotient does not compute with, and no content if that has not the announced type.
OutputSummary ToSummary(const ort::v1::Kept::Output& output);

}  // namespace quotient::kernels::onnxruntime
