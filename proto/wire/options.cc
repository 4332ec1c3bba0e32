#include "proto/wire/options.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace quotient::wire {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;
using ShapeMessages = google::protobuf::Map<std::string, v1::Shape>;

void ShapesToProto(const Shapes& shapes, ShapeMessages* messages) {
  for (const auto& [name, dims] : shapes) {
    (*messages)[name].mutable_dims()->Add(dims.begin(), dims.end());
  }
}

Shapes ShapesFromProto(const ShapeMessages& messages) {
  Shapes shapes;
  for (const auto& [name, shape] : messages) {
    shapes[name].assign(shape.dims().begin(), shape.dims().end());
  }
  return shapes;
}

}  // namespace

v1::OptimizeOptions ToProto(const optimize::Options& options) {
  v1::OptimizeOptions message;
  message.set_device(options.device);
  message.set_strategy(options.strategy);
  message.set_budget_seconds(options.budget_seconds);
  message.set_max_nodes(options.max_nodes);
  message.set_max_simulations(options.max_simulations);
  message.set_threads(options.threads);
  message.set_seed(options.seed);
  message.set_max_opset(options.max_opset);
  ShapesToProto(options.shapes, message.mutable_shapes());
  ShapesToProto(options.measure_shapes, message.mutable_measure_shapes());
  message.mutable_disabled_rules()->Add(options.disabled_rules.begin(),
                                        options.disabled_rules.end());
  message.set_assume_finite_inputs(options.assume_finite_inputs);
  message.set_verify_inputs(options.verify_inputs);
  message.set_freeze_initializers(options.freeze_initializers);
  return message;
}

optimize::Options FromProto(const v1::OptimizeOptions& message) {
  optimize::Options options;
  if (message.has_device()) options.device = message.device();
  if (message.has_strategy()) options.strategy = message.strategy();
  if (message.has_budget_seconds()) options.budget_seconds = message.budget_seconds();
  if (message.has_max_nodes()) options.max_nodes = message.max_nodes();
  if (message.has_max_simulations()) options.max_simulations = message.max_simulations();
  if (message.has_threads()) options.threads = message.threads();
  if (message.has_seed()) options.seed = message.seed();
  if (message.has_max_opset()) options.max_opset = message.max_opset();
  options.shapes = ShapesFromProto(message.shapes());
  options.measure_shapes = ShapesFromProto(message.measure_shapes());
  options.disabled_rules.assign(message.disabled_rules().begin(), message.disabled_rules().end());
  if (message.has_assume_finite_inputs()) {
    options.assume_finite_inputs = message.assume_finite_inputs();
  }
  if (message.has_verify_inputs()) options.verify_inputs = message.verify_inputs();
  if (message.has_freeze_initializers())
    options.freeze_initializers = message.freeze_initializers();
  return options;
}

}  // namespace quotient::wire
