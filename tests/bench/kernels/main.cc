// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// kernels: how fast gradients are unscaled in memory, on one thread.
// See `./run bench kernels --help`.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/kernels/by_hand.h"
#include "bench/report/rounds.h"
#include "bench/report/row.h"
#include "bench/report/table.h"
#include "benchmark/benchmark.h"
#include "lossscaler/core/element_type.h"
#include "lossscaler/core/unscale_on.h"

namespace lossscaler::bench {
namespace {

struct Options {
  int rounds = 7;
  double seconds = 0.1;
  bool quick = false;
  std::string json;
};

// A divisor so near to 1 that what is divided in place a million times is still
// a usual number, and no power of two.
constexpr float kScale = 1.0000001f;

// Takes the one speed that Google Benchmark has measured.
class SpeedReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto speed = run.counters.find("bytes_per_second");
      if (speed != run.counters.end()) gigabytes = speed->second.value * 1e-9;
    }
  }

  std::optional<double> gigabytes;
};

// A loop over `bytes` of memory, known to Google Benchmark by its name.
std::function<absl::StatusOr<double>()> Contestant(const std::string& name,
                                                   std::size_t bytes,
                                                   double seconds,
                                                   std::function<void()> loop) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [bytes, loop = std::move(loop)](benchmark::State& state) {
        for (auto _ : state) {
          loop();
          benchmark::ClobberMemory();
        }
        state.SetBytesProcessed(static_cast<std::int64_t>(bytes) *
                                state.iterations());
      })
      ->MinTime(seconds)
      ->UseRealTime();
  return [name]() -> absl::StatusOr<double> {
    SpeedReporter reporter;
    // A slash and the arguments follow its name.
    benchmark::RunSpecifiedBenchmarks(&reporter, "^" + name + "/");
    if (!reporter.gigabytes) {
      return absl::InternalError("nothing was measured of " + name);
    }
    return *reporter.gigabytes;
  };
}

struct Case {
  std::string name;
  ElementType input;
  ElementType output;
  // What its speed is compared with, and by how much it may fall behind in the
  // cache and in memory.
  std::string floor_name;
  LoopByHand floor;
  std::optional<double> plain_target;
  std::optional<double> plain_target_in_memory;
  std::optional<double> statistics_target;
};

std::vector<Case> Cases() {
  constexpr ElementType kF32 = ElementType::kFloat32;
  constexpr ElementType kF16 = ElementType::kFloat16;
  constexpr ElementType kBF16 = ElementType::kBFloat16;
  constexpr ElementType kF64 = ElementType::kFloat64;
  return {
      {"float32", kF32, kF32, "divide only", DivideFloat32Only, 0.92, 0.92,
       0.75},
      {"float64", kF64, kF64, "divide only", DivideFloat64Only},
      {"float16 to float32", kF16, kF32, "by hand", Float16ToFloat32ByHand,
       0.85},
      {"float16", kF16, kF16, "by hand", Float16ByHand, 0.85},
      {"bfloat16 to float32", kBF16, kF32, "by hand", BFloat16ToFloat32ByHand,
       0.85},
      {"bfloat16", kBF16, kBF16, "by hand", BFloat16ByHand, 0.85},
  };
}

// Numbers between 1 and 2 in every format but for their last bits.
void Fill(ElementType type, std::vector<std::byte>& memory) {
  const std::size_t size = ElementSize(type);
  const std::uint64_t ones[] = {0x3f800000, 0x3c00, 0x3f80, 0x3ff0000000000000};
  const std::uint64_t one = ones[static_cast<std::size_t>(type)];
  for (std::size_t i = 0; i < memory.size() / size; ++i) {
    const std::uint64_t element = one + i % 101;
    std::memcpy(memory.data() + i * size, &element, size);
  }
}

std::string SizeName(std::size_t bytes) {
  const std::size_t kib = bytes >> 10;
  if (kib < 1024) return std::to_string(kib) + " KiB";
  const std::size_t mib = kib >> 10;
  if (mib < 1024) return std::to_string(mib) + " MiB";
  return std::to_string(mib >> 10) + " GiB";
}

absl::StatusOr<std::vector<Row>> Measure(const Case& measured,
                                         std::size_t bytes,
                                         const Options& options) {
  const bool in_memory = bytes > (std::size_t{64} << 20);
  const bool in_cache = bytes < (std::size_t{1} << 20);
  const std::size_t count = bytes / ElementSize(measured.input);
  const bool in_place = measured.input == measured.output;
  std::vector<std::byte> input(bytes);
  Fill(measured.input, input);
  std::vector<std::byte> elsewhere(
      in_place ? 0 : count * ElementSize(measured.output));
  std::byte* const output = in_place ? input.data() : elsewhere.data();
  const RunnableKernel& kernel = RunnableKernels().front();
  const std::string suffix = ", " + SizeName(bytes);
  const auto contestant = [&](const std::string& name,
                              std::function<void()> loop) {
    return Contestant(measured.name + ", " + name + suffix, bytes,
                      options.seconds, std::move(loop));
  };
  const auto unscale = [&](bool statistics) {
    return [&, statistics] {
      benchmark::DoNotOptimize(UnscaleOn(
          kernel, measured.input, input.data(), count, measured.output, output,
          0, {.scale = kScale, .statistics = statistics}));
    };
  };
  const absl::StatusOr<std::vector<std::vector<double>>> speeds =
      Interleave(options.rounds,
                 std::vector<std::function<absl::StatusOr<double>()>>{
                     contestant(measured.floor_name,
                                [&] {
                                  benchmark::DoNotOptimize(measured.floor(
                                      input.data(), count, output, kScale));
                                }),
                     contestant("no statistics", unscale(false)),
                     contestant("statistics", unscale(true))});
  benchmark::ClearRegisteredBenchmarks();
  if (!speeds.ok()) return speeds.status();
  const std::vector<double>& floor = speeds->at(0);
  std::optional<double> plain_target;
  if (in_cache) plain_target = measured.plain_target;
  if (in_memory) plain_target = measured.plain_target_in_memory;
  return std::vector<Row>{
      ComparedRow(measured.name + ", no statistics" + suffix, "GB/s",
                  speeds->at(1), floor, plain_target, Goal::kAtLeast),
      ComparedRow(measured.name + ", statistics" + suffix, "GB/s",
                  speeds->at(2), floor,
                  in_cache ? measured.statistics_target : std::nullopt,
                  Goal::kAtLeast)};
}

// What the machine's memory allows.
absl::StatusOr<std::vector<Row>> MeasureFloors(std::size_t bytes,
                                               const Options& options) {
  std::vector<std::byte> from(bytes);
  Fill(ElementType::kFloat32, from);
  std::vector<std::byte> to(bytes);
  const std::string suffix = ", " + SizeName(bytes);
  const absl::StatusOr<std::vector<std::vector<double>>> speeds = Interleave(
      options.rounds,
      std::vector<std::function<absl::StatusOr<double>()>>{
          Contestant("memcpy" + suffix, bytes, options.seconds,
                     [&] { std::memcpy(to.data(), from.data(), bytes); }),
          Contestant("divide only" + suffix, bytes, options.seconds, [&] {
            DivideFloat32Only(from.data(), bytes / sizeof(float), from.data(),
                              kScale);
          })});
  benchmark::ClearRegisteredBenchmarks();
  if (!speeds.ok()) return speeds.status();
  return std::vector<Row>{
      AbsoluteRow("memcpy" + suffix, "GB/s", speeds->at(0)),
      ComparedRow("divide only, in place, to memcpy" + suffix, "GB/s",
                  speeds->at(1), speeds->at(0))};
}

void Append(std::vector<Row>& rows, std::vector<Row> more) {
  std::move(more.begin(), more.end(), std::back_inserter(rows));
}

absl::Status Run(const Options& options) {
  if (RunnableKernels().front().name != "avx2") {
    std::fputs(
        "NOTHING IS MEASURED: this processor lacks AVX2 or F16C, which the "
        "loops to compare with are written for.\n",
        stdout);
    return absl::OkStatus();
  }
  std::vector<std::size_t> sizes = {256 << 10};
  if (!options.quick) sizes.insert(sizes.end(), {64 << 20, 1 << 30});
  std::vector<Row> rows;
  for (const std::size_t bytes : sizes) {
    absl::StatusOr<std::vector<Row>> floors = MeasureFloors(bytes, options);
    if (!floors.ok()) return floors.status();
    Append(rows, *std::move(floors));
    for (const Case& measured : Cases()) {
      absl::StatusOr<std::vector<Row>> found =
          Measure(measured, bytes, options);
      if (!found.ok()) return found.status();
      Append(rows, *std::move(found));
    }
  }
  std::fputs(TableOf(rows).ToString().c_str(), stdout);
  return WriteRows(rows, options.json);
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  using lossscaler::bench::Options;
  using lossscaler::bench::Run;
  Options options;
  CLI::App app(
      "How fast gradients are unscaled in memory, on one thread, in GB/s of "
      "input: float32 and float64 beside a loop that only divides, 16 bits "
      "beside loops written by hand that divide and test.");
  app.option_defaults()->always_capture_default();
  app.add_option("--rounds", options.rounds, "Interleaved rounds")
      ->check(CLI::Range(1, 1000));
  app.add_option("--seconds", options.seconds,
                 "The least time that one loop is measured in one round")
      ->check(CLI::Range(0.001, 60.0));
  app.add_option("--json", options.json, "Write every row to this file");
  app.add_flag("--quick", options.quick,
               "One short round in the cache: whether it works, not how fast");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    options.rounds = 1;
    options.seconds = 0.005;
  }
  const absl::Status status = Run(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "kernels: %s\n", status.ToString().c_str());
  return 1;
}
