// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Reloadable: a value that is made from files, and made again when they change.
//
// What the files say now only counts if it is good: otherwise the value that
// is in force stays.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_SERVER_OPS_RELOADABLE_H_
#define LOSSSCALER_SERVER_OPS_RELOADABLE_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

// `Source`: what the files contain; `Value`: what it means.
template <typename Source, typename Value>
class Reloadable {
 public:
  using Read = std::function<absl::StatusOr<Source>()>;
  using Make = std::function<absl::StatusOr<Value>(const Source&)>;

  // Neither callable may call this.
  static absl::StatusOr<std::unique_ptr<Reloadable>> Open(Read read,
                                                          Make make) {
    absl::StatusOr<Source> source = read();
    if (!source.ok()) return source.status();
    absl::StatusOr<Value> value = make(*source);
    if (!value.ok()) return value.status();
    return std::unique_ptr<Reloadable>(
        new Reloadable(std::move(read), std::move(make), *std::move(source),
                       std::make_shared<const Value>(*std::move(value))));
  }

  // What is in force.
  std::shared_ptr<const Value> Get() const ABSL_LOCKS_EXCLUDED(value_mutex_) {
    MutexLock lock(&value_mutex_);
    return value_;
  }

  // Reads the files again. OK: they have changed, and what they say is in force
  // now. An error: they are bad; told once for each content and error. nullopt:
  // nothing new.
  std::optional<absl::Status> Refresh()
      ABSL_LOCKS_EXCLUDED(refresh_mutex_, value_mutex_) {
    MutexLock lock(&refresh_mutex_);
    absl::StatusOr<Source> source = read_();
    if (!source.ok()) return Refuse(source.status(), std::nullopt);
    if (*source == in_force_) {
      if (error_.ok()) return std::nullopt;
      // They were bad, and are again what they were before.
      Accept();
      return absl::OkStatus();
    }
    // Also where it was refused before: a certificate may have become valid.
    absl::StatusOr<Value> value = make_(*source);
    if (!value.ok()) return Refuse(value.status(), *std::move(source));
    in_force_ = *std::move(source);
    Accept();
    Put(std::make_shared<const Value>(*std::move(value)));
    return absl::OkStatus();
  }

 private:
  Reloadable(Read read, Make make, Source source,
             std::shared_ptr<const Value> value)
      : read_(std::move(read)),
        make_(std::move(make)),
        in_force_(std::move(source)),
        value_(std::move(value)) {}

  void Accept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(refresh_mutex_) {
    error_ = absl::OkStatus();
    refused_.reset();
  }

  std::optional<absl::Status> Refuse(const absl::Status& error,
                                     std::optional<Source> source)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(refresh_mutex_) {
    if (error == error_ && source == refused_) return std::nullopt;
    error_ = error;
    refused_ = std::move(source);
    return error;
  }

  void Put(std::shared_ptr<const Value> value)
      ABSL_LOCKS_EXCLUDED(value_mutex_) {
    MutexLock lock(&value_mutex_);
    // The old one goes after the lock, with `value`.
    value_.swap(value);
  }

  const Read read_;
  const Make make_;

  Mutex refresh_mutex_;
  Source in_force_ ABSL_GUARDED_BY(refresh_mutex_);
  // Why the files are not in force, and what they contain then; unset if they
  // could not be read.
  absl::Status error_ ABSL_GUARDED_BY(refresh_mutex_);
  std::optional<Source> refused_ ABSL_GUARDED_BY(refresh_mutex_);

  mutable Mutex value_mutex_;
  std::shared_ptr<const Value> value_ ABSL_GUARDED_BY(value_mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_RELOADABLE_H_
