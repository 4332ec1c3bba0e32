#pragma once

// ModelFiles: a model in the folder of the helper process. ONNX Runtime maps the file with the
// weights there. Of weights that it got in any other way it would keep two or three copies.

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"

namespace quotient::kernels::onnxruntime {

class ModelFiles {
 public:
  // Where weights go that are in the bytes of the model.
  enum class Weights { kApart, kInside };

  // Writes the files. UNIMPLEMENTED for a model whose weights did not come with it, and for what is
  // no model; RESOURCE_EXHAUSTED, naming the folder, if there is no place for it.
  static absl::StatusOr<ModelFiles> Write(const std::string& folder, const ModelFile& model,
                                          Weights weights = Weights::kApart);
  // Removes them, and the dump. Sessions keep what they have mapped.
  ~ModelFiles();
  ModelFiles(ModelFiles&& other) noexcept : folder_(std::exchange(other.folder_, "")) {}

  // The bytes of the dump.
  absl::StatusOr<std::string> ReadDump() const;

 private:
  explicit ModelFiles(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;  // Empty once it was moved from.
};

}  // namespace quotient::kernels::onnxruntime
