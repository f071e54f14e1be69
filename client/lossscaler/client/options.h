// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// How a Client talks to its server.

#ifndef LOSSSCALER_CLIENT_OPTIONS_H_
#define LOSSSCALER_CLIENT_OPTIONS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace lossscaler {

// Time as a client sees it. Tests inject their own.
//
// Thread safety: implementations must be safe to call from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // A monotonic time that runs on while the machine is suspended.
  virtual absl::Time Now() = 0;
  virtual void Sleep(absl::Duration duration) = 0;
};

// What a client reports that waits: between two attempts of a call, or for a
// group session that takes no votes.
struct WaitReport {
  // The method that waits, "Update" for example.
  std::string_view method;
  // Since the first failed attempt of this call; where nothing has failed,
  // since the call began.
  absl::Duration waited;
  // What is left of unavailable_budget. Waiting for a group spends nothing.
  absl::Duration budget_left;
  // Why the last attempt failed, or what the group waits for.
  absl::Status last_error;
};

// Transport security. Contents of PEM files, not their names; see
// credentials.h. Read when a connection is made: if they cannot be used, every
// call fails with INVALID_CREDENTIALS.
struct TlsOptions {
  // The authorities that may vouch for the server. Empty: the machine's own.
  std::string ca_certificates;
  // Who this client is, for servers that ask: a certificate chain and its
  // private key. Both or neither.
  std::string certificate_chain;
  std::string private_key;
};

struct ClientOptions {
  // "host:port", or "unix:/path/of/socket".
  std::string address = "127.0.0.1:50551";

  // Null: no transport security.
  std::optional<TlsOptions> tls;
  // Sent with every call as "authorization: Bearer ...". Empty: none. Without
  // TLS a token travels only to this machine (a loopback address or a unix
  // socket); every other call fails with INVALID_CREDENTIALS.
  std::string token;
  // Sent with every call, and its repetitions, as "x-request-id", for the log
  // of the server: the id of a job, for example. At most 128 printable ASCII
  // characters without blanks; with another every call fails with
  // INVALID_FIELD. Empty: none.
  std::string call_id;

  // For each attempt of a call that does not stream.
  absl::Duration unary_deadline = absl::Seconds(10);
  // An Unscale stream on which nothing moves for this long is broken and
  // resumed; after a failure, no longer than what is left of
  // unavailable_budget. One that does not end within a second of that (its
  // server is frozen) is left behind with its connection, and the chunks it
  // holds, until the server goes on or is gone. An attempt of a call takes at
  // most 24 hours, whatever stands here.
  absl::Duration stream_stall_timeout = absl::Seconds(30);

  // How long a call is retried while the server is away or asks to wait;
  // counted from the first failure. Then UNAVAILABLE_BUDGET_SPENT, which is
  // neither apply nor skip.
  absl::Duration unavailable_budget = absl::Minutes(10);
  // The pause before a retry is uniform in [0, b], where b starts here, grows
  // by the multiplier and stops at the maximum; never shorter than the server
  // asks for. The last one ends shortly before the budget does, in time for one
  // more attempt.
  absl::Duration initial_backoff = absl::Milliseconds(50);
  absl::Duration max_backoff = absl::Seconds(2);
  double backoff_multiplier = 2.0;
  // Called on the calling thread while a call waits between two attempts, at
  // most once in wait_report_interval. An attempt that hangs reports nothing
  // until its deadline.
  std::function<void(const WaitReport&)> on_wait;
  absl::Duration wait_report_interval = absl::Seconds(5);

  // Payload of an Unscale chunk in bytes, at most 4 MiB - 64 KiB (half of that
  // where results are wider), and how many may be under way unanswered. A call
  // copies each chunk before it sends it: that many, and one or two more that
  // are on their way out, are what it needs besides the gradients themselves.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  int max_chunks_in_flight = 4;
  // Connections for Unscale, besides the one for everything else: 1 to 64, or
  // Unscale() fails with INVALID_FIELD. Each is made when it is first needed;
  // concurrent calls are spread over them. More than one are for machines with
  // many cores, or for calls that must not wait for each other.
  int unscale_channels = 1;

  // Null: the real one.
  std::shared_ptr<Clock> clock;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_OPTIONS_H_
