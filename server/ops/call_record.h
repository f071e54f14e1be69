// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// CallRecord and CallObserver: what a call was, for those who count and log.

#ifndef LOSSSCALER_SERVER_OPS_CALL_RECORD_H_
#define LOSSSCALER_SERVER_OPS_CALL_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ops/caller.h"
#include "ops/method.h"

namespace lossscaler::server {

// One call that has ended. Lives only while an observer looks at it.
//
// Thread safety: immutable.
class CallRecord {
 public:
  virtual ~CallRecord() = default;

  virtual Method method() const = 0;
  // What the client is told.
  virtual const absl::Status& status() const = 0;
  // From its arrival; of a stream, its whole life.
  virtual absl::Duration took() const = 0;
  // Null: nobody is asked for a token, or none was known.
  virtual const Caller* caller() const = 0;
  // As the call names them; unchecked text from outside. Empty: none.
  virtual std::string_view session() const = 0;
  virtual std::string_view worker() const = 0;
  virtual std::optional<std::int64_t> step() const = 0;

  // Cost an allocation.
  virtual std::string peer() const = 0;
  // What the client sent as "x-request-id"; unchecked text. Empty: nothing.
  virtual std::string call_id() const = 0;
};

// Thread safety: implementations are called from any thread, and do not block.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void OnCallEnd(const CallRecord& call) = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_CALL_RECORD_H_
