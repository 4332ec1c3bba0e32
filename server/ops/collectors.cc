#include "server/ops/collectors.h"

#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/os/memory.h"
#include "server/ops/metrics.h"

namespace quotient::ops {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

MetricFamily Family(MetricId id) {
  const MetricSpec& spec = Spec(id);
  MetricFamily family;
  family.name = spec.name;
  family.help = spec.help;
  family.type = spec.type == MetricType::kCounter ? prometheus::MetricType::Counter
                                                  : prometheus::MetricType::Gauge;
  return family;
}

void AddValue(double value, LabelValues labels, MetricId id, MetricFamily* family) {
  ClientMetric metric;
  for (const auto& [name, text] : Labels(id, labels)) metric.label.push_back({name, text});
  if (family->type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family->metric.push_back(std::move(metric));
}

MetricFamily Single(MetricId id, double value) {
  MetricFamily family = Family(id);
  AddValue(value, {}, id, &family);
  return family;
}

class JobCollector : public prometheus::Collectable {
 public:
  JobCollector(const JobCounts* counts, const jobs::WatchHub* hub) : counts_(*counts), hub_(*hub) {}

  std::vector<MetricFamily> Collect() const override {
    std::vector<MetricFamily> families = {Single(MetricId::kWatchers, hub_.watchers())};
    const std::map<jobs::JobState, int64_t> counts = counts_.Get();
    MetricFamily jobs = Family(MetricId::kJobs);
    for (const jobs::JobState state :
         {jobs::JobState::kQueued, jobs::JobState::kRunning, jobs::JobState::kCancelling,
          jobs::JobState::kSucceeded, jobs::JobState::kFailed, jobs::JobState::kCancelled}) {
      const auto count = counts.find(state);
      AddValue(count == counts.end() ? 0.0 : static_cast<double>(count->second),
               {absl::AsciiStrToLower(jobs::JobStateName(state))}, MetricId::kJobs, &jobs);
    }
    families.push_back(std::move(jobs));
    return families;
  }

 private:
  const JobCounts& counts_;
  const jobs::WatchHub& hub_;
};

class QueueCollector : public prometheus::Collectable {
 public:
  QueueCollector(const QueueAge* age, const jobs::Dispatch* dispatch)
      : age_(*age), dispatch_(*dispatch) {}

  std::vector<MetricFamily> Collect() const override {
    return {Single(MetricId::kQueueOldestAge, age_.OldestSeconds()),
            Single(MetricId::kLeases, dispatch_.leases())};
  }

 private:
  const QueueAge& age_;
  const jobs::Dispatch& dispatch_;
};

class DiskCollector : public prometheus::Collectable {
 public:
  explicit DiskCollector(const jobs::BlobInventory* blobs) : blobs_(*blobs) {}

  // A disk that does not answer has no value, rather than one that looks like a full disk.
  std::vector<MetricFamily> Collect() const override {
    const absl::StatusOr<int64_t> free_bytes = blobs_.FreeBytes();
    if (!free_bytes.ok()) return {};
    return {Single(MetricId::kDiskFreeBytes, static_cast<double>(*free_bytes))};
  }

 private:
  const jobs::BlobInventory& blobs_;
};

class UploadCollector : public prometheus::Collectable {
 public:
  explicit UploadCollector(jobs::UploadStore* uploads) : uploads_(*uploads) {}

  std::vector<MetricFamily> Collect() const override {
    const jobs::UploadLoad load = uploads_.Load();
    return {Single(MetricId::kUploadsOpen, load.open),
            Single(MetricId::kUploadReservedBytes, static_cast<double>(load.reserved_bytes))};
  }

 private:
  jobs::UploadStore& uploads_;
};

class GpuCollector : public prometheus::Collectable {
 public:
  explicit GpuCollector(const GpuMonitor* monitor) : monitor_(*monitor) {}

  std::vector<MetricFamily> Collect() const override {
    Families families;
    for (const GpuSample& gpu : monitor_.Latest()) Add(gpu, &families);
    std::vector<MetricFamily> found;
    for (auto& [id, family] : families) found.push_back(std::move(family));
    return found;
  }

 private:
  using Families = std::map<MetricId, MetricFamily>;

  static void Add(const GpuSample& gpu, Families* families) {
    const std::string ordinal = absl::StrCat(gpu.ordinal);
    const std::string uuid = Digest::Of(gpu.uuid).Hex().substr(0, 12);
    const auto family = [families](MetricId id) {
      return &families->try_emplace(id, Family(id)).first->second;
    };
    const auto add = [&](MetricId id, const std::optional<double>& value) {
      if (value.has_value()) AddValue(*value, {ordinal, uuid}, id, family(id));
    };
    add(MetricId::kGpuUp, gpu.is_up ? 1 : 0);
    add(MetricId::kGpuMemoryTotal, gpu.memory_total_bytes);
    add(MetricId::kGpuMemoryUsed, gpu.memory_used_bytes);
    add(MetricId::kGpuUtilization, gpu.utilization);
    add(MetricId::kGpuTemperature, gpu.temperature_celsius);
    add(MetricId::kGpuSmClock, gpu.sm_clock_hertz);
    const auto add_each = [&](MetricId id, const auto& values) {
      for (const auto& [name, value] : values) {
        AddValue(static_cast<double>(value), {ordinal, uuid, name}, id, family(id));
      }
    };
    add_each(MetricId::kGpuThrottled, gpu.throttled);
    add_each(MetricId::kGpuThrottledSeconds, gpu.throttled_seconds);
    add_each(MetricId::kGpuErrors, gpu.errors);
  }

  const GpuMonitor& monitor_;
};

double CpuSeconds() {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double OpenFds() {
  int count = 0;
  if (DIR* folder = opendir("/proc/self/fd")) {
    while (readdir(folder) != nullptr) ++count;
    closedir(folder);
  }
  return count - 3;  // Not counting ".", ".." and the descriptor of `folder`.
}

double MaxFds() {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

class ProcessCollector : public prometheus::Collectable {
 public:
  std::vector<MetricFamily> Collect() const override {
    return {Single(MetricId::kProcessCpuSeconds, CpuSeconds()),
            Single(MetricId::kProcessResidentBytes, static_cast<double>(os::ResidentBytes())),
            Single(MetricId::kProcessOpenFds, OpenFds()),
            Single(MetricId::kProcessMaxFds, MaxFds()),
            Single(MetricId::kProcessStartTime, start_seconds_)};
  }

 private:
  const double start_seconds_ =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
};

}  // namespace

std::shared_ptr<prometheus::Collectable> NewJobCollector(const JobCounts* counts,
                                                         const jobs::WatchHub* hub) {
  return std::make_shared<JobCollector>(counts, hub);
}

std::shared_ptr<prometheus::Collectable> NewQueueCollector(const QueueAge* age,
                                                           const jobs::Dispatch* dispatch) {
  return std::make_shared<QueueCollector>(age, dispatch);
}

std::shared_ptr<prometheus::Collectable> NewDiskCollector(const jobs::BlobInventory* blobs) {
  return std::make_shared<DiskCollector>(blobs);
}

std::shared_ptr<prometheus::Collectable> NewUploadCollector(jobs::UploadStore* uploads) {
  return std::make_shared<UploadCollector>(uploads);
}

std::shared_ptr<prometheus::Collectable> NewGpuCollector(const GpuMonitor* monitor) {
  return std::make_shared<GpuCollector>(monitor);
}

std::shared_ptr<prometheus::Collectable> NewProcessCollector() {
  return std::make_shared<ProcessCollector>();
}

}  // namespace quotient::ops
