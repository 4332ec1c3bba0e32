#pragma once

// What tables of bad models are made of: a good model, damaged in one place.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <functional>
#include <ostream>
#include <string>

#include "core/base/reason.h"

namespace quotient::testing {

struct BadModel {
  const char* name;
  std::function<void(::onnx::ModelProto&)> damage;
  Reason reason;
  const char* message;  // a part of it
};

inline void PrintTo(const BadModel& model, std::ostream* out) { *out << model.name; }

inline std::string BadModelName(const ::testing::TestParamInfo<BadModel>& info) {
  return info.param.name;
}

inline ::onnx::TensorProto* Weight(::onnx::ModelProto& model) {
  return model.mutable_graph()->mutable_initializer(0);
}

}  // namespace quotient::testing
