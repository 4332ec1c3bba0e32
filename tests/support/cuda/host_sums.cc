// Operations of the emulated libraries that sum along axes.

#include <algorithm>
#include <cmath>

#include "tests/support/cuda/host_operations.h"

namespace quotient::kernels::cuda::host {
namespace {

double Combine(DnnMode mode, double a, double b) {
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

}  // namespace

void Multiply(Inputs inputs, Factor factor, Values& c) {
  const Values& a = *inputs[0];
  const Values& b = *inputs[1];
  ForEach(c.dims, [&](std::span<const int64_t> at) {
    double sum = 0;
    for (int64_t k = 0; k < a.dims[2]; ++k) {
      const int64_t left[] = {at[0], at[1], k}, right[] = {at[0], k, at[2]};
      sum += factor(a.at(left)) * factor(b.at(right));
    }
    c.at(at) = sum;
  });
}

void Reduce(const DnnNode& node, Inputs inputs, Values& y) {
  const Values& x = *inputs[0];
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

// Normalizes over all axes except the first.
void Normalize(const DnnNode& node, Inputs inputs, Values& y) {
  const Values& x = *inputs[0];
  const Values& scale = *inputs[1];
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
                  (is_layer ? inputs[2]->at(index) : 0);
  });
}

void Attend(const DnnNode& node, Inputs inputs, Factor factor, Values& y) {
  const Values& q = *inputs[0];
  const Values& k = *inputs[1];
  const Values& v = *inputs[2];
  ForEach({q.dims[0], q.dims[1], q.dims[2]}, [&](std::span<const int64_t> row) {
    std::vector<double> scores(static_cast<size_t>(k.dims[2]));
    for (int64_t j = 0; j < k.dims[2]; ++j) {
      double score = 0;
      for (int64_t i = 0; i < q.dims[3]; ++i) {
        const int64_t left[] = {row[0], row[1], row[2], i}, right[] = {row[0], row[1], j, i};
        score += factor(q.at(left)) * factor(k.at(right));
      }
      const int64_t at[] = {row[0], row[1], row[2], j};
      score *= node.scale;
      if (inputs.size() > 3) score += inputs[3]->at(at);
      scores[static_cast<size_t>(j)] = score;
    }
    const double highest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - highest);
    for (int64_t i = 0; i < y.dims[3]; ++i) {
      double value = 0;
      for (int64_t j = 0; j < k.dims[2]; ++j) {
        const int64_t at[] = {row[0], row[1], j, i};
        value += factor(scores[static_cast<size_t>(j)] / sum) * factor(v.at(at));
      }
      const int64_t out[] = {row[0], row[1], row[2], i};
      y.at(out) = value;
    }
  });
}

}  // namespace quotient::kernels::cuda::host
