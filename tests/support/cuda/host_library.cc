#include "tests/support/cuda/host_library.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/cuda/host_operations.h"
#include "tests/support/cuda/host_values.h"

namespace quotient::kernels::cuda {
namespace {

using host::Values;

host::Factor FactorOf(bool rounded) {
  if (rounded) return host::ToTf32;
  return [](double value) { return value; };
}

int64_t MemoryOffset(const DnnTensor& tensor, std::span<const int64_t> index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * tensor.strides[i];
  return offset;
}

class Interpreter {
 public:
  Interpreter(const DnnGraph& graph, bool rounded)
      : graph_(graph), factor_(FactorOf(rounded)), values_(graph.tensors.size()) {}

  absl::Status Run(std::span<void* const> buffers) {
    std::vector<void*> data(graph_.tensors.size(), nullptr);
    size_t next = 0;
    for (size_t i = 0; i < data.size(); ++i) {
      const DnnTensor& tensor = graph_.tensors[i];
      values_[i].dims = tensor.dims;
      values_[i].data.assign(static_cast<size_t>(host::Volume(tensor.dims)),
                             tensor.value.value_or(0));
      if (tensor.is_virtual || tensor.value.has_value()) continue;
      data[i] = buffers[next++];
      if (!IsWritten(static_cast<int>(i))) Read(i, data[i]);
    }
    for (const DnnNode& node : graph_.nodes) {
      if (const absl::Status status = Compute(node); !status.ok()) return status;
      if (data[node.output] != nullptr) Write(node.output, data[node.output]);
    }
    return absl::OkStatus();
  }

 private:
  bool IsWritten(int tensor) const {
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                       [&](const DnnNode& node) { return node.output == tensor; });
  }

  void Read(size_t tensor, const void* data) {
    const DnnTensor& spec = graph_.tensors[tensor];
    host::ForEach(spec.dims, [&](std::span<const int64_t> index) {
      values_[tensor].at(index) = host::Load(spec.type, data, MemoryOffset(spec, index));
    });
  }

  void Write(int tensor, void* data) const {
    const DnnTensor& spec = graph_.tensors[tensor];
    host::ForEach(spec.dims, [&](std::span<const int64_t> index) {
      host::Store(spec.type, data, MemoryOffset(spec, index), values_[tensor].at(index));
    });
  }

  absl::Status Compute(const DnnNode& node) {
    std::vector<const Values*> inputs;
    for (const int input : node.inputs) inputs.push_back(&values_[input]);
    Values& out = values_[node.output];
    switch (node.op) {
      case DnnOp::kConvolution:
        host::Convolve(node, inputs, factor_, out);
        return absl::OkStatus();
      case DnnOp::kTransposedConvolution:
        host::ConvolveTransposed(node, inputs, factor_, out);
        return absl::OkStatus();
      case DnnOp::kProduct:
        host::Multiply(inputs, factor_, out);
        return absl::OkStatus();
      case DnnOp::kPointwise:
        host::Apply(node, inputs, out);
        return absl::OkStatus();
      case DnnOp::kReduction:
        host::Reduce(node, inputs, out);
        return absl::OkStatus();
      case DnnOp::kPool:
        host::Pool(node, inputs, out);
        return absl::OkStatus();
      case DnnOp::kLayerNorm:
      case DnnOp::kRmsNorm:
        host::Normalize(node, inputs, out);
        return absl::OkStatus();
      case DnnOp::kAttention:
        host::Attend(node, inputs, factor_, out);
        return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("host library: ", ToString(graph_)));
  }

  const DnnGraph& graph_;
  const host::Factor factor_;
  std::vector<Values> values_;
};

}  // namespace

void ComputeOnHost(const MatmulProblem& p, std::span<void* const> buffers, bool rounded) {
  const void* const a = buffers[0];
  const void* const b = buffers[1];
  void* const d = buffers[2];
  const void* const bias = p.has_bias ? buffers[3] : nullptr;
  const void* const c = p.has_c ? buffers[3 + (p.has_bias ? 1 : 0)] : nullptr;
  const host::Factor factor_of = FactorOf(rounded);
  const auto factor = [&](const void* data, int64_t index) {
    return factor_of(host::Load(p.type, data, index));
  };
  for (int64_t member = 0; member < p.batch; ++member) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          const int64_t left = p.a_transposed ? k * p.a_row + i : i * p.a_row + k;
          const int64_t right = p.b_transposed ? j * p.b_row + k : k * p.b_row + j;
          sum += factor(a, member * p.a_step + left) * factor(b, member * p.b_step + right);
        }
        const int64_t at = member * p.d_step + i * p.d_row + j;
        sum *= p.alpha;
        if (c != nullptr) sum += p.beta * host::Load(p.type, c, at);
        if (bias != nullptr) sum += host::Load(p.type, bias, j);
        host::Store(p.type, d, at, p.relu ? std::max(sum, 0.0) : sum);
      }
    }
  }
}

absl::Status ComputeOnHost(const DnnGraph& graph, std::span<void* const> buffers, bool rounded) {
  return Interpreter(graph, rounded).Run(buffers);
}

}  // namespace quotient::kernels::cuda
