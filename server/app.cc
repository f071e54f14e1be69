// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "app.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "grpcpp/resource_quota.h"
#include "ops/limited_log.h"
#include "ops/log.h"
#include "ops/reflection.h"
#include "ops/settings.h"
#include "ops/tls_credentials.h"
#include "rpc/service.h"
#include "store/measured_store.h"
#include "store/open_store.h"

namespace lossscaler::server {
namespace {

constexpr absl::Duration kStoreCheckInterval = absl::Milliseconds(500);

// How soon a changed certificate or token counts, and how soon the log says
// what it has left out.
constexpr absl::Duration kFileCheckInterval = absl::Seconds(1);
constexpr absl::Duration kSuppressedInterval = absl::Seconds(1);

// How long the last answers and the word to those who watch health may take to
// leave once no call is open.
constexpr std::chrono::milliseconds kFlush(250);

// How long a peer that connects may take until it speaks HTTP/2. It need not be
// one of ours, and has a file until then.
constexpr absl::Duration kHandshake = absl::Seconds(10);

// Calls on one connection; what a server takes in all is limits.max_open_calls.
constexpr int kMaxCallsPerConnection = 10'000;

// How far gRPC reads ahead of a stream that carries gradients. Larger windows
// gain on TCP and cost on unix sockets, but gRPC has one set of arguments for
// all ports of a server: one that listens on TCP too has them everywhere.
constexpr int kTcpLookahead = 4 << 20;

// What gRPC may buffer beside the chunks that streams have reserved: what it
// reads ahead of all streams there may be, or what many small calls take.
// Beyond it gRPC refuses connections and ends calls, open streams too, instead
// of the kernel the server.
std::int64_t TransportBytes(const Limits& limits) {
  constexpr std::int64_t kLeast = std::int64_t{256} << 20;
  return std::max(kLeast, limits.max_unscale_streams * kTcpLookahead);
}

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
using ConnectionType =
    grpc::ServerBuilder::experimental_type::ExternalConnectionType;

Listener::Take TakeInto(std::shared_ptr<Acceptor> acceptor) {
  return [acceptor = std::move(acceptor)](int listening, int connection) {
    Acceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listening;
    parameters.fd = connection;
    acceptor->HandleNewConnection(&parameters);
  };
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

absl::Status StoreError(const absl::Status& status) {
  return MakeExitError(
      ExitCode::kStore,
      std::string_view(status.message().data(), status.message().size()));
}

absl::Status CredentialError(const absl::Status& status) {
  return MakeExitError(
      ExitCode::kConfiguration,
      std::string_view(status.message().data(), status.message().size()));
}

// Null: none are asked for.
absl::StatusOr<std::unique_ptr<TokenFile>> OpenTokens(const Config& config) {
  if (config.token_file.empty()) return nullptr;
  absl::StatusOr<std::unique_ptr<TokenFile>> tokens =
      TokenFile::Open(config.token_file);
  if (!tokens.ok()) return CredentialError(tokens.status());
  return tokens;
}

// Null: no TLS.
absl::StatusOr<std::unique_ptr<TlsFiles>> OpenTls(const Config& config) {
  if (config.tls_cert.empty()) return nullptr;
  absl::StatusOr<std::unique_ptr<TlsFiles>> tls =
      TlsFiles::Open({.cert = config.tls_cert,
                      .key = config.tls_key,
                      .client_ca = config.tls_client_ca});
  if (!tls.ok()) return CredentialError(tls.status());
  return tls;
}

// `store`, which from now on tells how long its writes take.
Store* Measured(std::unique_ptr<Store>* store, Metrics* metrics) {
  *store = std::make_unique<MeasuredStore>(
      std::move(*store), [metrics](absl::Duration took, WriteResult result) {
        metrics->OnStoreWrite(took, result == WriteResult::kDone);
      });
  return store->get();
}

}  // namespace

std::string_view Version() { return LOSSSCALER_VERSION; }

absl::StatusOr<std::unique_ptr<App>> App::Start(const Config& config) {
  const SqliteOptions options{.durability = config.relaxed_durability
                                                ? Durability::kRelaxed
                                                : Durability::kFull,
                              .journal_decisions = config.journal_decisions,
                              .journal_age = config.journal_age};
  absl::StatusOr<std::unique_ptr<Store>> store =
      OpenStore(config.store, options);
  if (!store.ok()) return StoreError(store.status());
  return StartWithStore(config, *std::move(store));
}

absl::StatusOr<std::unique_ptr<App>> App::StartWithStore(
    const Config& config, std::unique_ptr<Store> store) {
  std::unique_ptr<App> app(new App(config, std::move(store)));
  const absl::Status status = app->Serve();
  if (!status.ok()) return status;
  return app;
}

absl::Status App::CheckCredentials(const Config& config) {
  absl::Status status = OpenTokens(config).status();
  status.Update(OpenTls(config).status());
  return status;
}

App::App(const Config& config, std::unique_ptr<Store> store)
    : config_(config),
      ready_(absl::UnavailableError("the server is starting")),
      gate_(config_.limits),
      admission_(config_.limits),
      watchers_(config_.limits.max_watch_streams),
      metrics_({.version = std::string(Version()),
                .start_time = absl::Now(),
                .start_count = store->start_count(),
                .limits = config_.limits,
                .sessions = config_.session_metrics,
                .sample = [this] { return Sample(); }}),
      registry_(Measured(&store, &metrics_), config_.limits,
                {.observers = {&event_log_, &metrics_.sessions()}}),
      store_(std::move(store)),
      suppressed_(TellSuppressed) {}

App::~App() { Close(); }

absl::Status App::Serve() {
  if (const absl::Status status = ParseAddresses(); !status.ok()) return status;
  if (const absl::Status status = OpenCredentials(); !status.ok()) {
    return status;
  }
  if (const absl::Status status = registry_.Load(); !status.ok()) {
    return StoreError(status);
  }
  if (const absl::Status status = LockSockets(); !status.ok()) return status;
  if (const absl::Status status = ListenForOperators(); !status.ok()) {
    return status;
  }
  if (const absl::Status status = Listen(); !status.ok()) return status;
  WarnOfOpenAddresses();
  WatchStore();
  suppressed_.Start(kSuppressedInterval);
  if (!config_.ready_file.empty()) {
    absl::StatusOr<std::unique_ptr<ReadyFile>> ready =
        ReadyFile::Write(config_.ready_file, addresses_);
    if (!ready.ok()) return ready.status();
    ready_file_ = *std::move(ready);
  }
  LogServing();
  return absl::OkStatus();
}

void App::WarnOfOpenAddresses() const {
  if (IsProtected(config_)) return;
  for (const ListenAddress& address : listen_) {
    if (address.is_local()) continue;
    Log(LogLevel::kWarning, "open_address",
        {{"address", address.ToString()},
         {"meaning",
          tls_ != nullptr
              ? "other machines can reach it; whoever does may call it"
          : tokens_ != nullptr
              ? "other machines can reach it; tokens travel in clear text"
              : "other machines can reach it; nothing protects it"}});
  }
}

void App::LogServing() const {
  Log(LogLevel::kInfo, "serving",
      {{"addresses", absl::StrJoin(addresses_, ",")},
       {"admin", admin_address()},
       {"tls", tls_ != nullptr},
       {"client_certificates",
        tls_ != nullptr && tls_->wants_client_certificates()},
       {"tokens", tokens_ == nullptr ? std::size_t{0} : tokens_->size()},
       {"store", store_->name()},
       {"durability", store_->durability()},
       {"sessions", registry_.size()},
       {"start_count", store_->start_count()},
       {"version", Version()},
       {"pid", getpid()}});
}

absl::Status App::OpenCredentials() {
  absl::StatusOr<std::unique_ptr<TokenFile>> tokens = OpenTokens(config_);
  if (!tokens.ok()) return tokens.status();
  absl::StatusOr<std::unique_ptr<TlsFiles>> tls = OpenTls(config_);
  if (!tls.ok()) return tls.status();
  tokens_ = *std::move(tokens);
  tls_ = *std::move(tls);
  if (tls_ != nullptr) tls_credentials_ = MakeTlsCredentials(tls_.get());
  if (tokens_ != nullptr) {
    reception_.identify = [this](std::string_view authorization) {
      return tokens_->Identify(authorization);
    };
  }
  reception_.observers = {&event_log_, &metrics_.calls()};
  refresher_ = std::make_unique<FileRefresher>(tokens_.get(), tls_.get());
  refresher_->Start(kFileCheckInterval);
  return absl::OkStatus();
}

absl::Status App::ListenForOperators() {
  if (config_.admin_listen.empty()) return absl::OkStatus();
  const absl::StatusOr<ListenAddress> address =
      ListenAddress::Parse(config_.admin_listen);
  if (!address.ok()) return address.status();
  absl::StatusOr<std::unique_ptr<AdminServer>> admin = AdminServer::Start(
      *address, {.ready = [this] { return Ready(); },
                 .metrics = [this] { return metrics_.Text(); }});
  if (!admin.ok()) return admin.status();
  admin_ = *std::move(admin);
  return absl::OkStatus();
}

void App::SetReady(const absl::Status& ready) {
  MutexLock lock(&ready_mutex_);
  ready_ = ready;
}

absl::Status App::Ready() const {
  MutexLock lock(&ready_mutex_);
  return ready_;
}

MetricsSample App::Sample() const {
  MetricsSample sample{
      .open_calls = gate_.open(),
      .unscale_streams = admission_.open_streams(),
      .bytes_in_flight = admission_.bytes_in_flight(),
      .watch_streams = watchers_.taken(),
      .store_healthy = store_healthy_,
      .refused_connections = listener_.refused(),
      .failed_tls_reloads = refresher_->failed_tls_reloads(),
      .failed_token_reloads = refresher_->failed_token_reloads()};
  if (tls_ != nullptr) sample.certificate_expiry = tls_->Get()->facts.not_after;
  return sample;
}

// Who can open a unix socket is decided by its folder and mode.
std::shared_ptr<grpc::ServerCredentials> App::CredentialsFor(
    const ListenAddress& address) const {
  return tls_credentials_ == nullptr || address.is_unix()
             ? grpc::InsecureServerCredentials()
             : tls_credentials_;
}

absl::Status App::ParseAddresses() {
  if (const std::vector<std::string> problems = CheckTogether(config_);
      !problems.empty()) {
    return MakeExitError(ExitCode::kConfiguration,
                         absl::StrJoin(problems, "\n"));
  }
  for (const std::string& text : config_.listen) {
    absl::StatusOr<ListenAddress> address = ListenAddress::Parse(text);
    if (!address.ok()) return address.status();
    listen_.push_back(*std::move(address));
  }
  return absl::OkStatus();
}

absl::Status App::LockSockets() {
  for (const ListenAddress& address : listen_) {
    if (!address.is_unix()) continue;
    absl::StatusOr<std::unique_ptr<UnixSocketLock>> lock =
        UnixSocketLock::Acquire(address.path());
    if (!lock.ok()) return lock.status();
    socket_locks_.push_back(*std::move(lock));
  }
  return absl::OkStatus();
}

absl::Status App::Listen() {
  if (config_.owns_process) spare_threads_ = std::make_unique<SpareThreads>();
  service_ = MakeLossScalerService({.registry = &registry_,
                                    .store = store_.get(),
                                    .gate = &gate_,
                                    .admission = &admission_,
                                    .watchers = &watchers_,
                                    .reception = &reception_,
                                    .spare_threads = spare_threads_.get(),
                                    .limits = config_.limits,
                                    .version = std::string(Version())});
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxMessageBytes));
  builder.SetOption(ReflectionOption(config_.reflection));
  ConfigureConnections(&builder);

  for (const ListenAddress& address : listen_) {
    std::shared_ptr<Acceptor> acceptor =
        builder.experimental().AddExternalConnectionAcceptor(
            ConnectionType::FROM_FD, CredentialsFor(address));
    const absl::StatusOr<int> port =
        listener_.Listen(address, TakeInto(std::move(acceptor)));
    if (!port.ok()) {
      return MakeExitError(
          ExitCode::kBind,
          absl::StrCat("cannot listen on ", address.ToString(), ": ",
                       port.status().message(),
                       "; stop whoever has it, or choose another address"));
    }
    addresses_.push_back(address.WithPort(*port));
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return MakeExitError(ExitCode::kBind,
                         "gRPC could not start; its messages are in the log");
  }
  for (const std::unique_ptr<UnixSocketLock>& lock : socket_locks_) {
    if (const absl::Status status = lock->RestrictMode(); !status.ok()) {
      return status;
    }
  }
  listener_.Start();
  return absl::OkStatus();
}

void App::ConfigureConnections(grpc::ServerBuilder* builder) const {
  builder->SetResourceQuota(
      grpc::ResourceQuota("lossscalerd")
          .Resize(static_cast<std::size_t>(config_.limits.max_bytes_in_flight +
                                           TransportBytes(config_.limits))));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              kMaxCallsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              Milliseconds(kHandshake));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                              Milliseconds(config_.keepalive_time));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              Milliseconds(config_.keepalive_timeout));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      Milliseconds(config_.http2_min_recv_ping_interval_without_data));
  for (const auto& [argument, limit] :
       {std::pair(GRPC_ARG_MAX_CONNECTION_IDLE_MS, config_.max_connection_idle),
        std::pair(GRPC_ARG_MAX_CONNECTION_AGE_MS, config_.max_connection_age),
        std::pair(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                  config_.max_connection_age_grace)}) {
    if (limit > absl::ZeroDuration()) {
      builder->AddChannelArgument(argument, Milliseconds(limit));
    }
  }
  // Pings that came early because the network bunched them are forgiven.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 3);
  const bool tcp =
      std::any_of(listen_.begin(), listen_.end(),
                  [](const ListenAddress& a) { return !a.is_unix(); });
  // Windows that grow by themselves do so most while this server is slow, and
  // 64 streams would not fit into the quota any more.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  if (tcp) {
    builder->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                                kTcpLookahead);
  }
}

void App::SetHealth(bool serving) {
  for (const char* const part :
       {kHealthStore, kHealthService, kHealthOverall}) {
    server_->GetHealthCheckService()->SetServingStatus(part, serving);
  }
}

void App::WatchStore() {
  server_->GetHealthCheckService()->SetServingStatus(kHealthProcess, true);
  store_health_ = std::make_unique<HealthMonitor>(
      [this] { return store_->Health(); },
      [this](const absl::Status& status) {
        SetHealth(status.ok());
        store_healthy_ = status.ok();
        SetReady(status);
        if (status.ok()) {
          Log(LogLevel::kInfo, "store_healthy");
        } else {
          Log(LogLevel::kError, "store_unhealthy",
              {{"error", status.ToString()}});
        }
      });
  // Once before anybody is told that we serve.
  store_health_->Check();
  store_health_->Start(kStoreCheckInterval);
}

ExitCode App::Drain() {
  store_health_->Stop();
  SetHealth(false);
  SetReady(absl::UnavailableError("the server is draining"));
  Log(LogLevel::kInfo, "draining",
      {{"open_calls", gate_.open()},
       {"timeout", absl::FormatDuration(config_.drain_timeout)}});
  gate_.Close();
  // Nobody waits for decisions any longer; votes can be repeated.
  registry_.Drain(gate_.Draining());
  const bool empty = gate_.WaitUntilEmpty(config_.drain_timeout);
  if (!empty) {
    Log(LogLevel::kWarning, "drain_timed_out", {{"open_calls", gate_.open()}});
  }
  Close();
  TellAllSuppressed();
  Log(LogLevel::kInfo, "stopped");
  return empty ? ExitCode::kDrained : ExitCode::kDrainTimedOut;
}

void App::Close() {
  if (store_health_ != nullptr) store_health_->Stop();
  if (refresher_ != nullptr) refresher_->Stop();
  suppressed_.Stop();
  if (spare_threads_ != nullptr) spare_threads_->End();
  listener_.Stop();
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + kFlush);
    server_.reset();
  }
  admin_.reset();
  ready_file_.reset();
  socket_locks_.clear();
}

}  // namespace lossscaler::server
