#include "tests/support/networks/networks.h"

#include "tests/support/networks/float_type.h"

namespace quotient::networks {
namespace {

struct Row {
  const char* name;
  ::onnx::ModelProto (*make)(const NetworkOptions&);
  bool takes_batch_norm = false;
  bool paper_takes_batch = true;
  bool in_papers = true;
};

constexpr Row kNetworks[] = {
    {.name = "bert", .make = Bert, .paper_takes_batch = false},
    {.name = "nasrnn", .make = NasRnn},
    {.name = "resnet50", .make = ResNet50},
    {.name = "resnext50", .make = ResNeXt50},
    {.name = "nasnet", .make = NasNet},
    {.name = "inception_v3", .make = InceptionV3},
    {.name = "mobilenet_v2", .make = MobileNetV2},
    {.name = "mobileone", .make = MobileOne, .in_papers = false},
    {.name = "squeezenet", .make = SqueezeNet, .takes_batch_norm = true},
    {.name = "vgg19", .make = Vgg19, .takes_batch_norm = true},
};

bool Takes(const Row& row, const NetworkOptions& options) {
  if (options.paper() && !row.in_papers) return false;
  if (options.batch_norm && (options.paper() || !row.takes_batch_norm)) return false;
  return !options.paper() || row.paper_takes_batch || options.batch == "1";
}

}  // namespace

std::optional<::onnx::ModelProto> MakeNetwork(const std::string& name,
                                              const NetworkOptions& options) {
  const auto type = FloatTypeOf(options.float_type);
  for (const Row& row : kNetworks) {
    if (name != row.name || !Takes(row, options) || !type) continue;
    ::onnx::ModelProto model = row.make(options);
    ConvertFloats(*type, &model);
    return model;
  }
  return std::nullopt;
}

std::vector<std::string> NetworkNames(Variant variant) {
  std::vector<std::string> names;
  for (const Row& row : kNetworks) {
    if (variant != Variant::kPaper || row.in_papers) names.push_back(row.name);
  }
  return names;
}

}  // namespace quotient::networks
