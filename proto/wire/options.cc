#include "proto/wire/options.h"

#include <cstdint>
#include <string>
#include <variant>

#include "core/optimize/job_options.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace quotient::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using optimize::JobOption;
using optimize::JobOptions;
using optimize::Shapes;
using optimize::Words;

const FieldDescriptor* FieldOf(const JobOption& option) {
  return v1::OptimizeOptions::descriptor()->FindFieldByName(option.wire_name);
}

// The key and the value of a map's entry.
const FieldDescriptor* KeyOf(const Message& entry) { return entry.GetDescriptor()->map_key(); }
const FieldDescriptor* ValueOf(const Message& entry) { return entry.GetDescriptor()->map_value(); }

// Writes an option into its field of a message; a case for each type that options have.
struct Writer {
  void operator()(bool value) const { reflection.SetBool(message, field, value); }
  void operator()(int value) const { reflection.SetInt32(message, field, value); }
  void operator()(int64_t value) const { reflection.SetInt64(message, field, value); }
  void operator()(uint64_t value) const { reflection.SetUInt64(message, field, value); }
  void operator()(double value) const { reflection.SetDouble(message, field, value); }
  void operator()(const std::string& value) const { reflection.SetString(message, field, value); }
  void operator()(const Words& words) const {
    for (const std::string& word : words) reflection.AddString(message, field, word);
  }
  void operator()(const Shapes& shapes) const {
    for (const auto& [name, dims] : shapes) {
      Message* const entry = reflection.AddMessage(message, field);
      entry->GetReflection()->SetString(entry, KeyOf(*entry), name);
      Message* const shape = entry->GetReflection()->MutableMessage(entry, ValueOf(*entry));
      static_cast<v1::Shape*>(shape)->mutable_dims()->Add(dims.begin(), dims.end());
    }
  }

  Message* const message;
  const Reflection& reflection;
  const FieldDescriptor* const field;
};

// Reads the field of a message that is set, or repeated.
struct Reader {
  void operator()(bool* value) const { *value = reflection.GetBool(message, field); }
  void operator()(int* value) const { *value = reflection.GetInt32(message, field); }
  void operator()(int64_t* value) const { *value = reflection.GetInt64(message, field); }
  void operator()(uint64_t* value) const { *value = reflection.GetUInt64(message, field); }
  void operator()(double* value) const { *value = reflection.GetDouble(message, field); }
  void operator()(std::string* value) const { *value = reflection.GetString(message, field); }
  void operator()(Words* words) const {
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      words->push_back(reflection.GetRepeatedString(message, field, i));
    }
  }
  void operator()(Shapes* shapes) const {
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, field, i);
      const std::string name = entry.GetReflection()->GetString(entry, KeyOf(entry));
      const Message& shape = entry.GetReflection()->GetMessage(entry, ValueOf(entry));
      const auto& dims = static_cast<const v1::Shape&>(shape).dims();
      (*shapes)[name].assign(dims.begin(), dims.end());
    }
  }

  const Message& message;
  const Reflection& reflection;
  const FieldDescriptor* const field;
};

}  // namespace

v1::OptimizeOptions ToProto(const optimize::Options& options) {
  v1::OptimizeOptions message;
  for (const JobOption& option : JobOptions()) {
    const Writer write{&message, *message.GetReflection(), FieldOf(option)};
    std::visit([&](auto member) { write(options.*member); }, option.field);
  }
  return message;
}

optimize::Options FromProto(const v1::OptimizeOptions& message) {
  optimize::Options options;
  for (const JobOption& option : JobOptions()) {
    const Reader read{message, *message.GetReflection(), FieldOf(option)};
    if (!read.field->is_repeated() && !read.reflection.HasField(message, read.field)) continue;
    std::visit([&](auto member) { read(&(options.*member)); }, option.field);
  }
  return options;
}

}  // namespace quotient::wire
