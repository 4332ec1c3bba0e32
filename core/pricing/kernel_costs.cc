#include "core/pricing/kernel_costs.h"

#include <utility>

namespace quotient::pricing {

int KernelCosts::IndexOf(absl::string_view op, const model::AttributeMap& attributes,
                         std::vector<kernels::Operand> inputs,
                         std::vector<model::TensorType> outputs) {
  kernels::KernelSpec spec =
      kernels::MakeSpec(op, attributes, std::move(inputs), std::move(outputs), partition_.threads,
                        footprint_log2_, partition_.storage);
  return spec.free ? -1 : NumberOf(std::move(spec));
}

int KernelCosts::IndexOfReorder(const model::TensorType& type, kernels::Layout from,
                                kernels::Layout to) {
  return NumberOf(kernels::MakeReorder(type, from, to, partition_.threads, partition_.storage));
}

int KernelCosts::NumberOf(kernels::KernelSpec spec) {
  const int kernel = prices_.IndexOf(std::move(spec));
  if (static_cast<size_t>(kernel) >= costs_.size()) {
    costs_.resize(kernel + 1);
    ranks_.resize(kernel + 1);
  }
  costs_[kernel] = Known(kernel);
  ranks_[kernel] = prices_.Rank(kernel);
  return kernel;
}

void KernelCosts::Read() {
  version_ = prices_.version();
  for (size_t i = 0; i < costs_.size(); ++i) costs_[i] = Known(static_cast<int>(i));
}

cost::KernelCost KernelCosts::Known(int kernel) const {
  return basis_ == CostBasis::kPrior ? prices_.Prior(kernel) : prices_.Price(kernel);
}

}  // namespace quotient::pricing
