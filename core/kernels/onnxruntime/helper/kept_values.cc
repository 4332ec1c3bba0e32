#include "core/kernels/onnxruntime/helper/kept_values.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::onnxruntime {

absl::StatusOr<KeptValues> KeptValues::Create(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/kept");
  QUOTIENT_ASSIGN_OR_RETURN(os::Fd file,
                            os::OpenFile(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  unlink(path.c_str());
  return KeptValues(folder, std::move(file));
}

absl::Status KeptValues::Add(const TensorView& value) {
  const absl::Status written = os::WriteFullyAt(file_, value.bytes, end_, folder_);
  if (!written.ok()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the values of a model, of ", end_ >> 20,
                     " MiB and more, cannot be kept: ", written.message()));
  }
  places_[value.name] = {value.dtype, value.dims, end_, value.bytes.size()};
  end_ += static_cast<int64_t>(value.bytes.size());
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> KeptValues::Read(absl::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) {
    return absl::NotFoundError(absl::StrCat("no value '", name, "' is kept"));
  }
  const Place& place = found->second;
  HostTensor value{.name = std::string(name), .dtype = place.dtype, .dims = place.dims};
  QUOTIENT_ASSIGN_OR_RETURN(value.bytes, os::ReadFullyAt(file_, place.offset, place.size, folder_));
  return value;
}

}  // namespace quotient::kernels::onnxruntime
