#include "core/onnx/external_reference.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/checked.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/onnx/errors.h"
#include "core/onnx/external.h"

namespace quotient::onnx {
namespace {

absl::StatusOr<int64_t> ReadNumber(const StringStringEntryProto& entry, absl::string_view where) {
  int64_t number;
  if (!absl::SimpleAtoi(entry.value(), &number) || number < 0) {
    return Malformed(where, absl::StrCat("external_data ", entry.key(), " '",
                                         Escaped(entry.value()), "' is no size"));
  }
  return number;
}

}  // namespace

absl::StatusOr<ExternalReference> ReadExternalReference(const TensorProto& tensor,
                                                        absl::string_view where,
                                                        const Limits& limits) {
  ExternalReference reference;
  absl::flat_hash_set<std::string> keys;
  for (const StringStringEntryProto& entry : tensor.external_data()) {
    const std::string& key = entry.key();
    if (!keys.insert(key).second) {
      return Malformed(where, absl::StrCat("external_data has two entries '", Escaped(key), "'"));
    }
    if (key == "location") {
      reference.location = entry.value();
    } else if (key == "offset") {
      QUOTIENT_ASSIGN_OR_RETURN(reference.offset, ReadNumber(entry, where));
    } else if (key == "length") {
      QUOTIENT_ASSIGN_OR_RETURN(reference.length, ReadNumber(entry, where));
    } else if (key != "checksum") {  // The SHA-1 of the file, which is not checked.
      return Malformed(where,
                       absl::StrCat("external_data has an unknown entry '", Escaped(key), "'"));
    }
  }
  QUOTIENT_RETURN_IF_ERROR(CheckExternalLocation(reference.location, where, limits));
  return reference;
}

absl::StatusOr<absl::string_view> ResolveReference(const ExternalReference& reference,
                                                   const ExternalFiles& files,
                                                   absl::string_view where) {
  const auto file = files.find(reference.location);
  if (file == files.end()) {
    return ErrorAt(Reason::kExternalDataMissing, where,
                   absl::StrCat("its data is in '", Escaped(reference.location),
                                "', which was not sent along"));
  }
  const auto size = static_cast<int64_t>(file->second.size());
  const int64_t length = reference.length.value_or(size - reference.offset);
  const auto end = CheckedAdd(reference.offset, length);
  if (reference.offset > size || !end.has_value() || *end > size) {
    return Malformed(where, absl::StrCat("external_data offset ", reference.offset, " length ",
                                         length, " is not inside '", Escaped(reference.location),
                                         "' of ", size, " bytes"));
  }
  return file->second.substr(static_cast<size_t>(reference.offset), static_cast<size_t>(length));
}

void WriteExternalReference(const ExternalReference& reference, TensorProto* tensor) {
  tensor->clear_raw_data();
  tensor->clear_external_data();
  tensor->set_data_location(TensorProto::EXTERNAL);
  const auto add = [tensor](absl::string_view key, std::string value) {
    StringStringEntryProto* entry = tensor->add_external_data();
    entry->set_key(std::string(key));
    entry->set_value(std::move(value));
  };
  add("location", reference.location);
  add("offset", absl::StrCat(reference.offset));
  if (reference.length.has_value()) add("length", absl::StrCat(*reference.length));
}

}  // namespace quotient::onnx
