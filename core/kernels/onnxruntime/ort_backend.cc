#include "core/kernels/onnxruntime/ort_backend.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cpu_description.h"
#include "core/kernels/onnxruntime/file_executable.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/kernels/onnxruntime/timed_kernel.h"
#include "core/kernels/onnxruntime/traced_file.h"
#include "core/kernels/onnxruntime/written_graph.h"
#include "core/kernels/ort_fusions.h"
#include "core/os/memory.h"
#include "core/os/program_folder.h"

namespace quotient::kernels::onnxruntime {
namespace {

constexpr char kHelper[] = "quotient-ort";
constexpr char kLibrary[] = "libonnxruntime.so";

// The version of the method by which kernels are timed. Raise it when timed_kernel.cc changes what
// it measures.
constexpr int kPricesVersion = 5;

// Everything that a kernel's time depends on.
DeviceFingerprint Fingerprint(const HelperClient& client, const CpuDescription& cpu, int threads) {
  return {absl::StrCat("onnxruntime; ONNX Runtime ", client.version(), " on ", cpu.model_name,
                       "; build ", client.build(), "; ", ProcessorText(cpu), "; cores ", cpu.cores,
                       "; caches ", cpu.l1d, " ", cpu.l2, " ", cpu.l3, "; threads ", threads,
                       "; provider cpu; level all; prices ", kPricesVersion)};
}

class OrtBackend : public Backend {
 public:
  OrtBackend(std::unique_ptr<HelperClient> client, DeviceFingerprint fingerprint, int threads)
      : client_(std::move(client)),
        fingerprint_(std::move(fingerprint)),
        partition_{.threads = threads, .runtime = &OrtFusionsHere()} {}

  const DeviceFingerprint& fingerprint() const override { return fingerprint_; }
  const PartitionOptions& partition() const override { return partition_; }

  absl::Status health() const override { return client_->health(); }
  int64_t failures() const override { return client_->failures(); }
  void EndHungCalls(double seconds) const override { client_->EndHungCall(seconds); }
  void Rest() override { client_->Rest(); }

  absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> Compile(
      const KernelSpec& spec) const override {
    std::vector<std::unique_ptr<CompiledKernel>> only(1);
    QUOTIENT_ASSIGN_OR_RETURN(only[0], LoadKernel(client_.get(), operands_, spec));
    return only;
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
  absl::StatusOr<FileKernels> KernelsOfFile(const ModelFile& file, const FileValues& values,
                                            const std::vector<model::Tensor>& inputs,
                                            int footprint_log2) const override {
    std::vector<NamedTensor> named;
    for (size_t i = 0; i < values.inputs.size(); ++i) {
      named.push_back({values.inputs[i].name, inputs[i]});
    }
    return TraceFile(client_.get(), &operands_, file, named, partition_.threads, footprint_log2);
  }

 private:
  const std::unique_ptr<HelperClient> client_;
  mutable OperandBook operands_;
  const DeviceFingerprint fingerprint_;
  const PartitionOptions partition_;
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

absl::StatusOr<std::unique_ptr<Backend>> NewBackend(absl::string_view device, int threads,
                                                    const os::Environment& environment,
                                                    bool takes_precedence) {
  QUOTIENT_ASSIGN_OR_RETURN(const CpuDescription cpu, DescribeCpu());
  HelperOptions options{.library = LibraryToLoad(environment),
                        .threads = threads,
                        .takes_precedence = takes_precedence,
                        .environment = environment};
  QUOTIENT_ASSIGN_OR_RETURN(options.program, FindHelper());
  if (device == kCudaDevice) options.provider = "CUDAExecutionProvider";
  options.memory_bytes =
      static_cast<int64_t>(os::kShareToUse * static_cast<double>(os::MemoryBytes()));
  auto client = HelperClient::Create(std::move(options));
  if (!client.ok()) {
    return Annotate(client.status(), absl::StrCat("ONNX Runtime cannot be used (", kLibraryVariable,
                                                  " or --onnxruntime name its library)"));
  }
  if (device == kCudaDevice) {
    return MakeError(Reason::kDeviceNotPresent,
                     absl::StrCat(kCudaDevice,
                                  ": this version of Quotient runs models in ONNX "
                                  "Runtime on processors only"));
  }
  DeviceFingerprint fingerprint = Fingerprint(**client, cpu, threads);
  return std::make_unique<OrtBackend>(*std::move(client), std::move(fingerprint), threads);
}

}  // namespace quotient::kernels::onnxruntime
