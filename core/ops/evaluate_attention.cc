// Evaluation of Attention, one head after the other.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/ops/attention.h"
#include "core/ops/elementwise.h"
#include "core/ops/interval.h"
#include "core/ops/support.h"

namespace quotient::ops::attention {
namespace {

using model::AttributeMap;
using model::DType;
using model::Tensor;

// The matrices of all heads in a tensor.
struct Matrices {
  Matrices(const Tensor& tensor_in, const AttributeMap& attributes, size_t input)
      : tensor(tensor_in) {
    const std::vector<int64_t>& dims = tensor.dims();
    const bool has_axis = dims.size() == 4;
    batch = dims[0];
    heads = has_axis ? dims[1] : attributes.GetInt(HeadsAttribute(input), 1);
    rows = has_axis ? dims[2] : dims[1];
    columns = has_axis ? dims[3] : dims[2] / heads;
    row_stride = has_axis ? columns : heads * columns;
    head_stride = has_axis ? rows * columns : columns;
  }

  int64_t RowAt(int64_t batch_index, int64_t head, int64_t row) const {
    return batch_index * heads * rows * columns + head * head_stride + row * row_stride;
  }
  // A whole head, row by row.
  std::vector<double> Head(int64_t batch_index, int64_t head) const {
    std::vector<double> elements(static_cast<size_t>(rows * columns));
    for (int64_t row = 0; row < rows; ++row) {
      tensor.Load(RowAt(batch_index, head, row),
                  std::span(elements).subspan(static_cast<size_t>(row * columns),
                                              static_cast<size_t>(columns)));
    }
    return elements;
  }

  const Tensor& tensor;
  int64_t batch, heads, rows, columns, row_stride, head_stride;
};

std::vector<double> Transposed(const std::vector<double>& matrix, int64_t rows, int64_t columns) {
  std::vector<double> transposed(matrix.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      transposed[column * rows + row] = matrix[row * columns + column];
    }
  }
  return transposed;
}

// The mask and `is_causal`, which hide keys from queries.
class Masks {
 public:
  Masks(const EvaluateContext& context, const Matrices& queries, const Matrices& keys)
      : is_causal_(context.attributes.GetInt("is_causal", 0) == 1),
        heads_(queries.heads),
        rows_(queries.rows),
        keys_(keys.rows) {
    const Tensor* const mask = context.inputs.size() > kMask ? context.inputs[kMask] : nullptr;
    if (mask == nullptr) return;
    is_bool_ = mask->dtype() == DType::kBool;
    columns_ = mask->rank() == 0 ? keys_ : mask->dims().back();
    const int64_t dims[] = {queries.batch, queries.heads, queries.rows, columns_};
    reader_.emplace(*mask, dims);
  }

  // What is added to the scores of a query: -infinity for what is hidden.
  std::vector<double> Bias(int64_t batch, int64_t head, int64_t row) const {
    constexpr double kHidden = -Interval::kInfinity;
    std::vector<double> bias(static_cast<size_t>(keys_), 0);
    if (reader_) {
      std::vector<double> mask(static_cast<size_t>(columns_));
      reader_->Load(((batch * heads_ + head) * rows_ + row) * columns_, std::span(mask));
      if (is_bool_) {
        for (double& element : mask) element = element == 0 ? kHidden : 0;
      }
      mask.resize(bias.size(), kHidden);
      bias = std::move(mask);
    }
    for (int64_t key = row + 1; is_causal_ && key < keys_; ++key) bias[key] = kHidden;
    return bias;
  }

 private:
  const bool is_causal_;
  const int64_t heads_, rows_, keys_;
  bool is_bool_ = false;
  int64_t columns_ = 0;
  std::optional<BroadcastReader> reader_;
};

// Softmax of the scores with their bias; zeros if the bias hides all of them.
void ReplaceByWeights(std::span<const double> bias, std::span<double> scores) {
  double largest = -Interval::kInfinity;
  bool hides_all = true;
  for (size_t key = 0; key < scores.size(); ++key) {
    scores[key] += bias[key];
    largest = MaxOf(largest, scores[key]);
    hides_all &= bias[key] == -Interval::kInfinity;
  }
  if (hides_all) return std::fill(scores.begin(), scores.end(), 0);
  double sum = 0;
  for (double& score : scores) {
    score = std::exp(score - largest);
    sum += score;
  }
  for (double& score : scores) score /= sum;
}

// The sum of the rows of a matrix, each times a factor.
void AddRows(std::span<const double> factors, const std::vector<double>& matrix,
             std::span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0);
  for (size_t row = 0; row < factors.size(); ++row) {
    for (size_t column = 0; column < sums.size(); ++column) {
      sums[column] += factors[row] * matrix[row * sums.size() + column];
    }
  }
}

}  // namespace

const char* HeadsAttribute(size_t input) {
  return input == kQueries ? "q_num_heads" : "kv_num_heads";
}

absl::StatusOr<std::vector<Tensor>> Evaluate(const EvaluateContext& context) {
  const Matrices queries(*context.inputs[kQueries], context.attributes, kQueries);
  const Matrices keys(*context.inputs[kKeys], context.attributes, kKeys);
  const Matrices values(*context.inputs[kValues], context.attributes, kValues);
  const Masks masks(context, queries, keys);
  const double scale =
      ScaleOfAttention(context.attributes, context.inputs[kQueries]->type()).value_or(1);
  NewTensor result(context.output_types[0]);
  const bool has_axis = queries.tensor.rank() == 4;
  const int64_t row_stride = has_axis ? values.columns : queries.heads * values.columns;
  const int64_t head_stride = has_axis ? queries.rows * values.columns : values.columns;
  ParallelFor(queries.batch * queries.heads, 1, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> query(static_cast<size_t>(queries.columns));
    std::vector<double> scores(static_cast<size_t>(keys.rows));
    std::vector<double> sums(static_cast<size_t>(values.columns));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / queries.heads;
      const int64_t head = i % queries.heads;
      const int64_t shared = head / (queries.heads / keys.heads);
      const std::vector<double> columns =
          Transposed(keys.Head(batch, shared), keys.rows, keys.columns);
      const std::vector<double> rows = values.Head(batch, shared);
      for (int64_t row = 0; row < queries.rows; ++row) {
        queries.tensor.Load(queries.RowAt(batch, head, row), std::span(query));
        AddRows(query, columns, scores);
        for (double& score : scores) score *= scale;
        ReplaceByWeights(masks.Bias(batch, head, row), scores);
        AddRows(scores, rows, sums);
        const int64_t at = batch * queries.heads * queries.rows * values.columns +
                           head * head_stride + row * row_stride;
        model::Store(result.tensor.dtype(), result.bytes, at, std::span<const double>(sums));
      }
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

}  // namespace quotient::ops::attention
