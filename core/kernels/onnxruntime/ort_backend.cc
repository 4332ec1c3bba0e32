#include "core/kernels/onnxruntime/ort_backend.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/device_name.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "core/kernels/onnxruntime/file_executable.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/kernels/onnxruntime/written_graph.h"
#include "core/os/memory.h"
#include "core/os/program_folder.h"

namespace quotient::kernels::onnxruntime {
namespace {

constexpr char kHelper[] = "quotient-ort";
constexpr char kLibrary[] = "libonnxruntime.so";

class OrtBackend : public Backend {
 public:
  OrtBackend(std::unique_ptr<HelperClient> client, std::unique_ptr<Backend> cpu)
      : client_(std::move(client)), cpu_(std::move(cpu)) {
    const std::string& cpu_text = cpu_->fingerprint().text;
    fingerprint_.text =
        absl::StrCat("onnxruntime; ONNX Runtime ", client_->version(), " on ", DeviceName(cpu_text),
                     "; provider cpu; level all; kernels of ", cpu_text);
  }

  const DeviceFingerprint& fingerprint() const override { return fingerprint_; }
  const PartitionOptions& partition() const override { return cpu_->partition(); }

  absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> Compile(
      const KernelSpec& spec) const override {
    return cpu_->Compile(spec);
  }

  absl::StatusOr<std::unique_ptr<Executable>> CompileGraph(const model::Graph& graph,
                                                           const PlanChoice&) const override {
    QUOTIENT_ASSIGN_OR_RETURN(const WrittenGraph written, WriteGraph(graph));
    return LoadFile(client_.get(), written.file, written.values);
  }

  bool runs_files() const override { return true; }
  absl::StatusOr<std::unique_ptr<Executable>> CompileFile(const ModelFile& file,
                                                          const FileValues& values) const override {
    return LoadFile(client_.get(), file, values);
  }

 private:
  const std::unique_ptr<HelperClient> client_;
  const std::unique_ptr<Backend> cpu_;  // Whose kernels stand for ONNX Runtime's in prices.
  DeviceFingerprint fingerprint_;       // Constant after construction.
};

absl::StatusOr<std::string> FindHelper() {
  std::string path = os::FindBesideProgram(kHelper, {""});
  if (!path.empty()) return path;
  return MakeError(Reason::kDeviceNotPresent,
                   absl::StrCat("this installation has no ", kHelper, " in ", os::ProgramFolder()));
}

std::string LibraryToLoad(const os::Environment& environment) {
  const std::string named = os::ValueOf(environment, kLibraryVariable);
  if (!named.empty()) return named;
  const std::string path = os::FindBesideProgram(kLibrary, {"", "../lib/"});
  return path.empty() ? kLibrary : path;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> NewBackend(int threads,
                                                    const os::Environment& environment) {
  constexpr double kShareOfMemory = 0.75;
  HelperOptions options{
      .library = LibraryToLoad(environment), .threads = threads, .environment = environment};
  QUOTIENT_ASSIGN_OR_RETURN(options.program, FindHelper());
  options.memory_bytes =
      static_cast<int64_t>(kShareOfMemory * static_cast<double>(os::MemoryBytes()));
  auto client = HelperClient::Create(std::move(options));
  if (!client.ok()) {
    return Annotate(client.status(), absl::StrCat("ONNX Runtime cannot be used (", kLibraryVariable,
                                                  " or --onnxruntime name its library)"));
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Backend> cpu, onednn::NewBackend(threads, environment));
  return std::make_unique<OrtBackend>(*std::move(client), std::move(cpu));
}

}  // namespace quotient::kernels::onnxruntime
