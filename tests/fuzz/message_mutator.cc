#include "tests/fuzz/message_mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/reflection.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace quotient::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A message that grows without end tests nothing new.
constexpr int kMostElements = 64;

// --- Values that are often limits.

constexpr int64_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                7,
                                10,
                                -10,
                                63,
                                64,
                                500,
                                501,
                                4096,
                                1 << 20,
                                (int64_t{2} << 20) + 1,
                                INT32_MAX,
                                INT32_MIN,
                                int64_t{1} << 32,
                                int64_t{1} << 40,
                                1'000'000'000'000,
                                253'402'300'800,  // The first second that no Timestamp has.
                                315'576'000'001,  // And no Duration.
                                INT64_MAX / 1000 + 1,
                                INT64_MAX,
                                INT64_MAX - 1,
                                INT64_MIN};
constexpr double kDoubles[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               1e-300,
                               1e300,
                               1e18,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::denorm_min()};
const std::string kTexts[] = {"",
                              "a",
                              "jobs/",
                              "jobs/1",
                              "jobs/2",
                              "jobs//",
                              "jobs/../1",
                              ".",
                              "..",
                              "../../etc/passwd",
                              "/etc/passwd",
                              "a/b",
                              "a\nb",
                              std::string("a\0b", 3),
                              "\xc3\xa4",
                              "\xf0\x9f\x98\x80",
                              "%s%n",
                              "'; DROP TABLE job; --",
                              "model:h200",
                              "auto",
                              "cpu",
                              "-1",
                              "9223372036854775807",
                              std::string(300, 'x'),
                              std::string(4097, 'y')};

// Every message of a tree, the root first.
std::vector<Message*> MessagesOf(Message* root) {
  std::vector<Message*> all = {root};
  for (size_t i = 0; i < all.size(); ++i) {
    Message& message = *all[i];
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      // Entries of maps have no order, and are changed by SetMapEntry alone.
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
  explicit Mutation(Rng* rng) : rng_(*rng) {}

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

  template <typename T, size_t kSize>
  const T& OneOf(const T (&values)[kSize]) {
    return values[Below(kSize)];
  }

  // Texts that the message holds elsewhere are often what a field has to hold.
  void NoteTexts(const std::vector<Message*>& messages) {
    texts_.clear();
    for (const Message* message : messages) {
      std::vector<const FieldDescriptor*> fields;
      message->GetReflection()->ListFields(*message, &fields);
      for (const FieldDescriptor* field : fields) {
        if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING || field->is_repeated()) continue;
        texts_.push_back(message->GetReflection()->GetString(*message, field));
      }
    }
  }

  int64_t Number(int64_t now) {
    switch (Below(4)) {
      case 0:
        return static_cast<int64_t>(static_cast<uint64_t>(now) + 1);
      case 1:
        return static_cast<int64_t>(static_cast<uint64_t>(now) - 1);
      case 2:
        return static_cast<int64_t>(rng_.Next() >> Below(64));
      default:
        return OneOf(kNumbers);
    }
  }

  double Double(double now) {
    switch (Below(3)) {
      case 0:
        return now * 2;
      case 1:
        return static_cast<double>(OneOf(kNumbers));
      default:
        return OneOf(kDoubles);
    }
  }

  std::string Text(std::string now, bool is_utf8) {
    const size_t at = now.empty() ? 0 : Below(now.size());
    switch (Below(is_utf8 ? 5 : 6)) {
      case 0:
        return texts_.empty() ? "" : texts_[Below(texts_.size())];
      case 1:
        return now.substr(0, at);
      case 2:
        return now.insert(at, 1, static_cast<char>(Below(128)));
      case 3:
        if (!now.empty()) now[at] = static_cast<char>(now[at] & 0x80 ? now[at] : Below(128));
        return now;
      case 4:
        return OneOf(kTexts);
      default:
        return now.insert(at, 1, static_cast<char>(Below(256)));
    }
  }

  // Sets a field that is not repeated.
  void Set(Message* message, const FieldDescriptor& field) {
    const Reflection& r = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r.SetInt32(message, &field,
                          static_cast<int32_t>(Number(r.GetInt32(*message, &field))));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetInt64(message, &field, Number(r.GetInt64(*message, &field)));
      case FieldDescriptor::CPPTYPE_UINT32:
        return r.SetUInt32(message, &field,
                           static_cast<uint32_t>(Number(r.GetUInt32(*message, &field))));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.SetUInt64(
            message, &field,
            static_cast<uint64_t>(Number(static_cast<int64_t>(r.GetUInt64(*message, &field)))));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.SetDouble(message, &field, Double(r.GetDouble(*message, &field)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetFloat(
            message, &field,
            static_cast<float>(Double(static_cast<double>(r.GetFloat(*message, &field)))));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r.SetBool(message, &field, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r.SetEnumValue(message, &field, static_cast<int>(Below(10)) - 1);
      case FieldDescriptor::CPPTYPE_STRING:
        return r.SetString(
            message, &field,
            Text(r.GetString(*message, &field), field.type() == FieldDescriptor::TYPE_STRING));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r.MutableMessage(message, &field);
    }
  }

  void ChangeElements(Message* message, const FieldDescriptor& field) {
    const Reflection& r = *message->GetReflection();
    const int size = r.FieldSize(*message, &field);
    const auto any = [&] { return static_cast<int>(Below(static_cast<size_t>(size))); };
    switch (size == 0 ? 0 : Below(4)) {
      case 0:
        if (size < kMostElements) Add(message, field);
        return;
      case 1:
        return r.SwapElements(message, &field, any(), size - 1);
      case 2:
        r.SwapElements(message, &field, any(), size - 1);
        return r.RemoveLast(message, &field);
      default:
        if (size < kMostElements) Repeat(message, field, any());
    }
  }

  void Add(Message* message, const FieldDescriptor& field) {
    const Reflection& r = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return r.AddInt64(message, &field, Number(0));
      case FieldDescriptor::CPPTYPE_STRING:
        return r.AddString(message, &field, Text("", field.type() == FieldDescriptor::TYPE_STRING));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r.AddMessage(message, &field);
        return;
      default:
        // The messages of this project repeat nothing else.
        return;
    }
  }

  // Adds an element that equals another one.
  void Repeat(Message* message, const FieldDescriptor& field, int index) {
    const Reflection& r = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return r.AddInt64(message, &field, r.GetRepeatedInt64(*message, &field, index));
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
  std::vector<std::string> texts_;
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
