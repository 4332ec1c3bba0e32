#include "core/pricing/epilogue_share.h"

#include <algorithm>
#include <utility>

namespace quotient::pricing {

double EpilogueShare(const kernels::KernelSpec& main, kernels::Epilogue epilogue,
                     const kernels::KernelSpec& alone, cost::CostModel& model) {
  kernels::KernelSpec fused = main;
  fused.epilogue.push_back(std::move(epilogue));
  const double whole = model.Prior(alone).us;
  if (!(whole > 0)) return 0;
  return std::clamp((model.Prior(fused).us - model.Prior(main).us) / whole, 0.0, 1.0);
}

}  // namespace quotient::pricing
