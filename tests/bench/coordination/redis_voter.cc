// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "bench/coordination/voter.h"
#include "hiredis/hiredis.h"

namespace lossscaler::bench {
namespace {

// What a careful user writes: a vote counts once, for the open step only, and
// the last one decides, moves the scale and tells everyone.
// KEYS: state of the session, its votes. ARGV: channel, worker, step, verdict,
// workers.
constexpr char kScript[] = R"lua(
local step = tonumber(redis.call('HGET', KEYS[1], 'step') or '1')
if tonumber(ARGV[3]) ~= step then
  return redis.error_reply('STEP ' .. step)
end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[4])
if redis.call('HLEN', KEYS[2]) < tonumber(ARGV[5]) then
  return step
end
local overflow = false
for _, verdict in ipairs(redis.call('HVALS', KEYS[2])) do
  overflow = overflow or verdict == '1'
end
local scale = tonumber(redis.call('HGET', KEYS[1], 'scale') or '65536')
local clean = tonumber(redis.call('HGET', KEYS[1], 'clean') or '0') + 1
if overflow then
  scale = scale / 2
  clean = 0
elseif clean == 2000 then
  scale = math.min(scale * 2, 2 ^ 127)
  clean = 0
end
redis.call('HSET', KEYS[1], 'step', step + 1, 'scale', scale, 'clean', clean)
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[1],
           step .. (overflow and ' skip ' or ' apply ') .. scale)
return step
)lua";

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
using Context = std::unique_ptr<redisContext, FreeContext>;

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

// An error, or what was asked for.
absl::StatusOr<Reply> Check(redisContext* context, void* reply) {
  Reply owned(static_cast<redisReply*>(reply));
  if (owned == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("redis: ", std::string(context->errstr)));
  }
  if (owned->type == REDIS_REPLY_ERROR) {
    return absl::InternalError(
        absl::StrCat("redis: ", std::string(owned->str)));
  }
  return owned;
}

class RedisVoter : public Voter {
 public:
  explicit RedisVoter(const VoterOptions& options)
      : session_(options.session),
        worker_(std::to_string(options.rank)),
        workers_(std::to_string(options.workers)),
        commands_(redisConnectUnix(options.address.c_str())),
        decisions_(redisConnectUnix(options.address.c_str())) {}

  absl::Status Start() {
    absl::StatusOr<Reply> loaded =
        Check(commands_.get(),
              redisCommand(commands_.get(), "SCRIPT LOAD %s", kScript));
    if (!loaded.ok()) return loaded.status();
    script_ = (*loaded)->str;
    return Check(
               decisions_.get(),
               redisCommand(decisions_.get(), "SUBSCRIBE %s", session_.c_str()))
        .status();
  }

  absl::Status Vote() override {
    const std::string step = std::to_string(++step_);
    const absl::StatusOr<Reply> voted = Check(
        commands_.get(),
        redisCommand(
            commands_.get(), "EVALSHA %s 2 {%s}:state {%s}:votes %s %s %s 0 %s",
            script_.c_str(), session_.c_str(), session_.c_str(),
            session_.c_str(), worker_.c_str(), step.c_str(), workers_.c_str()));
    if (!voted.ok()) return voted.status();
    void* message = nullptr;
    redisGetReply(decisions_.get(), &message);
    const absl::StatusOr<Reply> decision = Check(decisions_.get(), message);
    if (!decision.ok()) return decision.status();
    // {"message", channel, text}
    const std::string_view text((*decision)->element[2]->str,
                                (*decision)->element[2]->len);
    if (!text.starts_with(step + " apply ")) {
      return absl::InternalError("redis: a decision of another step came");
    }
    return absl::OkStatus();
  }

 private:
  const std::string session_;
  const std::string worker_;
  const std::string workers_;
  const Context commands_;
  const Context decisions_;
  std::string script_;
  std::int64_t step_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Voter>> MakeRedisVoter(
    const VoterOptions& options) {
  auto voter = std::make_unique<RedisVoter>(options);
  if (absl::Status status = voter->Start(); !status.ok()) return status;
  return voter;
}

}  // namespace lossscaler::bench
