#include "core/kernels/cuda/kernel_library.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/lower.h"

namespace quotient::kernels::cuda {
namespace {

// The maximum number of plans of a library to measure. Its own order is good, so more are not worth
// the time.
constexpr size_t kMostPlans = 8;

// The maximum number of kernels kept, because servers live long. When it is reached all are
// dropped; kernels in use stay alive through their users.
constexpr size_t kMostKept = 8192;

absl::Status None(const std::string& key) {
  return absl::UnimplementedError(absl::StrCat("no kernel for ", key));
}

// Not UNIMPLEMENTED, because another version of the library may mend the kernels.
absl::Status Barred(const std::string& key) {
  return absl::FailedPreconditionError(
      absl::StrCat(key, ": a process did not come back from any of its kernels"));
}

// Logs the error, and returns it with the names of the kernel and the way.
absl::Status InTrouble(const std::string& key, const Way& way, const absl::Status& status) {
  const std::string message =
      absl::StrCat(key, ": ", way.name(), " cannot be prepared: ", std::string(status.message()));
  Log().warn("{}{}", kLibraryTrouble, message);
  return absl::Status(status.code(), message);
}

}  // namespace

void KernelLibrary::Prepare(std::span<const KernelSpec> specs, const StopCondition& stop) {
  std::vector<std::string> keys(specs.size());
  std::vector<std::vector<Way>> ways(specs.size());
  ForEach(specs.size(), [&](size_t i) {
    if (stop.ShouldStop()) return;
    keys[i] = KernelKey(specs[i]);
    absl::StatusOr<std::vector<Way>> found = WaysOf(specs[i], keys[i]);
    if (found.ok()) ways[i] = *std::move(found);
  });
  std::vector<std::pair<size_t, size_t>> all;  // The spec, and which of its ways.
  for (size_t i = 0; i < ways.size(); ++i) {
    for (size_t k = 0; k < ways[i].size(); ++k) all.emplace_back(i, k);
  }
  ForEach(all.size(), [&](size_t n) {
    const auto [i, k] = all[n];
    if (!stop.ShouldStop()) Prepare(keys[i], std::move(ways[i][k])).status().IgnoreError();
  });
}

std::vector<absl::StatusOr<std::shared_ptr<const PreparedKernel>>> KernelLibrary::GetAll(
    std::span<const Named> named) {
  std::vector<absl::StatusOr<std::shared_ptr<const PreparedKernel>>> kernels(named.size());
  ForEach(named.size(), [&](size_t i) { kernels[i] = Get(*named[i].first, named[i].second); });
  return kernels;
}

void KernelLibrary::ForEach(size_t count, const std::function<void(size_t)>& work) const {
  ParallelFor(static_cast<int64_t>(count), 1, threads_, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work(static_cast<size_t>(i));
  });
}

absl::StatusOr<std::vector<std::shared_ptr<const PreparedKernel>>> KernelLibrary::All(
    const KernelSpec& spec) {
  const std::string key = KernelKey(spec);
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<Way> ways, WaysOf(spec, key));
  std::vector<std::shared_ptr<const PreparedKernel>> kernels;
  absl::Status failure = None(key);
  for (const Way& way : ways) {
    auto kernel = Prepare(key, way);
    if (kernel.ok()) {
      kernels.push_back(*std::move(kernel));
    } else if (!absl::IsUnimplemented(kernel.status())) {
      failure = InTrouble(key, way, kernel.status());
    }
  }
  if (kernels.empty()) return failure;
  return kernels;
}

absl::StatusOr<std::shared_ptr<const PreparedKernel>> KernelLibrary::Get(const KernelSpec& spec,
                                                                         const std::string& name) {
  const std::string key = KernelKey(spec);
  if (!name.empty()) {
    for (const Program& program : Lower(spec, policy_)) {
      std::optional<Way> way = WayOf(program, name);
      if (!way.has_value() || IsBarred(key, *way)) continue;
      auto kernel = Prepare(key, *way);
      if (kernel.ok()) return kernel;
      if (!absl::IsUnimplemented(kernel.status())) {
        InTrouble(key, *way, kernel.status()).IgnoreError();
      }
    }
    Log().warn("{}: the way {} to run it is not there any more", key, name);
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<Way> ways, WaysOf(spec, key));
  absl::Status failure = None(key);
  for (const Way& way : ways) {
    auto kernel = Prepare(key, way);
    if (kernel.ok()) return kernel;
    if (!absl::IsUnimplemented(kernel.status())) failure = InTrouble(key, way, kernel.status());
  }
  return failure;
}

absl::StatusOr<std::vector<Way>> KernelLibrary::WaysOf(const KernelSpec& spec,
                                                       const std::string& key) {
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = ways_.find(key);
    if (found != ways_.end()) return found->second;
  }
  QUOTIENT_ASSIGN_OR_RETURN(Ways ways, WaysToRun(spec, policy_, gpu_, kMostPlans));
  const auto barred = std::erase_if(ways.list, [&](const Way& way) { return IsBarred(key, way); });
  if (barred > 0 && ways.list.empty()) return Barred(key);
  if (!ways.failure.ok()) {  // Not cached, so the libraries are asked again.
    Log().warn("{}{}: {}", kLibraryTrouble, key, std::string(ways.failure.message()));
    return std::move(ways.list);
  }
  const absl::MutexLock lock(&mutex_);
  if (ways_.size() >= kMostKept) ways_.clear();
  return ways_.insert_or_assign(key, std::move(ways.list)).first->second;
}

bool KernelLibrary::IsBarred(const std::string& key, const Way& way) const {
  return journal_ != nullptr && journal_->IsBarred(JournalName(key, way.name()));
}

absl::StatusOr<std::shared_ptr<const PreparedKernel>> KernelLibrary::Prepare(const std::string& key,
                                                                             Way way) {
  const std::string word = absl::StrCat(key, "\n", way.name());
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = prepared_.find(word);
    if (found != prepared_.end()) return found->second;
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedKernel> kernel,
                            PreparedKernel::Create(std::move(way), gpu_));
  if (kernel->uses_host()) return kernel;  // Must not be shared.
  const absl::MutexLock lock(&mutex_);
  if (prepared_.size() >= kMostKept) prepared_.clear();
  return prepared_.try_emplace(word, std::move(kernel)).first->second;
}

}  // namespace quotient::kernels::cuda
