#include "tests/support/cuda/host_library.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/float16.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;

double Load(DType type, const void* data, int64_t index) {
  switch (type) {
    case DType::kFloat16:
      return Float16ToFloat(static_cast<const uint16_t*>(data)[index]);
    case DType::kBfloat16:
      return Bfloat16ToFloat(static_cast<const uint16_t*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

void Store(DType type, void* data, int64_t index, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case DType::kFloat16:
      static_cast<uint16_t*>(data)[index] = FloatToFloat16(narrow);
      return;
    case DType::kBfloat16:
      static_cast<uint16_t*>(data)[index] = FloatToBfloat16(narrow);
      return;
    default:
      static_cast<float*>(data)[index] = narrow;
  }
}

// To ten bits of mantissa.
double ToTf32(double value) {
  constexpr uint32_t kDropped = 13;
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  bits = (bits + (1u << (kDropped - 1))) & ~((1u << kDropped) - 1);
  return std::bit_cast<float>(bits);
}

int64_t Volume(const std::vector<int64_t>& dims) {
  int64_t volume = 1;
  for (const int64_t dim : dims) volume *= dim;
  return volume;
}

// A tensor in row-major order, as doubles.
struct Values {
  std::vector<int64_t> dims;
  std::vector<double> data;

  double& at(std::span<const int64_t> index) { return data[Offset(index)]; }
  double at(std::span<const int64_t> index) const { return data[Offset(index)]; }
  // Where an axis has one element, it is read at any index.
  int64_t Offset(std::span<const int64_t> index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      offset = offset * dims[i] + (dims[i] == 1 ? 0 : index[i]);
    return offset;
  }
};

// Calls visit(index) for every index of a box.
void ForEach(const std::vector<int64_t>& dims,
             const std::function<void(std::span<const int64_t>)>& visit) {
  if (Volume(dims) == 0) return;
  std::vector<int64_t> index(dims.size(), 0);
  while (true) {
    visit(index);
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

int64_t MemoryOffset(const DnnTensor& tensor, std::span<const int64_t> index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * tensor.strides[i];
  return offset;
}

double Apply(const DnnNode& node, double a, double b) {
  switch (node.mode) {
    case DnnMode::kIdentity:
      return a;
    case DnnMode::kAdd:
      return a + b;
    case DnnMode::kSub:
      return a - b;
    case DnnMode::kMul:
      return a * b;
    case DnnMode::kDiv:
      return a / b;
    case DnnMode::kMax:
      return std::max(a, b);
    case DnnMode::kMin:
      return std::min(a, b);
    case DnnMode::kRelu:
      return std::max(a, 0.0);
    case DnnMode::kClippedRelu:
      return std::clamp(a, node.lower, node.upper);
    case DnnMode::kSigmoid:
      return 1 / (1 + std::exp(-a));
    case DnnMode::kTanh:
      return std::tanh(a);
    case DnnMode::kGeluErf:
      return a / 2 * (1 + std::erf(a / std::sqrt(2.0)));
    case DnnMode::kGeluTanh:
      return a / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
    case DnnMode::kNeg:
      return -a;
    case DnnMode::kAbs:
      return std::abs(a);
    case DnnMode::kSqrt:
      return std::sqrt(a);
    case DnnMode::kExp:
      return std::exp(a);
    case DnnMode::kPow:
      return std::pow(a, b);
    case DnnMode::kSwish:
      return a / (1 + std::exp(-a));
    case DnnMode::kElu:
      return a > 0 ? a : std::expm1(a);
    case DnnMode::kLog:
      return std::log(a);
    case DnnMode::kRsqrt:
      return 1 / std::sqrt(a);
    case DnnMode::kErf:
      return std::erf(a);
    case DnnMode::kSin:
      return std::sin(a);
    case DnnMode::kCos:
      return std::cos(a);
    case DnnMode::kFloor:
      return std::floor(a);
    case DnnMode::kCeil:
      return std::ceil(a);
    case DnnMode::kReciprocal:
      return 1 / a;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

class Interpreter {
 public:
  Interpreter(const DnnGraph& graph, bool rounded)
      : graph_(graph), rounded_(rounded), values_(graph.tensors.size()) {}

  absl::Status Run(std::span<void* const> buffers) {
    std::vector<void*> data(graph_.tensors.size(), nullptr);
    size_t next = 0;
    for (size_t i = 0; i < data.size(); ++i) {
      const DnnTensor& tensor = graph_.tensors[i];
      values_[i].dims = tensor.dims;
      values_[i].data.assign(static_cast<size_t>(Volume(tensor.dims)), tensor.value.value_or(0));
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
    ForEach(spec.dims, [&](std::span<const int64_t> index) {
      values_[tensor].at(index) = Load(spec.type, data, MemoryOffset(spec, index));
    });
  }

  void Write(int tensor, void* data) const {
    const DnnTensor& spec = graph_.tensors[tensor];
    ForEach(spec.dims, [&](std::span<const int64_t> index) {
      Store(spec.type, data, MemoryOffset(spec, index), values_[tensor].at(index));
    });
  }

  absl::Status Compute(const DnnNode& node) {
    switch (node.op) {
      case DnnOp::kConvolution:
        Convolve(node);
        return absl::OkStatus();
      case DnnOp::kTransposedConvolution:
        ConvolveTransposed(node);
        return absl::OkStatus();
      case DnnOp::kProduct:
        Multiply(node);
        return absl::OkStatus();
      case DnnOp::kPointwise: {
        Values& out = values_[node.output];
        ForEach(out.dims, [&](std::span<const int64_t> index) {
          const double a = values_[node.inputs[0]].at(index);
          const double b = node.inputs.size() > 1 ? values_[node.inputs[1]].at(index) : 0;
          out.at(index) = Apply(node, a, b);
        });
        return absl::OkStatus();
      }
      case DnnOp::kReduction:
        Reduce(node);
        return absl::OkStatus();
      case DnnOp::kPool:
        Pool(node);
        return absl::OkStatus();
      case DnnOp::kLayerNorm:
      case DnnOp::kRmsNorm:
        Normalize(node);
        return absl::OkStatus();
      case DnnOp::kAttention:
        Attend(node);
        return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("host library: ", ToString(graph_)));
  }

  double Factor(double value) const { return rounded_ ? ToTf32(value) : value; }

  // Calls visit(output position, tap, input position) of a sliding window, over spatial axes.
  void Slide(const DnnNode& node, const std::vector<int64_t>& image,
             const std::vector<int64_t>& window, const std::vector<int64_t>& positions,
             const std::function<void(std::span<const int64_t>, std::span<const int64_t>,
                                      std::span<const int64_t>)>& visit) const {
    std::vector<int64_t> seen(image.size());
    ForEach(positions, [&](std::span<const int64_t> at) {
      ForEach(window, [&](std::span<const int64_t> tap) {
        for (size_t i = 0; i < seen.size(); ++i) {
          seen[i] = at[i] * node.strides[i] + tap[i] * node.dilations[i] - node.pads_begin[i];
          if (seen[i] < 0 || seen[i] >= image[i]) return;
        }
        visit(at, tap, seen);
      });
    });
  }

  static std::vector<int64_t> Spatial(const std::vector<int64_t>& dims) {
    return {dims.begin() + 2, dims.end()};
  }

  static std::vector<int64_t> Index(int64_t a, int64_t b, std::span<const int64_t> rest) {
    std::vector<int64_t> index{a, b};
    index.insert(index.end(), rest.begin(), rest.end());
    return index;
  }

  void Convolve(const DnnNode& node) {
    const Values& x = values_[node.inputs[0]];
    const Values& w = values_[node.inputs[1]];
    Values& y = values_[node.output];
    const int64_t groups = x.dims[1] / w.dims[1];
    const int64_t outputs = w.dims[0] / groups;
    Slide(
        node, Spatial(x.dims), Spatial(w.dims), Spatial(y.dims), [&](auto at, auto tap, auto seen) {
          for (int64_t n = 0; n < y.dims[0]; ++n) {
            for (int64_t k = 0; k < y.dims[1]; ++k) {
              for (int64_t c = 0; c < w.dims[1]; ++c) {
                y.at(Index(n, k, at)) += Factor(x.at(Index(n, k / outputs * w.dims[1] + c, seen))) *
                                         Factor(w.at(Index(k, c, tap)));
              }
            }
          }
        });
  }

  // The adjoint of a convolution: dy, w -> dx.
  void ConvolveTransposed(const DnnNode& node) {
    const Values& dy = values_[node.inputs[0]];
    const Values& w = values_[node.inputs[1]];
    Values& dx = values_[node.output];
    const int64_t groups = dx.dims[1] / w.dims[1];
    const int64_t outputs = w.dims[0] / groups;
    Slide(node, Spatial(dx.dims), Spatial(w.dims), Spatial(dy.dims),
          [&](auto at, auto tap, auto seen) {
            for (int64_t n = 0; n < dy.dims[0]; ++n) {
              for (int64_t k = 0; k < dy.dims[1]; ++k) {
                for (int64_t c = 0; c < w.dims[1]; ++c) {
                  dx.at(Index(n, k / outputs * w.dims[1] + c, seen)) +=
                      Factor(dy.at(Index(n, k, at))) * Factor(w.at(Index(k, c, tap)));
                }
              }
            }
          });
  }

  void Multiply(const DnnNode& node) {
    const Values& a = values_[node.inputs[0]];
    const Values& b = values_[node.inputs[1]];
    Values& c = values_[node.output];
    ForEach(c.dims, [&](std::span<const int64_t> at) {
      double sum = 0;
      for (int64_t k = 0; k < a.dims[2]; ++k) {
        const int64_t left[] = {at[0], at[1], k}, right[] = {at[0], k, at[2]};
        sum += Factor(a.at(left)) * Factor(b.at(right));
      }
      c.at(at) = sum;
    });
  }

  static double Combine(DnnMode mode, double a, double b) {
    switch (mode) {
      case DnnMode::kReduceMax:
        return std::max(a, b);
      case DnnMode::kReduceMin:
        return std::min(a, b);
      case DnnMode::kReduceProd:
        return a * b;
      default:
        return a + b;
    }
  }

  void Reduce(const DnnNode& node) {
    const Values& x = values_[node.inputs[0]];
    Values& y = values_[node.output];
    std::vector<bool> met(y.data.size(), false);
    ForEach(x.dims, [&](std::span<const int64_t> index) {
      double& sum = y.at(index);
      const auto at = static_cast<size_t>(y.Offset(index));
      sum = met[at] ? Combine(node.mode, sum, x.at(index)) : x.at(index);
      met[at] = true;
    });
    if (node.mode != DnnMode::kReduceMean) return;
    const auto members = static_cast<double>(x.data.size() / y.data.size());
    for (double& sum : y.data) sum /= members;
  }

  void Pool(const DnnNode& node) {
    const Values& x = values_[node.inputs[0]];
    Values& y = values_[node.output];
    DnnNode dense = node;
    dense.dilations.assign(node.window.size(), 1);
    const bool is_max = node.mode == DnnMode::kMaxPool;
    std::fill(y.data.begin(), y.data.end(),
              is_max ? -std::numeric_limits<double>::infinity() : 0.0);
    std::vector<double> seen_by(y.data.size(), 0);
    Slide(dense, Spatial(x.dims), node.window, Spatial(y.dims), [&](auto at, auto, auto seen) {
      for (int64_t n = 0; n < y.dims[0]; ++n) {
        for (int64_t c = 0; c < y.dims[1]; ++c) {
          double& out = y.at(Index(n, c, at));
          const double in = x.at(Index(n, c, seen));
          out = is_max ? std::max(out, in) : out + in;
          ++seen_by[static_cast<size_t>(y.Offset(Index(n, c, at)))];
        }
      }
    });
    if (is_max) return;
    const bool with_padding = node.mode == DnnMode::kAveragePoolWithPadding;
    for (size_t i = 0; i < y.data.size(); ++i) {
      y.data[i] /= with_padding ? static_cast<double>(Volume(node.window)) : seen_by[i];
    }
  }

  // Over all axes but the first.
  void Normalize(const DnnNode& node) {
    const Values& x = values_[node.inputs[0]];
    const Values& scale = values_[node.inputs[1]];
    Values& y = values_[node.output];
    const bool is_layer = node.op == DnnOp::kLayerNorm;
    const int64_t members = Volume(x.dims) / x.dims[0];
    std::vector<double> sums(static_cast<size_t>(x.dims[0]), 0);
    std::vector<double> squares = sums;
    ForEach(x.dims,
            [&](auto index) { sums[static_cast<size_t>(index[0])] += is_layer ? x.at(index) : 0; });
    ForEach(x.dims, [&](auto index) {
      const auto row = static_cast<size_t>(index[0]);
      const double centered = x.at(index) - sums[row] / static_cast<double>(members);
      squares[row] += centered * centered;
    });
    ForEach(x.dims, [&](auto index) {
      const auto row = static_cast<size_t>(index[0]);
      const double centered = x.at(index) - sums[row] / static_cast<double>(members);
      const double variance = squares[row] / static_cast<double>(members);
      y.at(index) = centered / std::sqrt(variance + node.epsilon) * scale.at(index) +
                    (is_layer ? values_[node.inputs[2]].at(index) : 0);
    });
  }

  void Attend(const DnnNode& node) {
    const Values& q = values_[node.inputs[0]];
    const Values& k = values_[node.inputs[1]];
    const Values& v = values_[node.inputs[2]];
    Values& y = values_[node.output];
    ForEach({q.dims[0], q.dims[1], q.dims[2]}, [&](std::span<const int64_t> row) {
      std::vector<double> scores(static_cast<size_t>(k.dims[2]));
      for (int64_t j = 0; j < k.dims[2]; ++j) {
        double score = 0;
        for (int64_t i = 0; i < q.dims[3]; ++i) {
          const int64_t left[] = {row[0], row[1], row[2], i}, right[] = {row[0], row[1], j, i};
          score += Factor(q.at(left)) * Factor(k.at(right));
        }
        const int64_t at[] = {row[0], row[1], row[2], j};
        score *= node.scale;
        if (node.inputs.size() > 3) score += values_[node.inputs[3]].at(at);
        scores[static_cast<size_t>(j)] = score;
      }
      const double highest = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& score : scores) sum += score = std::exp(score - highest);
      for (int64_t i = 0; i < y.dims[3]; ++i) {
        double value = 0;
        for (int64_t j = 0; j < k.dims[2]; ++j) {
          const int64_t at[] = {row[0], row[1], j, i};
          value += Factor(scores[static_cast<size_t>(j)] / sum) * Factor(v.at(at));
        }
        const int64_t out[] = {row[0], row[1], row[2], i};
        y.at(out) = value;
      }
    });
  }

  const DnnGraph& graph_;
  const bool rounded_;
  std::vector<Values> values_;
};

}  // namespace

void ComputeOnHost(const MatmulProblem& p, std::span<void* const> buffers, bool rounded) {
  const void* const a = buffers[0];
  const void* const b = buffers[1];
  void* const d = buffers[2];
  const void* const bias = p.has_bias ? buffers[3] : nullptr;
  const void* const c = p.has_c ? buffers[3 + (p.has_bias ? 1 : 0)] : nullptr;
  const auto factor = [&](const void* data, int64_t index) {
    const double value = Load(p.type, data, index);
    return rounded ? ToTf32(value) : value;
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
        if (c != nullptr) sum += Load(p.type, c, at);
        if (bias != nullptr) sum += Load(p.type, bias, j);
        Store(p.type, d, at, p.relu ? std::max(sum, 0.0) : sum);
      }
    }
  }
}

absl::Status ComputeOnHost(const DnnGraph& graph, std::span<void* const> buffers, bool rounded) {
  return Interpreter(graph, rounded).Run(buffers);
}

}  // namespace quotient::kernels::cuda
