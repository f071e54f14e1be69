// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// `lossscalerctl unscale` as a process, against a real server: what it writes,
// and what it leaves behind when the server, the memory or the user ends it.

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "testing/cutting_proxy.h"
#include "testing/naive_unscale.h"
#include "testing/server_process.h"
#include "testing/temp_directory.h"

namespace lossscaler {
namespace {

using namespace std::string_literals;  // NOLINT: "..."s keeps zero bytes.
using ::lossscaler::testing::Bits;
using ::lossscaler::testing::CuttingProxy;
using ::lossscaler::testing::NaiveUnscale;
using ::lossscaler::testing::Pack;
using ::lossscaler::testing::ServerProcess;
using ::lossscaler::testing::TempDirectory;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
namespace fs = std::filesystem;

using Words = std::vector<std::string>;

constexpr char kServer[] = LOSSSCALER_BINARY_DIR "/server/lossscalerd";
constexpr char kCtl[] = LOSSSCALER_BINARY_DIR "/client/ctl/lossscalerctl";
constexpr double kScale = 3;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string Text(const std::vector<std::byte>& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool StillRuns(const ServerProcess& process) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(process.pid()), &info,
                WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

// A file of any version whose header is not padded.
std::string Npy(int version, const std::string& descr, const std::string& order,
                const std::string& shape, const std::string& data) {
  const std::string header = "{'descr': '" + descr +
                             "', 'fortran_order': " + order +
                             ", 'shape': " + shape + "}";
  std::string file = "\x93NUMPY"s + static_cast<char>(version) + "\x00"s +
                     static_cast<char>(header.size()) + "\x00"s;
  if (version > 1) file += "\x00\x00"s;
  return file + header + data;
}

// An independent reader of what was written: the dictionary without its
// padding, and the data.
struct Parsed {
  int version = 0;
  std::string dictionary;
  std::string data;
};

Parsed Parse(const std::string& file) {
  Parsed parsed;
  if (file.size() < 12) return parsed;
  parsed.version = static_cast<unsigned char>(file[6]);
  const std::size_t start = parsed.version == 1 ? 10 : 12;
  const std::size_t length = static_cast<unsigned char>(file[8]) +
                             256 * static_cast<unsigned char>(file[9]);
  EXPECT_EQ((start + length) % 64, 0);
  parsed.dictionary = file.substr(start, length);
  parsed.dictionary.resize(parsed.dictionary.rfind('}') + 1);
  parsed.data = file.substr(start + length);
  return parsed;
}

class CtlUnscaleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // A test that runs in the background may have inherited that it is ignored.
    for (const int inherited : {SIGINT, SIGQUIT}) signal(inherited, SIG_DFL);
    fs::create_directory(folder_);
    fs::create_directory(Path("logs"));
    StartServer();
    address_ = absl::StrCat("127.0.0.1:", port_);
    ASSERT_EQ(Ctl({"create", "s", "--static", "3"}), 0) << err_;
  }

  void StartServer() {
    fs::remove(Path("ready"));
    server_ = std::make_unique<ServerProcess>(
        kServer, Path("logs"),
        Words{"--store=sqlite:" + Path("state"), "--listen=127.0.0.1:0",
              "--ready-file", Path("ready")});
    const Words addresses = server_->WaitUntilReady(Path("ready"));
    ASSERT_FALSE(addresses.empty()) << server_->Err();
    ASSERT_TRUE(absl::SimpleAtoi(
        addresses[0].substr(addresses[0].rfind(':') + 1), &port_));
  }
  void KillServer() {
    server_->Signal(SIGKILL);
    EXPECT_THAT(server_->Wait(), Optional(128 + SIGKILL));
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(directory_.path(), "/", name);
  }
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = absl::StrCat(folder_, "/", name);
    WriteFile(path, bytes);
    return path;
  }
  // Name and content of everything in the folder of the files.
  std::map<std::string, std::string> Folder() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      files[entry.path().filename().string()] = ReadFile(entry.path());
    }
    return files;
  }

  // How many files are in it, without the time that reading them takes.
  std::ptrdiff_t FolderSize() const {
    return std::distance(fs::directory_iterator(folder_), {});
  }

  // Starts it, from a shell that runs `before` first.
  std::unique_ptr<ServerProcess> StartCtl(const Words& arguments,
                                          const std::string& before = ":") {
    Words words = {"-c", before + "; exec \"$0\" \"$@\"", kCtl, "--address",
                   address_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return std::make_unique<ServerProcess>("/bin/sh", Path("logs"), words);
  }
  int Finish(ServerProcess* ctl) {
    const std::optional<int> code = ctl->Wait();
    out_ = ctl->Out();
    err_ = ctl->Err();
    return code.value_or(-1);
  }
  int Ctl(const Words& arguments, const std::string& before = ":") {
    return Finish(StartCtl(arguments, before).get());
  }

  // 8 MiB: several chunks.
  std::string WriteLarge() {
    const std::vector<float> values(2 << 20, 6.0F);
    return Write("large.npy",
                 Npy(1, "<f4", "False", "(2097152,)",
                     std::string(reinterpret_cast<const char*>(values.data()),
                                 values.size() * 4)));
  }
  // A connection that stands still after some chunks have been answered.
  std::unique_ptr<CuttingProxy> HoldInTheMiddle() {
    auto proxy = std::make_unique<CuttingProxy>(port_, 2'500'000,
                                                CuttingProxy::Then::kHold);
    address_ = proxy->address();
    return proxy;
  }

  TempDirectory directory_;
  const std::string folder_ = Path("files");
  std::unique_ptr<ServerProcess> server_;
  int port_ = 0;
  std::string address_;
  std::string out_;
  std::string err_;
};

TEST_F(CtlUnscaleTest, EveryTypeOrderAndVersionHasTheBitsOfTheFormula) {
  const std::map<std::string, ElementType> types = {
      {"f2", ElementType::kFloat16},
      {"f4", ElementType::kFloat32},
      {"f8", ElementType::kFloat64}};
  Words arguments = {"unscale", "s", "-o", Path("out")};
  fs::create_directory(Path("out"));
  std::map<std::string, std::pair<std::string, std::string>> expected;
  int version = 0;
  for (const auto& [code, type] : types) {
    std::vector<Bits> elements;
    for (const double value : {1.0, -2.5, 1e-3, 0.0, 60000.0, -1e-7}) {
      elements.push_back(testing::NearestOf(type, value));
    }
    const auto wide = WideType(type);
    const std::string result = Text(Pack(
        wide,
        NaiveUnscale(type, elements, wide, 0, {.scale = kScale}).elements));
    const std::string wide_code = code == "f8" ? "f8" : "f4";
    for (const char order : {'<', '>'}) {
      version = version % 3 + 1;
      const std::string fortran = order == '>' ? "True" : "False";
      std::string data = Text(Pack(type, elements));
      if (order == '>') {
        const std::size_t size = testing::SizeOf(type);
        for (std::size_t i = 0; i < data.size(); i += size) {
          std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i),
                       data.begin() + static_cast<std::ptrdiff_t>(i + size));
        }
      }
      const std::string name = code + (order == '<' ? "_little" : "_big");
      arguments.push_back(
          Write(name, Npy(version, order + code, fortran, "(2, 3)", data)));
      expected[name] = {"{'descr': '<" + wide_code + "', 'fortran_order': " +
                            fortran + ", 'shape': (2, 3), }",
                        result};
    }
  }
  ASSERT_EQ(Ctl(arguments), 0) << err_;
  EXPECT_THAT(err_, IsEmpty());
  for (const auto& [name, file] : expected) {
    const Parsed parsed = Parse(ReadFile(Path("out/") + name));
    EXPECT_EQ(parsed.dictionary, file.first) << name;
    EXPECT_EQ(parsed.data, file.second) << name;
  }
}

TEST_F(CtlUnscaleTest, LargeFileGoesThroughInPlace) {
  const std::string large = WriteLarge();
  ASSERT_EQ(Ctl({"--json", "unscale", "s", large, "-o", large}), 0) << err_;
  const Parsed parsed = Parse(ReadFile(large));
  const std::vector<float> twos(2 << 20, 2.0F);
  ASSERT_EQ(parsed.data.size(), twos.size() * 4);
  EXPECT_EQ(std::memcmp(parsed.data.data(), twos.data(), twos.size() * 4), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["overflow"], false);
  EXPECT_EQ(FolderSize(), 1);
}

TEST_F(CtlUnscaleTest, UnscalingIsNoVote) {
  const std::string bad =
      Write("bad.npy", Npy(1, "<f4", "False", "(1,)", "\x00\x00\xc0\x7f"s));
  EXPECT_EQ(Ctl({"unscale", "s", bad, "--check-only", "--fail-on-overflow"}), 4)
      << err_;
  ASSERT_EQ(Ctl({"--json", "get", "s"}), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["current"]["step"], 1);
}

TEST_F(CtlUnscaleTest, RefusalsHaveTheirCodes) {
  const std::string good =
      Write("good.npy", Npy(1, "<f4", "False", "(1,)", "\x00\x00\x80\x3f"s));
  const auto before = Folder();
  EXPECT_EQ(Ctl({"unscale", "nobody", good, "-o", good}), 1);
  EXPECT_THAT(err_, HasSubstr("SESSION_NOT_FOUND"));
  EXPECT_EQ(Ctl({"unscale", "s", Path("no.npy"), "-o", good}), 2);
  EXPECT_EQ(Ctl({"unscale", "s", good, "-o", Path("no/x.npy")}), 2);
  EXPECT_EQ(Folder(), before);
}

// The shadow memory of a sanitizer is larger than any limit.
#ifndef LOSSSCALER_IS_SANITIZED
TEST_F(CtlUnscaleTest, LimitedAddressSpaceIsNoCrash) {
  const std::string huge =
      Write("huge.npy", Npy(1, "<f4", "False", "(268435456,)", ""));
  fs::resize_file(huge, fs::file_size(huge) + (std::uintmax_t{1} << 30));
  const std::uintmax_t size = fs::file_size(huge);
  // 1 GiB, for a file of 1 GiB. (In KiB.)
  EXPECT_EQ(Ctl({"unscale", "s", huge, "-o", huge}, "ulimit -v 1048576"), 2);
  EXPECT_THAT(err_, HasSubstr("1 file needs 1073741824 bytes of memory"));
  EXPECT_EQ(fs::file_size(huge), size);
  EXPECT_EQ(FolderSize(), 1);
}
#endif

TEST_F(CtlUnscaleTest, LimitedFileSizeLeavesTheFolderAsItWas) {
  const std::string large = WriteLarge();
  const auto before = Folder();
  // Less than 1 MiB, for a file of 8 MiB.
  EXPECT_EQ(Ctl({"unscale", "s", large, "-o", large}, "ulimit -f 1000"), 1);
  EXPECT_EQ(err_, absl::StrCat("lossscalerctl: FILE_NOT_WRITTEN: ", large,
                               ": cannot be written: File too large\n"));
  EXPECT_TRUE(Folder() == before);
}

TEST_F(CtlUnscaleTest, ResultThatCannotBeShownIsAnErrorUnlessNobodyWantsIt) {
  EXPECT_EQ(Ctl({"list"}, "exec >/dev/full"), 1);
  EXPECT_THAT(err_, HasSubstr("could not be written to standard output"));
  // A pipe whose only reader has gone.
  const std::string pipe = Path("pipe");
  EXPECT_EQ(Ctl({"list"}, absl::StrCat("mkfifo '", pipe, "'; exec 3<>'", pipe,
                                       "' >'", pipe, "' 3<&-")),
            1);
  EXPECT_THAT(err_, IsEmpty());
}

TEST_F(CtlUnscaleTest, InputThatIsReplacedInTheMiddleChangesNothing) {
  const std::string large = WriteLarge();
  // A NaN as the last element.
  std::string bytes = ReadFile(large);
  bytes.replace(bytes.size() - 4, 4, "\x00\x00\xc0\x7f"s);
  WriteFile(large, bytes);
  const auto proxy = HoldInTheMiddle();
  const auto ctl = StartCtl(
      {"--deadline", "50s", "--json", "unscale", "s", large, "-o", Path("b")});
  ASSERT_TRUE(proxy->WaitUntilCut()) << ctl->Err();
  fs::rename(Write("other", std::string(bytes.size(), 'x')), large);
  KillServer();
  StartServer();
  proxy->set_port(port_);
  EXPECT_EQ(Finish(ctl.get()), 0) << err_;
  const auto bad = nlohmann::json::parse(out_)["files"][0]["first_bad"];
  EXPECT_EQ(bad["index"], 2097151);
  EXPECT_TRUE(bad["value"].is_null()) << bad;
  const std::vector<float> twos(2 << 20, 2.0F);
  const Parsed parsed = Parse(ReadFile(Path("b")));
  ASSERT_EQ(parsed.data.size(), twos.size() * 4);
  EXPECT_EQ(std::memcmp(parsed.data.data(), twos.data(), (twos.size() - 1) * 4),
            0);
}

TEST_F(CtlUnscaleTest, ServerKilledInTheMiddleIsOutOfReach) {
  const std::string large = WriteLarge();
  const auto before = Folder();
  const auto proxy = HoldInTheMiddle();
  const auto ctl =
      StartCtl({"--deadline", "5s", "unscale", "s", large, "-o", large});
  ASSERT_TRUE(proxy->WaitUntilCut()) << ctl->Err();
  EXPECT_EQ(FolderSize(), 2) << "no temporary file";
  KillServer();
  EXPECT_EQ(Finish(ctl.get()), 3) << err_;
  EXPECT_TRUE(Folder() == before);
}

TEST_F(CtlUnscaleTest, ServerThatComesBackFinishesTheFile) {
  const std::string large = WriteLarge();
  const auto proxy = HoldInTheMiddle();
  const auto ctl =
      StartCtl({"--deadline", "50s", "unscale", "s", large, "-o", large});
  ASSERT_TRUE(proxy->WaitUntilCut()) << ctl->Err();
  KillServer();
  StartServer();
  proxy->set_port(port_);
  EXPECT_EQ(Finish(ctl.get()), 0) << err_;
  const std::vector<float> twos(2 << 20, 2.0F);
  const Parsed parsed = Parse(ReadFile(large));
  ASSERT_EQ(parsed.data.size(), twos.size() * 4);
  EXPECT_EQ(std::memcmp(parsed.data.data(), twos.data(), twos.size() * 4), 0);
}

TEST_F(CtlUnscaleTest, SignalsInTheMiddleLeaveTheFolderAsItWas) {
  const std::string large = WriteLarge();
  const auto before = Folder();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const auto proxy = HoldInTheMiddle();
    const auto ctl =
        StartCtl({"unscale", "s", large, "-o", large}, "ulimit -c 0");
    ASSERT_TRUE(proxy->WaitUntilCut()) << ctl->Err();
    EXPECT_EQ(FolderSize(), 2) << "no temporary file";
    ctl->Signal(signal);
    EXPECT_EQ(Finish(ctl.get()), 128 + signal);
    EXPECT_EQ(err_, "lossscalerctl: interrupted; nothing was written\n");
    EXPECT_TRUE(Folder() == before);
  }
}

TEST_F(CtlUnscaleTest, SignalsThatAreIgnoredStayIgnored) {
  const std::string large = WriteLarge();
  const auto before = Folder();
  const auto proxy = HoldInTheMiddle();
  const auto ctl = StartCtl(
      {"--deadline", "50s", "unscale", "s", large, "-o", large}, "trap '' HUP");
  ASSERT_TRUE(proxy->WaitUntilCut()) << ctl->Err();
  ctl->Signal(SIGHUP);
  EXPECT_TRUE(StillRuns(*ctl));
  // Ends it, unless the first has.
  ctl->Signal(SIGINT);
  EXPECT_EQ(Finish(ctl.get()), 128 + SIGINT) << err_;
  EXPECT_TRUE(Folder() == before);
}

}  // namespace
}  // namespace lossscaler
