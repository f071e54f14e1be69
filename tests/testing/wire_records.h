// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Recorded bytes of protobuf messages, and whether they cover a set of files.
// tests/data/wire/README.md describes the records.

#ifndef LOSSSCALER_TESTS_TESTING_WIRE_RECORDS_H_
#define LOSSSCALER_TESTS_TESTING_WIRE_RECORDS_H_

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace lossscaler::testing {

struct WireRecord {
  int line = 0;
  std::string message;  // Full name of the type.
  std::string bytes;
  std::string text;
};

// Lines of the form MESSAGE HEX TEXT, where no bytes are written as "-".
inline std::vector<WireRecord> ReadWireRecords(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<WireRecord> records;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 2));
    if (parts.size() < 2) {
      ADD_FAILURE() << path << ":" << number << " is not MESSAGE HEX TEXT";
      continue;
    }
    records.push_back({.line = number,
                       .message = parts[0],
                       .bytes = parts[1] == "-"
                                    ? std::string()
                                    : absl::HexStringToBytes(parts[1]),
                       .text = parts.size() > 2 ? parts[2] : std::string()});
  }
  return records;
}

// An empty message of that type, or null if this program has no such type.
inline std::unique_ptr<google::protobuf::Message> NewMessage(
    const std::string& name) {
  const google::protobuf::Descriptor* type =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
          name);
  if (type == nullptr) return nullptr;
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(type)
          ->New());
}

// Calls `visit` with the message and every message set below it.
template <typename Visitor>
void VisitMessages(const google::protobuf::Message& message,
                   const Visitor& visit) {
  visit(message);
  const google::protobuf::Reflection* reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      VisitMessages(reflection->GetMessage(message, field), visit);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      VisitMessages(reflection->GetRepeatedMessage(message, field, i), visit);
    }
  }
}

inline std::string SerializeOrdered(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  return bytes;
}

// The bytes parse without unknown fields, mean the text, and are what this
// program would send.
inline void ExpectRecordHolds(const WireRecord& record) {
  SCOPED_TRACE(absl::StrCat("record ", record.line, ", ", record.message));
  const auto from_bytes = NewMessage(record.message);
  const auto from_text = NewMessage(record.message);
  ASSERT_NE(from_bytes, nullptr) << "the message type is gone";
  ASSERT_TRUE(from_bytes->ParseFromString(record.bytes));
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(record.text,
                                                            from_text.get()));
  VisitMessages(*from_bytes, [](const google::protobuf::Message& part) {
    EXPECT_TRUE(part.GetReflection()->GetUnknownFields(part).empty())
        << part.GetTypeName() << " has lost a field";
  });
  google::protobuf::util::DefaultFieldComparator nan_is_nan;
  nan_is_nan.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&nan_is_nan);
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(*from_text, *from_bytes)) << difference;
  EXPECT_EQ(absl::BytesToHexString(SerializeOrdered(*from_bytes)),
            absl::BytesToHexString(record.bytes));
}

// The .proto files below `root` / `folder`, as they are imported.
inline std::vector<std::string> ProtoFilesBelow(const std::string& root,
                                                const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(root) / folder)) {
    if (entry.path().extension() != ".proto") continue;
    files.push_back(std::filesystem::relative(entry.path(), root).string());
  }
  EXPECT_FALSE(files.empty()) << root << "/" << folder;
  return files;
}

// What the records leave out of `files`: message types without a record;
// fields and enumerators that no record sets, at whatever depth; optional
// scalars that no record sets to zero, which on the wire is not the same as
// unset. Enumerators numbered zero cannot be told from unset and are not asked
// for.
inline std::vector<std::string> NotRecorded(
    const std::vector<std::string>& files,
    const std::vector<WireRecord>& records) {
  using google::protobuf::FieldDescriptor;
  using google::protobuf::Message;
  using google::protobuf::Reflection;
  std::set<std::string> seen;
  for (const WireRecord& record : records) {
    const auto message = NewMessage(record.message);
    if (message == nullptr || !message->ParseFromString(record.bytes)) continue;
    seen.insert(record.message);
    VisitMessages(*message, [&seen](const Message& part) {
      const Reflection* reflection = part.GetReflection();
      std::vector<const FieldDescriptor*> fields;
      reflection->ListFields(part, &fields);
      const auto empty = NewMessage(part.GetTypeName());
      for (const FieldDescriptor* field : fields) {
        seen.insert(field->full_name());
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
          const int count =
              field->is_repeated() ? reflection->FieldSize(part, field) : 1;
          for (int i = 0; i < count; ++i) {
            seen.insert((field->is_repeated()
                             ? reflection->GetRepeatedEnum(part, field, i)
                             : reflection->GetEnum(part, field))
                            ->full_name());
          }
        } else if (field->has_optional_keyword() &&
                   field->message_type() == nullptr) {
          std::string value;
          std::string zero;
          google::protobuf::TextFormat::PrintFieldValueToString(part, field, -1,
                                                                &value);
          google::protobuf::TextFormat::PrintFieldValueToString(*empty, field,
                                                                -1, &zero);
          if (value == zero) seen.insert(field->full_name() + " = zero");
        }
      }
    });
  }

  std::vector<std::string> missing;
  const auto require = [&](const std::string& what) {
    if (!seen.contains(what)) missing.push_back(what);
  };
  const auto require_enum = [&](const google::protobuf::EnumDescriptor* type) {
    for (int i = 0; i < type->value_count(); ++i) {
      if (type->value(i)->number() != 0) require(type->value(i)->full_name());
    }
  };
  const auto require_message =
      [&](const auto& self, const google::protobuf::Descriptor* type) -> void {
    if (type->options().map_entry()) return;
    require(type->full_name());
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      require(field->full_name());
      if (field->has_optional_keyword() && field->message_type() == nullptr) {
        require(field->full_name() + " = zero");
      }
    }
    for (int i = 0; i < type->nested_type_count(); ++i) {
      self(self, type->nested_type(i));
    }
    for (int i = 0; i < type->enum_type_count(); ++i) {
      require_enum(type->enum_type(i));
    }
  };
  for (const std::string& name : files) {
    const google::protobuf::FileDescriptor* file =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
            name);
    if (file == nullptr) {
      missing.push_back(name +
                        ": not in this program; build it, and use one "
                        "of its messages in the test");
      continue;
    }
    for (int i = 0; i < file->message_type_count(); ++i) {
      require_message(require_message, file->message_type(i));
    }
    for (int i = 0; i < file->enum_type_count(); ++i) {
      require_enum(file->enum_type(i));
    }
  }
  return missing;
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_WIRE_RECORDS_H_
