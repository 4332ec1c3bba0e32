#pragma once

// ModelFiles: a model in the folder of the helper process. ONNX Runtime maps the file with the
// weights there. Of weights that it got in any other way it would keep two or three copies.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/onnx/detached_weights.h"
#include "core/os/files.h"

namespace quotient::kernels::onnxruntime {

// A graph that ONNX Runtime has optimized.
struct Dump {
  std::string model;                              // Refers to the weights as a file.
  std::shared_ptr<const os::MappedFile> weights;  // Null if nothing is large.

  // A model, made of this one, that refers to the same file. Borrows `bytes`, and the weights.
  ModelFile FileOf(absl::string_view bytes) const;
};

class ModelFiles {
 public:
  // Writes the files. UNIMPLEMENTED for a model whose weights did not come with it, and for what is
  // no model; RESOURCE_EXHAUSTED, naming the folder, if there is no place for it.
  static absl::StatusOr<ModelFiles> Write(const std::string& folder, const ModelFile& model,
                                          onnx::Copies copies = onnx::Copies::kEqual);
  // Removes them, and the dump. Sessions keep what they have mapped.
  ~ModelFiles();
  ModelFiles(ModelFiles&& other) noexcept : folder_(std::exchange(other.folder_, "")) {}

  absl::StatusOr<Dump> ReadDump() const;

 private:
  explicit ModelFiles(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;  // Empty once it was moved from.
};

}  // namespace quotient::kernels::onnxruntime
