// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Which fields of a message are not set: what a conversion that claims to fill
// all of them has forgotten.

#ifndef LOSSSCALER_TESTS_TESTING_EVERY_FIELD_H_
#define LOSSSCALER_TESTS_TESTING_EVERY_FIELD_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace lossscaler::testing {

// Names of fields, in the order of the file. Fields without presence count as
// unset at their default.
inline std::vector<std::string> UnsetFields(
    const google::protobuf::Message& message) {
  std::vector<std::string> unset;
  const google::protobuf::Descriptor* descriptor = message.GetDescriptor();
  const google::protobuf::Reflection* reflection = message.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = descriptor->field(i);
    const bool set = field->is_repeated()
                         ? reflection->FieldSize(message, field) > 0
                         : reflection->HasField(message, field);
    if (!set) unset.push_back(field->name());
  }
  return unset;
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_EVERY_FIELD_H_
