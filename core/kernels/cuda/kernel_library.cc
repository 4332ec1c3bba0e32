#include "core/kernels/cuda/kernel_library.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::cuda {
namespace {

// More plans of a library than this are not worth the time to measure them: its own order is good.
constexpr size_t kMostPlans = 8;

absl::Status None(const std::string& key) {
  return absl::UnimplementedError(absl::StrCat("no kernel for ", key));
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<const PreparedKernel>>> KernelLibrary::All(
    const KernelSpec& spec) {
  const std::string key = KernelKey(spec);
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<Way> ways, WaysToRun(spec, policy_, gpu_, kMostPlans));
  std::vector<std::shared_ptr<const PreparedKernel>> kernels;
  for (Way& way : ways) {
    auto kernel = Prepare(spec, key, std::move(way));
    if (kernel.ok()) kernels.push_back(*std::move(kernel));
  }
  if (kernels.empty()) return None(key);
  return kernels;
}

absl::StatusOr<std::shared_ptr<const PreparedKernel>> KernelLibrary::Get(const KernelSpec& spec,
                                                                         const std::string& name) {
  const std::string key = KernelKey(spec);
  if (!name.empty()) {
    const absl::MutexLock lock(&mutex_);
    const auto found = prepared_.find(absl::StrCat(key, "\n", name));
    if (found != prepared_.end()) return found->second;
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<Way> ways, WaysToRun(spec, policy_, gpu_, kMostPlans));
  std::stable_partition(ways.begin(), ways.end(),
                        [&](const Way& way) { return way.name() == name; });
  for (Way& way : ways) {
    auto kernel = Prepare(spec, key, std::move(way));
    if (kernel.ok()) return kernel;
  }
  return None(key);
}

absl::StatusOr<std::shared_ptr<const PreparedKernel>> KernelLibrary::Prepare(const KernelSpec& spec,
                                                                             const std::string& key,
                                                                             Way way) {
  const std::string word = absl::StrCat(key, "\n", way.name());
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = prepared_.find(word);
    if (found != prepared_.end()) return found->second;
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedKernel> kernel,
                            PreparedKernel::Create(spec, std::move(way), gpu_));
  if (kernel->uses_host()) return kernel;  // not to be shared
  const absl::MutexLock lock(&mutex_);
  return prepared_.try_emplace(word, std::move(kernel)).first->second;
}

}  // namespace quotient::kernels::cuda
