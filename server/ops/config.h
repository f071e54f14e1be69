// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Config: what a server was told, in the types that it works with.
//
// The members' initial values are the defaults of the settings table
// (ops/settings.h), which also says what each means and allows.

#ifndef LOSSSCALER_SERVER_OPS_CONFIG_H_
#define LOSSSCALER_SERVER_OPS_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "ops/log.h"
#include "sessions/limits.h"

namespace lossscaler::server {

struct Config {
  std::vector<std::string> listen = {"127.0.0.1:50551"};
  bool reflection = false;
  // Empty: none.
  std::string ready_file;
  absl::Duration drain_timeout = absl::Seconds(20);
  // Empty: none.
  std::string admin_listen = "127.0.0.1:9551";

  bool insecure = false;
  bool admin_insecure = false;
  // Files; empty: none.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  std::string token_file;

  std::string store = "sqlite";
  // Answers leave before the disk has them.
  bool relaxed_durability = false;
  std::int64_t journal_decisions = 100'000;
  absl::Duration journal_age = absl::Hours(24 * 30);

  Limits limits;

  absl::Duration keepalive_time = absl::Minutes(1);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  absl::Duration http2_min_recv_ping_interval_without_data = absl::Seconds(5);
  // Zero: no limit.
  absl::Duration max_connection_idle = absl::ZeroDuration();
  absl::Duration max_connection_age = absl::ZeroDuration();
  absl::Duration max_connection_age_grace = absl::ZeroDuration();

  // Gauges for each session.
  bool session_metrics = false;

  // The process has no event threads of gRPC but this server's: no client, and
  // no other server. Not a setting; see SpareThreads.
  bool owns_process = false;

  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_CONFIG_H_
