#pragma once

// KeptValues: what sessions computed, for others to read, in a file without a name, where it takes
// no memory. For one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/onnxruntime/runtime.h"
#include "core/os/files.h"

namespace quotient::kernels::onnxruntime {

class KeptValues {
 public:
  // Makes the file in this folder.
  static absl::StatusOr<KeptValues> Create(const std::string& folder);

  // Keeps a value by its name, instead of what was kept by that name before. RESOURCE_EXHAUSTED if
  // the disk has no room for it.
  absl::Status Add(const TensorView& value);
  // NOT_FOUND if there is no value of that name.
  absl::StatusOr<HostTensor> Read(absl::string_view name) const;

 private:
  struct Place {
    int dtype = 0;
    std::vector<int64_t> dims;
    int64_t offset = 0;
    size_t size = 0;
  };

  KeptValues(std::string folder, os::Fd file)
      : folder_(std::move(folder)), file_(std::move(file)) {}

  std::string folder_;  // For messages.
  os::Fd file_;
  int64_t end_ = 0;
  absl::flat_hash_map<std::string, Place> places_;
};

}  // namespace quotient::kernels::onnxruntime
