// Rules that write an Einsum as what runtimes compute fast: a MatMul between Transposes, which
// other rules merge with their neighbours.

#include "core/ops/einsum.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Einsum(x, y) = MatMul(x, y), its axes in the order of batches, rows and columns
einsum-matmul: Einsum[?e](?x, ?y) => einsum_matmul(?e, ?x, ?y)
)";

using ops::EinsumLabels;

// Labels by where they are, in the order of the output, or of the left operand.
struct LabelKinds {
  std::string batch;    // In all three places.
  std::string rows;     // Of the left operand and the output.
  std::string columns;  // Of the right operand and the output.
  std::string summed;   // Of both operands.
};

// Nullopt if elements of one operand are summed by themselves.
std::optional<LabelKinds> KindsOf(const EinsumLabels& labels) {
  const auto has = [](const std::string& place, char label) {
    return place.find(label) != place.npos;
  };
  LabelKinds kinds;
  for (const char label : labels.output) {
    const bool in_left = has(labels.left, label), in_right = has(labels.right, label);
    (in_left && in_right ? kinds.batch : in_left ? kinds.rows : kinds.columns).push_back(label);
  }
  for (const char label : labels.left) {
    if (!has(labels.output, label)) kinds.summed.push_back(label);
  }
  for (const char label : labels.right) {
    if (!has(labels.output, label) && !has(labels.left, label)) return std::nullopt;
  }
  const bool are_shared =
      std::ranges::all_of(kinds.summed, [&](char label) { return has(labels.right, label); });
  return are_shared ? std::optional(kinds) : std::nullopt;
}

// Whether what both operands have is of one size, so that nothing is broadcast.
bool SizesAgree(const EinsumLabels& labels, const TensorType& x, const TensorType& y) {
  for (size_t i = 0; i < labels.left.size(); ++i) {
    const size_t j = labels.right.find(labels.left[i]);
    if (j == labels.right.npos) continue;
    const model::Dim &left = x.dim(static_cast<int>(i)), &right = y.dim(static_cast<int>(j));
    if (left.is_unknown() || !(left == right)) return false;
  }
  return true;
}

// x, whose axes have the labels `from`, with its axes in the order of `to`.
ClassId Permuted(Terms& terms, ClassId x, const std::string& from, const std::string& to) {
  if (from == to) return x;
  Ints perm;
  for (const char label : to) perm.push_back(static_cast<int64_t>(from.find(label)));
  return terms.Transpose(x, std::move(perm));
}

// The sizes of labels of a tensor; nullopt if one is no number, or 0, which a Reshape would copy.
std::optional<Ints> Sizes(const TensorType& type, const std::string& labels,
                          const std::string& wanted) {
  Ints sizes;
  for (const char label : wanted) {
    const auto size = NumberAt(type, static_cast<int>(labels.find(label)));
    if (!size || *size < 1) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

int64_t ProductOf(const Ints& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// The product of matrices whose rows, columns or depths are of several labels, or of none.
ClassId ReshapedProduct(Terms& terms, const LabelKinds& kinds, const EinsumLabels& labels,
                        std::span<const ClassId> operands, ClassId x, ClassId y) {
  const TensorType left = terms.type(operands[0]), right = terms.type(operands[1]);
  const auto batch = Sizes(left, labels.left, kinds.batch);
  const auto rows = Sizes(left, labels.left, kinds.rows);
  const auto summed = Sizes(left, labels.left, kinds.summed);
  const auto columns = Sizes(right, labels.right, kinds.columns);
  if (!batch || !rows || !summed || !columns) return ClassId();
  const auto shape = [&](std::initializer_list<int64_t> matrix) {
    Ints sizes = *batch;
    sizes.insert(sizes.end(), matrix);
    return sizes;
  };
  const ClassId product =
      terms.Op("MatMul", {terms.Reshape(x, shape({ProductOf(*rows), ProductOf(*summed)})),
                          terms.Reshape(y, shape({ProductOf(*summed), ProductOf(*columns)}))});
  Ints sizes = *batch;
  sizes.insert(sizes.end(), rows->begin(), rows->end());
  sizes.insert(sizes.end(), columns->begin(), columns->end());
  return product.valid() ? terms.Reshape(product, std::move(sizes)) : product;
}

// args: e, x, y
ClassId EinsumMatmul(Terms& terms, std::span<const Binding> args) {
  const ClassId operands[] = {args[1].id, args[2].id};
  const TensorType left = terms.type(operands[0]), right = terms.type(operands[1]);
  const auto labels = ops::ReadEinsum(terms.word(args[0].op).attributes);
  if (!labels || !left.has_rank() || !right.has_rank() || !model::IsFloat(left.dtype) ||
      !SizesAgree(*labels, left, right)) {
    return ClassId();
  }
  const auto kinds = KindsOf(*labels);
  if (!kinds) return ClassId();
  const auto& [batch, rows, columns, summed] = *kinds;
  const ClassId x = Permuted(terms, operands[0], labels->left, batch + rows + summed);
  const ClassId y = Permuted(terms, operands[1], labels->right, batch + summed + columns);
  if (!x.valid() || !y.valid()) return ClassId();
  // A MatMul takes any number of axes for rows if the right operand is one matrix.
  const bool are_matrices = summed.size() == 1 && columns.size() == 1 &&
                            (rows.size() == 1 || (batch.empty() && !rows.empty()));
  const ClassId product = are_matrices ? terms.Op("MatMul", {x, y})
                                       : ReshapedProduct(terms, *kinds, *labels, operands, x, y);
  return product.valid() ? Permuted(terms, product, batch + rows + columns, labels->output)
                         : product;
}

void AddWords(Words& words) { words.Term("einsum_matmul", "occ", EinsumMatmul); }

}  // namespace

Family EinsumFamily() { return {"einsum", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
