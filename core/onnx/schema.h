#pragma once

// What ONNX's schema registry says of operators. The registry is trusted data of the library we
// are built with; what of a user's model is handed to its inference is decided in opaque_types.h.

#include <onnx/defs/schema.h>

#include "absl/strings/string_view.h"
#include "core/model/dtype.h"

namespace quotient::onnx {

// Opsets and IR versions that are understood, from opset 1 and IR version 0, for "not said", on.
int NewestOpset();
int NewestIrVersion();
// Below this opset broadcasting had other rules: there nodes are read (UpgradeTo7), but written
// only as far as they mean the same from here on.
inline constexpr int kBroadcastingOpset = 7;

// "ai.onnx" is another name of the default domain, which we write "".
inline absl::string_view CanonicalDomain(absl::string_view domain) {
  return domain == "ai.onnx" ? absl::string_view() : domain;
}

// The default domain's operator as of `opset`; null if there is none or it is deprecated.
const ::onnx::OpSchema* FindSchema(absl::string_view op, int opset);

// Whether a node of the default domain means the same under both opsets. True for operators that
// neither knows.
bool SameMeaning(absl::string_view op, int opset_a, int opset_b);

// Whether the formal parameter takes this element type; true if the type is not known.
bool TakesType(const ::onnx::OpSchema::FormalParameter& parameter, model::DType dtype);

// The formal parameter of input `index`, the variadic one for those beyond; null if there is none.
const ::onnx::OpSchema::FormalParameter* FormalInput(const ::onnx::OpSchema& schema, int index);
const ::onnx::OpSchema::FormalParameter* FormalOutput(const ::onnx::OpSchema& schema, int index);

}  // namespace quotient::onnx
