#include "proto/wire/validation.h"

#include <string>

#include "proto/wire/status.h"

namespace quotient::wire {

v1::ValidateModelResponse ToProto(const optimize::Validation& validation) {
  v1::ValidateModelResponse message;
  if (!validation.untouched.ok()) *message.mutable_untouched() = ToProto(validation.untouched);
  for (const std::string& note : validation.notes) message.add_notes(Utf8(note));
  return message;
}

optimize::Validation FromProto(const v1::ValidateModelResponse& message) {
  return {FromProto(message.untouched()), {message.notes().begin(), message.notes().end()}};
}

}  // namespace quotient::wire
