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

using ops::EinsumKinds;
using ops::EinsumLabels;

// Whether elements of one operand are summed by themselves.
bool SumsOneOperand(const EinsumLabels& labels, const EinsumKinds& kinds) {
  return std::ranges::any_of(kinds.summed, [&](char label) {
    return labels.left.find(label) == labels.left.npos ||
           labels.right.find(label) == labels.right.npos;
  });
}

// Whether what both operands have is of one size, so that nothing is broadcast. Inputs with equal
// symbols may still be of unequal sizes when the model runs. A MatMul then broadcasts batches as an
// Einsum does, but not what is summed.
bool SizesAgree(const EinsumLabels& labels, const TensorType& x, const TensorType& y) {
  for (size_t i = 0; i < labels.left.size(); ++i) {
    const size_t j = labels.right.find(labels.left[i]);
    if (j == labels.right.npos) continue;
    const model::Dim &left = x.dim(static_cast<int>(i)), &right = y.dim(static_cast<int>(j));
    const bool is_batch = labels.output.find(labels.left[i]) != labels.output.npos;
    if (!model::SameDim(left, right) || (!is_batch && !left.is_number())) return false;
  }
  return true;
}

// x, whose axes have the labels `from`, with its axes in the order of `to`.
ClassId Permuted(Terms& terms, ClassId x, const std::string& from, const std::string& to) {
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

// The sizes of a product whose rows, columns or depths are of several labels, or of none.
struct ProductSizes {
  Ints batch, rows, columns, summed;
};
std::optional<ProductSizes> ReadSizes(const EinsumKinds& kinds, const EinsumLabels& labels,
                                      const TensorType& left, const TensorType& right) {
  const auto batch = Sizes(left, labels.left, kinds.batch);
  const auto rows = Sizes(left, labels.left, kinds.rows);
  const auto summed = Sizes(left, labels.left, kinds.summed);
  const auto columns = Sizes(right, labels.right, kinds.columns);
  if (!batch || !rows || !summed || !columns) return std::nullopt;
  return ProductSizes{*batch, *rows, *columns, *summed};
}

// The product of x and y, whose axes are in order, as matrices.
ClassId ReshapedProduct(Terms& terms, const ProductSizes& sizes, ClassId x, ClassId y) {
  const auto shape = [&](const Ints& behind) {
    Ints dims = sizes.batch;
    dims.insert(dims.end(), behind.begin(), behind.end());
    return dims;
  };
  const int64_t rows = ProductOf(sizes.rows), summed = ProductOf(sizes.summed);
  const ClassId product =
      terms.Op("MatMul", {terms.Reshape(x, shape({rows, summed})),
                          terms.Reshape(y, shape({summed, ProductOf(sizes.columns)}))});
  Ints outer = sizes.rows;
  outer.insert(outer.end(), sizes.columns.begin(), sizes.columns.end());
  return terms.Reshape(product, shape(outer));
}

// args: e, x, y
ClassId EinsumMatmul(Terms& terms, std::span<const Binding> args) {
  const TensorType left = terms.type(args[1].id), right = terms.type(args[2].id);
  const auto labels = ops::ReadEinsum(terms.word(args[0].op).attributes);
  if (!labels || !left.has_rank() || !right.has_rank() || !model::IsFloat(left.dtype) ||
      !SizesAgree(*labels, left, right)) {
    return ClassId();
  }
  const EinsumKinds kinds = ops::KindsOf(*labels);
  if (SumsOneOperand(*labels, kinds)) return ClassId();
  const auto& [batch, rows, columns, summed] = kinds;
  // A MatMul takes any number of axes for rows if the right operand is one matrix.
  const bool are_matrices = summed.size() == 1 && columns.size() == 1 &&
                            (rows.size() == 1 || (batch.empty() && !rows.empty()));
  const auto sizes = ReadSizes(kinds, *labels, left, right);
  if (!are_matrices && !sizes) return ClassId();
  const ClassId x = Permuted(terms, args[1].id, labels->left, batch + rows + summed);
  const ClassId y = Permuted(terms, args[2].id, labels->right, batch + summed + columns);
  const ClassId product =
      are_matrices ? terms.Op("MatMul", {x, y}) : ReshapedProduct(terms, *sizes, x, y);
  return Permuted(terms, product, batch + rows + columns, labels->output);
}

void AddWords(Words& words) { words.Term("einsum_matmul", "occ", EinsumMatmul); }

}  // namespace

Family EinsumFamily() { return {"einsum", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
