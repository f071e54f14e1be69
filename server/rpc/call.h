// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Call: one call from its arrival to its end: who makes it, whether they may,
// and what those who count and log are told of it.

#ifndef LOSSSCALER_SERVER_RPC_CALL_H_
#define LOSSSCALER_SERVER_RPC_CALL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "ops/call_record.h"
#include "ops/caller.h"
#include "ops/method.h"

namespace lossscaler::server {

// What all calls of a server pass by. Outlives them.
struct Reception {
  // Who shows this "authorization" metadata; errors are what the client is
  // told. Null: everybody may do everything.
  std::function<absl::StatusOr<std::shared_ptr<const Caller>>(
      std::string_view authorization)>
      identify;
  std::vector<CallObserver*> observers;
};

// Thread safety: one thread at a time.
class Call final : public CallRecord {
 public:
  // Both outlive the call.
  Call(const Reception* reception, Method method,
       const grpc::CallbackServerContext* context);

  // Finds out who calls: TOKEN_REQUIRED, TOKEN_UNKNOWN. Once, before Admit().
  absl::Status Identify();

  // NOT_ALLOWED, or OK if they may make this call on the session of that name
  // (for ListSessions: list names with that prefix). Remembers the name, which
  // need not outlive this call.
  absl::Status Admit(std::string_view session);

  // What else is known of the call.
  void Name(std::string_view worker, std::optional<std::int64_t> step);

  // The client is about to be told `status`. Once, the last thing that happens
  // to the call.
  void End(const absl::Status& status);

  Method method() const override { return method_; }
  const absl::Status& status() const override { return status_; }
  absl::Duration took() const override { return took_; }
  const Caller* caller() const override { return caller_.get(); }
  std::string_view session() const override { return session_; }
  std::string_view worker() const override { return worker_; }
  std::optional<std::int64_t> step() const override { return step_; }
  std::string peer() const override;
  std::string call_id() const override;

 private:
  // Empty: the client did not send it.
  std::string_view Metadata(const char* key) const;

  const Reception* const reception_;
  const Method method_;
  const grpc::CallbackServerContext* const context_;
  const std::chrono::steady_clock::time_point arrival_;
  std::shared_ptr<const Caller> caller_;
  std::string session_;
  std::string worker_;
  std::optional<std::int64_t> step_;
  absl::Status status_;
  absl::Duration took_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_CALL_H_
