#include "tests/fuzz/message_mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/reflection.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "tests/fuzz/value_mutator.h"

namespace quotient::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A message that grows without end tests nothing new.
constexpr int kMostElements = 64;

// Every message of a tree, the root first.
std::vector<Message*> MessagesOf(Message* root) {
  std::vector<Message*> all = {root};
  for (size_t i = 0; i < all.size(); ++i) {
    Message& message = *all[i];
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      // Entries of maps have no order, and are changed by AddMapEntry alone.
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
      if (!field->is_repeated()) {
        all.push_back(reflection.MutableMessage(&message, field));
        continue;
      }
      for (int j = 0; j < reflection.FieldSize(message, field); ++j) {
        all.push_back(reflection.MutableRepeatedMessage(&message, field, j));
      }
    }
  }
  return all;
}

class Mutation {
 public:
  explicit Mutation(Rng* rng) : rng_(*rng), values_(rng) {}

  void Change(Message* root) {
    const std::vector<Message*> messages = MessagesOf(root);
    Message& message = *messages[Below(messages.size())];
    const Descriptor& type = *message.GetDescriptor();
    if (type.field_count() == 0) return;
    const FieldDescriptor& field =
        *type.field(static_cast<int>(Below(static_cast<size_t>(type.field_count()))));
    NoteTexts(messages);
    if (field.is_map()) {
      AddMapEntry(&message, field);
    } else if (field.is_repeated()) {
      ChangeElements(&message, field);
    } else if (Below(8) == 0) {
      message.GetReflection()->ClearField(&message, &field);
    } else {
      Set(&message, field);
    }
  }

  // Takes a part of `from` into `to`.
  void Cross(Message* from, Message* to) {
    const std::vector<Message*> sources = MessagesOf(from);
    const std::vector<Message*> targets = MessagesOf(to);
    const Message& source = *sources[Below(sources.size())];
    std::vector<Message*> same;
    for (Message* target : targets) {
      if (target->GetDescriptor() == source.GetDescriptor()) same.push_back(target);
    }
    if (same.empty()) return;
    Message& target = *same[Below(same.size())];
    if (Below(2) == 0) {
      target.CopyFrom(source);
    } else {
      target.MergeFrom(source);
    }
  }

 private:
  size_t Below(size_t bound) { return static_cast<size_t>(rng_.Below(bound)); }

  // Texts that the message holds elsewhere are often what a field has to hold.
  void NoteTexts(const std::vector<Message*>& messages) {
    std::vector<std::string> texts;
    for (const Message* message : messages) {
      std::vector<const FieldDescriptor*> fields;
      message->GetReflection()->ListFields(*message, &fields);
      const Reflection& r = *message->GetReflection();
      for (const FieldDescriptor* field : fields) {
        if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
        if (!field->is_repeated()) {
          texts.push_back(r.GetString(*message, field));
          continue;
        }
        for (int i = 0; i < r.FieldSize(*message, field); ++i) {
          texts.push_back(r.GetRepeatedString(*message, field, i));
        }
      }
    }
    values_.set_texts(std::move(texts));
  }

  // Sets a field that is not repeated.
  void Set(Message* message, const FieldDescriptor& field) {
    const Reflection& r = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r.SetInt32(message, &field,
                          static_cast<int32_t>(values_.Number(r.GetInt32(*message, &field))));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetInt64(message, &field, values_.Number(r.GetInt64(*message, &field)));
      case FieldDescriptor::CPPTYPE_UINT32:
        return r.SetUInt32(message, &field,
                           static_cast<uint32_t>(values_.Number(r.GetUInt32(*message, &field))));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.SetUInt64(message, &field,
                           static_cast<uint64_t>(values_.Number(
                               static_cast<int64_t>(r.GetUInt64(*message, &field)))));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.SetDouble(message, &field, values_.Double(r.GetDouble(*message, &field)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetFloat(
            message, &field,
            static_cast<float>(values_.Double(static_cast<double>(r.GetFloat(*message, &field)))));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r.SetBool(message, &field, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r.SetEnumValue(message, &field, static_cast<int>(Below(10)) - 1);
      case FieldDescriptor::CPPTYPE_STRING:
        return r.SetString(message, &field,
                           values_.Text(r.GetString(*message, &field),
                                        field.type() == FieldDescriptor::TYPE_STRING));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r.MutableMessage(message, &field);
    }
  }

  void ChangeElements(Message* message, const FieldDescriptor& field) {
    const Reflection& r = *message->GetReflection();
    const int size = r.FieldSize(*message, &field);
    const auto any = [&] { return static_cast<int>(Below(static_cast<size_t>(size))); };
    switch (size == 0 ? 0 : Below(5)) {
      case 0:
        if (size < kMostElements) Add(message, field);
        return;
      case 1:
        return r.SwapElements(message, &field, any(), size - 1);
      case 2:
        r.SwapElements(message, &field, any(), size - 1);
        return r.RemoveLast(message, &field);
      case 3:
        if (size < kMostElements) Repeat(message, field, any());
        return;
      default:  // A new one in the place of another.
        Add(message, field);
        r.SwapElements(message, &field, any(), r.FieldSize(*message, &field) - 1);
        r.RemoveLast(message, &field);
    }
  }

  void Add(Message* message, const FieldDescriptor& field) {
    const Reflection& r = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r.AddInt32(message, &field, static_cast<int32_t>(values_.Number(0)));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.AddInt64(message, &field, values_.Number(0));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.AddUInt64(message, &field, static_cast<uint64_t>(values_.Number(0)));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.AddDouble(message, &field, values_.Double(1));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.AddFloat(message, &field, static_cast<float>(values_.Double(1)));
      case FieldDescriptor::CPPTYPE_STRING:
        return r.AddString(message, &field,
                           values_.Text("", field.type() == FieldDescriptor::TYPE_STRING));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r.AddMessage(message, &field);
        return;
      default:
        // Neither our messages nor those of ONNX repeat anything else.
        return;
    }
  }

  // Adds an element that equals another one.
  void Repeat(Message* message, const FieldDescriptor& field, int index) {
    const Reflection& r = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r.AddInt32(message, &field, r.GetRepeatedInt32(*message, &field, index));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.AddInt64(message, &field, r.GetRepeatedInt64(*message, &field, index));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.AddUInt64(message, &field, r.GetRepeatedUInt64(*message, &field, index));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.AddDouble(message, &field, r.GetRepeatedDouble(*message, &field, index));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.AddFloat(message, &field, r.GetRepeatedFloat(*message, &field, index));
      case FieldDescriptor::CPPTYPE_STRING:
        return r.AddString(message, &field, r.GetRepeatedString(*message, &field, index));
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const std::unique_ptr<Message> copy(r.GetRepeatedMessage(*message, &field, index).New());
        copy->CopyFrom(r.GetRepeatedMessage(*message, &field, index));
        r.AddMessage(message, &field)->CopyFrom(*copy);
        return;
      }
      default:
        return;
    }
  }

  // Adds an entry, or replaces the one of the same key.
  void AddMapEntry(Message* message, const FieldDescriptor& field) {
    const Reflection& r = *message->GetReflection();
    if (r.FieldSize(*message, &field) >= kMostElements) return r.ClearField(message, &field);
    Message* const entry = r.AddMessage(message, &field);
    Set(entry, *entry->GetDescriptor()->map_key());
    const FieldDescriptor& value = *entry->GetDescriptor()->map_value();
    Set(entry, value);
    if (value.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return;
    Message* const inner = entry->GetReflection()->MutableMessage(entry, &value);
    for (size_t n = Below(4); n > 0; --n) Change(inner);
  }

  Rng& rng_;
  ValueMutator values_;
};

// Maps have no order of their own, and mutations have to be the same each time.
std::string Serialize(const Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return bytes;
}

bool Parse(const uint8_t* data, size_t size, Message* message) {
  return message->ParsePartialFromArray(data, static_cast<int>(size));
}

}  // namespace

size_t MutateMessage(Message* message, uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (!Parse(data, size, message)) return size;
  Rng rng(seed);
  Mutation mutation(&rng);
  for (uint64_t n = 1 + rng.Below(4); n > 0; --n) mutation.Change(message);
  const std::string bytes = Serialize(*message);
  if (bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

size_t CrossMessages(Message* message, const uint8_t* first, size_t first_size,
                     const uint8_t* second, size_t second_size, uint8_t* out, size_t max_size,
                     unsigned seed) {
  const std::unique_ptr<Message> other(message->New());
  if (!Parse(first, first_size, message) || !Parse(second, second_size, other.get())) return 0;
  Rng rng(seed);
  Mutation(&rng).Cross(other.get(), message);
  const std::string bytes = Serialize(*message);
  if (bytes.size() > max_size) return 0;
  std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace quotient::testing
