#pragma once

#include "google/protobuf/message.h"

namespace quotient::cli {

// Prints a message as one line of JSON, with field names as in the .proto files.
void PrintJson(const google::protobuf::Message& message);

}  // namespace quotient::cli
