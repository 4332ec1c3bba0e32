#include "core/kernels/onnxruntime/answered_tensors.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace quotient::kernels::onnxruntime {

absl::StatusOr<model::Tensor> ToTensor(const ort::v1::TensorInfo& info, std::string bytes,
                                       const model::TensorType& type) {
  const std::vector<int64_t> dims(info.dims().begin(), info.dims().end());
  const std::optional<model::DType> dtype = model::DTypeFromOnnx(info.dtype());
  if (dtype != type.dtype || dims != type.dims()) {
    return absl::InternalError(absl::StrCat("ONNX Runtime computes an output '", info.name(),
                                            "' of another type than ", ToString(type)));
  }
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  const auto span = std::as_bytes(std::span(*owner));
  if (model::Tensor::ByteSize(*dtype, dims) != static_cast<int64_t>(span.size())) {
    return absl::InternalError("an output has not as many bytes as its type");
  }
  return model::Tensor(*dtype, dims, span, owner);
}

OutputSummary ToSummary(const ort::v1::Kept::Output& output) {
  OutputSummary summary{
      .least = output.least(), .most = output.most(), .subnormal_share = output.subnormal_share()};
  const std::vector<int64_t> dims(output.info().dims().begin(), output.info().dims().end());
  const std::optional<model::DType> dtype = model::DTypeFromOnnx(output.info().dtype());
  if (!dtype.has_value() || !model::IsComputable(*dtype)) return summary;
  summary.type = model::StaticType(*dtype, dims);
  auto content = ToTensor(output.info(), output.content(), summary.type);
  if (content.ok()) summary.content = *std::move(content);
  return summary;
}

}  // namespace quotient::kernels::onnxruntime
