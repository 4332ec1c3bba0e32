#include "core/cost/work.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "core/kernels/attention.h"
#include "core/ops/op.h"

namespace quotient::cost {
namespace {

using kernels::KernelSpec;
using kernels::Operand;

double Product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  double product = 1;
  for (size_t i = begin; i < end; ++i) product *= static_cast<double>(dims[i]);
  return product;
}

bool IsThere(const Operand& operand) { return operand.type.dtype != model::DType::kUndefined; }

double Bytes(const Operand& operand) { return static_cast<double>(operand.type.bytes()); }

void DescribeContraction(const ops::OpDef& op, const KernelSpec& spec, Work& work) {
  const bool has_second = spec.inputs.size() > 1 && IsThere(spec.inputs[1]);
  const ops::Products products = op.contraction.products(
      spec.attributes, spec.inputs[0].type.dims(),
      has_second ? spec.inputs[1].type.dims() : ops::Dims(), spec.outputs[0].type.dims());
  work.batch = products.batch;
  work.m = products.m;
  work.n = products.n;
  work.k = products.k;
  // What lies between its products, per score.
  if (spec.op == "Attention") work.operations = work.batch * work.m * work.n;
}

// Treats both products of attention as one, with k the sum of the depths of both: that of the
// scores and that of the values.
void DescribeAttention(const KernelSpec& spec, Work& work) {
  const kernels::AttentionTensors tensors = kernels::TensorsOfAttention(spec);
  work.batch = Product(tensors.q.dims, 0, 2);
  work.m = static_cast<double>(tensors.q.dims[2]);
  work.n = static_cast<double>(tensors.k.dims[2]);
  work.k = static_cast<double>(tensors.q.dims[3] + tensors.v.dims[3]);
  work.operations = work.batch * work.m * work.n;
}

// Whether the kernel may read less than all of its first input, such as slices of it, or rows
// gathered from it. Then it reads no more than it writes.
bool ReadsPart(const KernelSpec& spec) {
  const ops::OpDef* op = ops::FindOp(spec.op);
  return op != nullptr && op->op_class == ops::OpClass::kMove;
}

void CountBytes(const KernelSpec& spec, Work& work) {
  double written = 0;
  for (const Operand& output : spec.outputs) {
    if (IsThere(output)) written += Bytes(output);
  }
  work.activation_bytes = written;
  const std::vector<Operand> operands = kernels::AllOperands(spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!IsThere(operands[i])) continue;
    double bytes = Bytes(operands[i]);
    if (i == 0 && ReadsPart(spec)) bytes = std::min(bytes, written);
    (operands[i].constant ? work.constant_bytes : work.activation_bytes) += bytes;
  }
}

}  // namespace

Work WorkOf(const KernelSpec& spec) {
  Work work;
  CountBytes(spec, work);
  double outputs = 0;
  for (const Operand& output : spec.outputs) {
    if (IsThere(output)) outputs += static_cast<double>(output.type.elements());
  }
  if (!spec.outputs.empty() && IsThere(spec.outputs[0])) {
    work.element_bytes = model::DTypeBits(spec.outputs[0].type.dtype) / 8;
  }
  const ops::OpDef* const op = ops::FindOp(spec.op);
  if (op != nullptr && op->contraction.products != nullptr) {
    DescribeContraction(*op, spec, work);
  }
  if (spec.op == kernels::kAttentionOp) DescribeAttention(spec, work);
  double inputs = 0;
  for (const Operand& input : spec.inputs) {
    if (IsThere(input) && !input.constant) inputs += static_cast<double>(input.type.elements());
  }
  const double main = work.k > 0 ? 0 : std::max(outputs, inputs);
  work.operations += main + outputs * static_cast<double>(spec.epilogue.size());
  return work;
}

}  // namespace quotient::cost
