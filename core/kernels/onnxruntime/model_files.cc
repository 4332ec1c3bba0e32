#include "core/kernels/onnxruntime/model_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/model_folder.h"
#include "core/onnx/detached_weights.h"
#include "core/os/files.h"

namespace quotient::kernels::onnxruntime {
namespace {

std::string PathIn(const std::string& folder, absl::string_view name) {
  return absl::StrCat(folder, "/", name);
}

absl::StatusOr<os::Fd> Create(const std::string& path) {
  return os::OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
}

absl::Status WriteModel(const std::string& path, absl::string_view bytes) {
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd file, Create(path));
  return os::WriteFully(file, bytes, path);
}

absl::Status WriteWeights(const std::string& path, const onnx::DataFile& weights) {
  constexpr int64_t kMostInMemory = int64_t{1} << 26;
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd file, Create(path));
  int64_t released = 0;
  for (const onnx::DataFile::Part& part : weights.parts()) {
    QUOTIENT_RETURN_IF_ERROR(os::WriteFullyAt(file, part.bytes, part.offset, path));
    if (part.offset - released < kMostInMemory) continue;
    os::ReleaseMappedFiles();
    released = part.offset;
  }
  return absl::OkStatus();
}

absl::Status WriteBoth(const std::string& folder, const onnx::DetachedWeights& detached) {
  if (detached.weights.is_used()) {
    QUOTIENT_RETURN_IF_ERROR(WriteWeights(PathIn(folder, kWeightsFile), detached.weights));
  }
  return WriteModel(PathIn(folder, kModelFile), detached.model);
}

}  // namespace

ModelFile Dump::FileOf(absl::string_view bytes) const {
  ModelFile file = {.model = bytes};
  if (weights != nullptr) file.external_data[kDumpWeightsFile] = weights->bytes();
  return file;
}

absl::StatusOr<ModelFiles> ModelFiles::Write(const std::string& folder, const ModelFile& model,
                                             onnx::Copies copies) {
  const absl::StatusOr<onnx::DetachedWeights> detached = onnx::DetachWeights(
      model.model, model.external_data, kWeightsFile, onnx::kLeastDetachedBytes, copies);
  if (!detached.ok()) return absl::UnimplementedError(detached.status().message());
  ModelFiles files(folder);
  const absl::Status written = WriteBoth(folder, *detached);
  // What was read of the model is not needed while the helper loads it, which takes memory, too.
  os::ReleaseMappedFiles();
  if (written.ok()) return files;
  return absl::ResourceExhaustedError(
      absl::StrCat("a model of ", detached->weights.size() >> 20,
                   " MiB cannot be written for ONNX Runtime, which $TMPDIR or /tmp must have room "
                   "for: ",
                   written.message()));
}

ModelFiles::~ModelFiles() {
  if (folder_.empty()) return;
  for (const char* const name : {kModelFile, kWeightsFile, kDumpFile, kDumpWeightsFile}) {
    unlink(PathIn(folder_, name).c_str());
  }
}

absl::StatusOr<Dump> ModelFiles::ReadDump() const {
  Dump dump;
  QUOTIENT_ASSIGN_OR_RETURN(dump.model, os::ReadFile(PathIn(folder_, kDumpFile)));
  const std::string path = PathIn(folder_, kDumpWeightsFile);
  if (access(path.c_str(), F_OK) != 0) return dump;
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd file, os::OpenFile(path, O_RDONLY | O_NOFOLLOW));
  QUOTIENT_ASSIGN_OR_RETURN(dump.weights, os::MappedFile::Map(file, path));
  return dump;
}

}  // namespace quotient::kernels::onnxruntime
