#pragma once

// Access to ONNX's schemas of operators. They are trusted, because they are part of the library we
// are built with. opaque_types.h decides which parts of a user's model are passed to their
// inference.

#include <onnx/defs/schema.h>

#include <span>

#include "absl/strings/string_view.h"
#include "core/model/dtype.h"

namespace quotient::onnx {

// The newest opset and IR version that are understood. The oldest are opset 1 and IR version 0,
// which stands for a missing version.
int NewestOpset();
int NewestIrVersion();
// Before this opset broadcasting had other rules. Nodes of older opsets are read (UpgradeTo7), but
// nodes are written at an older opset only if their operator has the same meaning at this one.
inline constexpr int kBroadcastingOpset = 7;

// The name of a domain, which is "" for the default domain. "ai.onnx" is another name for it.
inline absl::string_view CanonicalDomain(absl::string_view domain) {
  return domain == "ai.onnx" ? absl::string_view() : domain;
}

// The schema of an operator of the default domain at `opset`. Null if there is none or it is
// deprecated.
const ::onnx::OpSchema* FindSchema(absl::string_view op, int opset);
bool IsDeprecated(absl::string_view op, int opset);

// The oldest opset, but not before kBroadcastingOpset, at which an operator of the default domain
// is defined as it is at `opset`. Returns `opset` for what is older, or unknown there.
int SinceOpset(absl::string_view op, int opset);

// Whether an operator of the default domain has the same meaning at both opsets. True for operators
// that are unknown at both.
bool SameMeaning(absl::string_view op, int opset_a, int opset_b);

// Whether a node of the default domain that is valid at one opset means the same at a later one:
// SameMeaning, or all that changed is that more types or attributes are accepted.
bool KeepsMeaning(absl::string_view op, int opset, int later);

// The operators that no opset from `since` on has changed otherwise.
struct OnlyWidened {
  absl::string_view op;
  int since;
};
std::span<const OnlyWidened> OnlyWidenedOperators();

// Whether the formal parameter accepts this element type. True for kUndefined.
bool TakesType(const ::onnx::OpSchema::FormalParameter& parameter, model::DType dtype);

// The formal parameter for an input or output of a node; null if there is none. The last parameter
// may be variadic and then stands for all further ones.
const ::onnx::OpSchema::FormalParameter* FormalInput(const ::onnx::OpSchema& schema, int index);
const ::onnx::OpSchema::FormalParameter* FormalOutput(const ::onnx::OpSchema& schema, int index);

}  // namespace quotient::onnx
