#include "client/cli/json.h"

#include <cstdio>
#include <string>

#include "google/protobuf/util/json_util.h"

namespace quotient::cli {

void PrintJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  if (google::protobuf::util::MessageToJsonString(message, &json, options).ok()) {
    std::printf("%s\n", json.c_str());
    std::fflush(stdout);
  }
}

}  // namespace quotient::cli
