#include "server/ops/label_values.h"

#include "core/base/reason.h"
#include "core/optimize/device_table.h"
#include "server/ops/grpc_methods.h"

namespace quotient::ops {

std::vector<SeriesValues> CalledMethods() {
  std::vector<SeriesValues> series;
  for (const GrpcMethod& method : GrpcMethods()) {
    series.push_back({method.service, method.method, method.type});
  }
  return series;
}

std::vector<SeriesValues> HandledCalls() {
  std::vector<SeriesValues> series;
  for (const GrpcMethod& method : GrpcMethods()) {
    for (const char* code : GrpcCodeNames()) {
      series.push_back({method.service, method.method, method.type, code});
    }
  }
  return series;
}

// Only failed jobs have a reason, and may lack it.
std::vector<SeriesValues> FinishedJobs() {
  std::vector<SeriesValues> series = {{"succeeded", ""}, {"cancelled", ""}, {"failed", ""}};
  for (int i = 0; i <= static_cast<int>(Reason::kInternal); ++i) {  // kInternal is the last one.
    series.push_back({"failed", std::string(ReasonName(static_cast<Reason>(i)))});
  }
  return series;
}

std::vector<std::string> MeasuredDevices() {
  std::vector<std::string> names;
  for (const optimize::DeviceKind& kind : optimize::AllDeviceKinds()) {
    if (kind.is_measured()) names.insert(names.end(), kind.names.begin(), kind.names.end());
  }
  return names;
}

}  // namespace quotient::ops
