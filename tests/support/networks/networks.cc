#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

struct Row {
  const char* name;
  ::onnx::ModelProto (*make)(const NetworkOptions&);
};

constexpr Row kNetworks[] = {{"squeezenet", SqueezeNet}};

}  // namespace

std::optional<::onnx::ModelProto> MakeNetwork(const std::string& name,
                                              const NetworkOptions& options) {
  for (const Row& row : kNetworks) {
    if (name == row.name) return row.make(options);
  }
  return std::nullopt;
}

std::vector<std::string> NetworkNames() {
  std::vector<std::string> names;
  for (const Row& row : kNetworks) names.push_back(row.name);
  return names;
}

}  // namespace quotient::networks
