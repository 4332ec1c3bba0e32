#pragma once

// BadModel: an entry of a table of bad models, which are made by damaging a good model in one
// place.

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
  const char* message;  // A part of the error message.
};

inline void PrintTo(const BadModel& model, std::ostream* out) { *out << model.name; }

inline std::string BadModelName(const ::testing::TestParamInfo<BadModel>& info) {
  return info.param.name;
}

inline ::onnx::TensorProto* Weight(::onnx::ModelProto& model) {
  return model.mutable_graph()->mutable_initializer(0);
}

}  // namespace quotient::testing
