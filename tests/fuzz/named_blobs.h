#pragma once

// Digests in scripts.proto may name blobs by their content.

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "quotient/v1/common.pb.h"

namespace quotient::testing {

inline void ResolveDigest(v1::Digest* digest) {
  if (digest->sha256().empty() || digest->sha256()[0] != '=') return;
  const std::string text = digest->sha256().substr(1);
  digest->set_sha256(Digest::Of(text).Hex());
  if (digest->size_bytes() == 0) digest->set_size_bytes(static_cast<int64_t>(text.size()));
}

// Puts real digests into the places of all that name texts, wherever they are in the message.
inline void ResolveDigests(google::protobuf::Message* message) {
  if (message->GetDescriptor() == v1::Digest::descriptor()) {
    return ResolveDigest(static_cast<v1::Digest*>(message));
  }
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      ResolveDigests(reflection.MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      ResolveDigests(reflection.MutableRepeatedMessage(message, field, i));
    }
  }
}

}  // namespace quotient::testing
