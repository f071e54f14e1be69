// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A client with certificates and a token, against a server that asks for both.

#include "lossscaler/client/credentials.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/scripted_unscale_server.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler {
namespace {

using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A certificate authority, a server and a client it vouches for, and another
// authority that vouches for nobody here.
class Certificates {
 public:
  Certificates() {
    Run("printf 'subjectAltName=IP:127.0.0.1' >san");
    MakeAuthority("ca");
    MakeAuthority("other");
    for (const std::string name : {"server", "client"}) {
      Run(absl::StrCat("openssl req ", kNewKey, " -keyout ", name,
                       ".key -subj /CN=", name, " -out ", name, ".csr"));
      Run(absl::StrCat("openssl x509 -req -days 2 -in ", name,
                       ".csr -CA ca.pem -CAkey ca.key -CAcreateserial "
                       "-extfile san -out ",
                       name, ".pem"));
    }
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(directory_.path(), "/", name);
  }

  std::string Text(const std::string& name) const {
    std::ifstream file(Path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  static constexpr char kNewKey[] =
      "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

  void MakeAuthority(const std::string& name) {
    Run(absl::StrCat("openssl req -x509 -days 2 ", kNewKey, " -keyout ", name,
                     ".key -subj /CN=", name, " -out ", name, ".pem"));
  }

  void Run(const std::string& command) {
    const std::string line =
        absl::StrCat("cd '", directory_.path(), "' && ", command, " 2>>log");
    ASSERT_EQ(std::system(line.c_str()), 0) << line << "\n" << Text("log");
  }

  lossscaler::testing::TempDirectory directory_;
};

// Answers GetServerInfo and Unscale, and notes what authorized them.
class NotingService : public v1::LossScalerService::Service {
 public:
  grpc::Status GetServerInfo(grpc::ServerContext* context,
                             const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    Note("GetServerInfo", *context);
    response->set_version("noting");
    return grpc::Status::OK;
  }

  grpc::Status Unscale(
      grpc::ServerContext* context,
      lossscaler::testing::UnscaleServerStream* stream) override {
    Note("Unscale", *context);
    v1::UnscaleRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;
    return lossscaler::testing::Honest(2)(context, request.open(), stream);
  }

  std::vector<std::string> notes() const {
    MutexLock lock(&mutex_);
    return notes_;
  }

 private:
  void Note(const std::string& method, const grpc::ServerContext& context) {
    MutexLock lock(&mutex_);
    std::string note = method;
    const auto range = context.client_metadata().equal_range("authorization");
    for (auto it = range.first; it != range.second; ++it) {
      absl::StrAppend(&note, " ",
                      std::string(it->second.data(), it->second.size()));
    }
    notes_.push_back(std::move(note));
  }

  mutable Mutex mutex_;
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mutex_);
};

class CredentialsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { certificates_ = new Certificates; }
  static void TearDownTestSuite() {
    delete certificates_;
    certificates_ = nullptr;
  }

  void Start(const std::string& address,
             const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, credentials, &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    options_.address = absl::StrCat("127.0.0.1:", port);
    options_.unavailable_budget = absl::Seconds(1);
  }

  // A server that shows its certificate and wants the client's.
  void StartMutualTls() {
    grpc::SslServerCredentialsOptions ssl(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    ssl.pem_root_certs = certificates_->Text("ca.pem");
    ssl.pem_key_cert_pairs.push_back(
        {certificates_->Text("server.key"), certificates_->Text("server.pem")});
    Start("127.0.0.1:0", grpc::SslServerCredentials(ssl));
  }

  void UseTls(const std::string& ca, const std::string& identity) {
    auto tls = ReadTlsFiles(
        certificates_->Path(ca),
        identity.empty() ? "" : certificates_->Path(identity + ".pem"),
        identity.empty() ? "" : certificates_->Path(identity + ".key"));
    ASSERT_THAT(tls, IsOk());
    options_.tls = *std::move(tls);
  }

  static Certificates* certificates_;
  NotingService service_;
  std::unique_ptr<grpc::Server> server_;
  ClientOptions options_;
};

Certificates* CredentialsTest::certificates_ = nullptr;

TEST_F(CredentialsTest, EveryCallCarriesTheTokenOverTls) {
  StartMutualTls();
  UseTls("ca.pem", "client");
  options_.token = "t0ken";
  const auto connection = MakeConnection(options_);
  const auto info = connection->GetServerInfo();
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->version, "noting");

  std::vector<float> values = {2, 4};
  const std::vector<GradientTensor> tensors = {
      InPlace("w", std::span<float>(values))};
  EXPECT_THAT(
      connection->Unscale({.session = {.name = "run"}, .tensors = tensors}),
      IsOk());
  EXPECT_THAT(values, ElementsAre(1, 2));
  EXPECT_THAT(service_.notes(), ElementsAre("GetServerInfo Bearer t0ken",
                                            "Unscale Bearer t0ken"));
}

TEST_F(CredentialsTest, AServerOfAnotherAuthorityIsRefused) {
  StartMutualTls();
  UseTls("other.pem", "client");
  options_.token = "t0ken";
  EXPECT_THAT(MakeConnection(options_)->GetServerInfo(),
              IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(service_.notes(), IsEmpty());
}

TEST_F(CredentialsTest, AClientWithoutACertificateIsRefused) {
  StartMutualTls();
  UseTls("ca.pem", "");
  EXPECT_THAT(MakeConnection(options_)->GetServerInfo(),
              IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(service_.notes(), IsEmpty());
}

// What gRPC would report as a server that is not there, after the whole budget.
TEST_F(CredentialsTest, CredentialsThatCannotBeUsedSendNothing) {
  StartMutualTls();
  const auto expect_refused = [&](const std::string& what) {
    EXPECT_THAT(MakeConnection(options_)->GetServerInfo(),
                IsErrorSaying(Reason::kInvalidCredentials, what));
    EXPECT_THAT(service_.notes(), IsEmpty());
  };
  UseTls("ca.pem", "client");
  const TlsOptions good = *options_.tls;
  options_.tls->private_key = certificates_->Text("server.key");
  expect_refused("does not belong to the certificate");
  options_.tls->private_key =
      "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n";
  expect_refused("the private key cannot be read");

  // A second certificate that was cut off.
  *options_.tls = good;
  options_.tls->ca_certificates +=
      "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
  expect_refused("certificate 2 of the CA certificates cannot be read");
  *options_.tls = good;
  options_.tls->certificate_chain += "-----BEGIN CERTIFICATE-----\nMIIB\n";
  expect_refused("certificate 2 of the certificate chain cannot be read");
}

TEST_F(CredentialsTest, TextAroundCertificatesIsNoHarm) {
  StartMutualTls();
  UseTls("ca.pem", "client");
  TlsOptions& tls = *options_.tls;
  tls.ca_certificates =
      absl::StrCat("# Ours\n", certificates_->Text("other.pem"), "\n# Theirs\n",
                   tls.ca_certificates, "\n");
  // Key and certificates in one file.
  tls.certificate_chain = absl::StrCat(tls.private_key, tls.certificate_chain,
                                       certificates_->Text("ca.pem"));
  tls.private_key = tls.certificate_chain;
  EXPECT_THAT(MakeConnection(options_)->GetServerInfo(), IsOk());
}

TEST_F(CredentialsTest, ATokenGoesToThisMachineWithoutTls) {
  Start("127.0.0.1:0", grpc::InsecureServerCredentials());
  options_.token = "t0ken";
  EXPECT_THAT(MakeConnection(options_)->GetServerInfo(), IsOk());
  EXPECT_THAT(service_.notes(), ElementsAre("GetServerInfo Bearer t0ken"));
}

// The same server, by an address that only happens to lead to this machine.
TEST_F(CredentialsTest, ATokenNeverGoesElsewhereWithoutTls) {
  Start("127.0.0.1:0", grpc::InsecureServerCredentials());
  options_.address =
      absl::StrCat("ipv4:", options_.address, ",", options_.address);
  EXPECT_THAT(MakeConnection(options_)->GetServerInfo(), IsOk());
  options_.token = "t0ken";
  const auto connection = MakeConnection(options_);
  EXPECT_THAT(connection->GetServerInfo(),
              IsErrorSaying(Reason::kInvalidCredentials, "TLS"));
  std::vector<float> values = {2, 4};
  const std::vector<GradientTensor> tensors = {
      InPlace("w", std::span<float>(values))};
  EXPECT_THAT(
      connection->Unscale({.session = {.name = "run"}, .tensors = tensors}),
      IsErrorSaying(Reason::kInvalidCredentials, "TLS"));
  EXPECT_THAT(values, ElementsAre(2, 4));
  EXPECT_THAT(service_.notes(), ElementsAre("GetServerInfo"));
}

}  // namespace
}  // namespace lossscaler
