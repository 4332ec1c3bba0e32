// Writes a profile as JSON. The order of the keys here is their order in the file.

#include <nlohmann/json.hpp>

#include "core/kernels/device_name.h"
#include "core/report/profile.h"

namespace quotient::report {
namespace {

using Json = nlohmann::ordered_json;

Json IfKnown(const std::optional<double>& us) { return us ? Json(*us) : Json(nullptr); }

Json ToValue(const ProfiledKernel& kernel) {
  return {{"op", kernel.op},
          {"operands", kernel.operands},
          {"node", kernel.node},
          {"times", kernel.times},
          {"predicted_us", kernel.predicted_us},
          {"measured_us", IfKnown(kernel.measured_us)},
          {"source", kernel.estimated ? "estimated" : "measured"}};
}

Json ToValue(const ProfiledOperator& row) {
  return {{"op", row.op},
          {"kernels", row.kernels},
          {"predicted_us", row.predicted_us},
          {"measured_us", IfKnown(row.measured_us)}};
}

template <typename Row>
Json ToArray(const std::vector<Row>& rows) {
  Json array = Json::array();
  for (const Row& row : rows) array.push_back(ToValue(row));
  return array;
}

}  // namespace

std::string ToJson(const Profile& profile) {
  const kernels::DeviceDescription device = kernels::DescribeDevice(profile.fingerprint);
  const Json json = {{"model", profile.model_name},
                     {"device",
                      {{"name", profile.device},
                       {"hardware", device.hardware},
                       {"library", device.library.empty() ? Json(nullptr) : Json(device.library)},
                       {"fingerprint", profile.fingerprint},
                       {"threads", profile.threads}}},
                     {"predicted_us", profile.predicted_us},
                     {"measured_us", profile.measured_us},
                     {"kernels_us", IfKnown(profile.kernels_us)},
                     {"runs", profile.runs},
                     {"operators", ToArray(profile.operators)},
                     {"kernels", ToArray(profile.kernels)},
                     {"notes", profile.notes}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quotient::report
