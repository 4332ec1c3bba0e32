#include "core/kernels/cuda/plugin/host_call.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/plugin/cuda_status.h"

namespace quotient::kernels::cuda {

namespace {

class PinnedBuffer {
 public:
  static absl::StatusOr<PinnedBuffer> Allocate(int64_t bytes) {
    void* memory = nullptr;
    const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    QUOTIENT_CUDA_RETURN_IF_ERROR(cudaMallocHost(&memory, size));
    return PinnedBuffer(memory);
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~PinnedBuffer() { cudaFreeHost(memory_); }
  void* get() const { return memory_; }

 private:
  explicit PinnedBuffer(void* memory) : memory_(memory) {}
  void* memory_;
};

class HostLauncher : public StreamLauncher {
 public:
  HostLauncher(HostCall call, std::vector<PinnedBuffer> inputs, std::vector<PinnedBuffer> outputs)
      : call_(std::move(call)),
        pinned_inputs_(std::move(inputs)),
        pinned_outputs_(std::move(outputs)) {
    for (const PinnedBuffer& buffer : pinned_inputs_) inputs_.push_back(buffer.get());
    for (const PinnedBuffer& buffer : pinned_outputs_) outputs_.push_back(buffer.get());
  }

  int64_t workspace_bytes() const override { return 0; }

  absl::Status Enqueue(const Step& step, cudaStream_t stream) const override {
    if (step.buffers.size() != inputs_.size() + outputs_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("a host call of ", inputs_.size(), " + ",
                                                     outputs_.size(), " buffers is given ",
                                                     step.buffers.size()));
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      QUOTIENT_RETURN_IF_ERROR(Copy(pinned_inputs_[i].get(),
                                    reinterpret_cast<void*>(step.buffers[i]), call_.input_bytes[i],
                                    cudaMemcpyDeviceToHost, stream));
    }
    QUOTIENT_CUDA_RETURN_IF_ERROR(
        cudaLaunchHostFunc(stream, &HostLauncher::Run, const_cast<HostLauncher*>(this)));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      QUOTIENT_RETURN_IF_ERROR(Copy(reinterpret_cast<void*>(step.buffers[inputs_.size() + i]),
                                    outputs_[i], call_.output_bytes[i], cudaMemcpyHostToDevice,
                                    stream));
    }
    return absl::OkStatus();
  }

 private:
  // An empty buffer has no address, and a graph has no node for it.
  static absl::Status Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind,
                           cudaStream_t stream) {
    if (bytes == 0) return absl::OkStatus();
    QUOTIENT_CUDA_RETURN_IF_ERROR(
        cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream));
    return absl::OkStatus();
  }

  // Runs on a thread of the driver, which must not use the device.
  static void CUDART_CB Run(void* launcher) {
    const auto& self = *static_cast<const HostLauncher*>(launcher);
    self.call_.run(self.inputs_, self.outputs_);
  }

  const HostCall call_;
  const std::vector<PinnedBuffer> pinned_inputs_;
  const std::vector<PinnedBuffer> pinned_outputs_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

absl::StatusOr<std::vector<PinnedBuffer>> AllocateAll(const std::vector<int64_t>& sizes) {
  std::vector<PinnedBuffer> buffers;
  for (const int64_t bytes : sizes) {
    QUOTIENT_ASSIGN_OR_RETURN(PinnedBuffer buffer, PinnedBuffer::Allocate(bytes));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Launcher>> PrepareHostCall(HostCall call) {
  QUOTIENT_ASSIGN_OR_RETURN(auto inputs, AllocateAll(call.input_bytes));
  QUOTIENT_ASSIGN_OR_RETURN(auto outputs, AllocateAll(call.output_bytes));
  return std::make_unique<HostLauncher>(std::move(call), std::move(inputs), std::move(outputs));
}

}  // namespace quotient::kernels::cuda
