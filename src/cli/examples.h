// The end of each `--help`: calls to copy, and the rules of the command.
#pragma once

namespace epochbench {

inline constexpr const char* kHelp = "What does it cost, in time and money, to train this model on this CPU and on this GPU?";

inline constexpr const char* kRunExamples = R"(Examples:
  epochbench run                                        the suite `quick`
  epochbench run --model resnet20 --batch 32,128        two batch sizes
  epochbench run --model lenet5 --until accuracy=0.97   to a real accuracy, on real data
  epochbench run --model mlp:width=4096,depth=3 --threads 1,2 --steps 50
  epochbench run --model resnet50 --mode forward --batch 1    latencies, and images per second
  epochbench run --model resnet20 --without none,fusion,winograd   what each part is worth
  epochbench run --suite quick --repetitions 3 --price cpu=0.34 --out result.json
  epochbench run --suite quick --resume result.json     only what is missing
  epochbench run --suite hour --price cpu=0.34 --out hour.json   the main questions in an hour, and a page of answers

Without a stopping option (--steps, --epochs, --min-time, --until) a case runs until the interval of the median step is within
1 % or the noise has stopped falling: at least 10 steps, at most 30 s or 3 steps, whichever is longer. One of --steps, --epochs
and --min-time may be given; --until trains whole epochs, at most --epochs of them.
Exit codes: 0 done; 1 a case failed; 2 the call, a file or the data is wrong; 3 device not usable here; 130 interrupted.)";

inline constexpr const char* kSweepExamples = R"(Examples:
  epochbench sweep --model resnet20 --over batch --precision fp32,bf16 --repetitions 5
  epochbench sweep --model mlp --over width --device cpu,cuda:0 --price cpu=0.71,cuda=1.2
  epochbench sweep --model lenet5 --over samples --device cpu,cuda:0 --values 1024,8192,65536
  epochbench sweep --model bert-tiny --over threads --steps 20 --repetitions 5

Each point runs in its own process, and each repetition takes the points in a random order. A point that runs out of memory is
recorded. Over batch and threads the rate is samples per second, over width FLOPs per second, over samples that of a whole
process with its one epoch. Intervals need 5 repetitions; scaling laws need 4 numbers of threads.)";

inline constexpr const char* kListExamples = R"(Examples:
  epochbench list models
  epochbench list prices --json)";

inline constexpr const char* kInfoExamples = R"(Examples:
  epochbench info
  epochbench info --json

Measures the CPU's peaks and memory bandwidth, which takes a few seconds.)";

inline constexpr const char* kPlanExamples = R"(Examples:
  epochbench plan --model resnet20
  epochbench plan --model mlp:width=4096,depth=3 --batch 256 --json
  epochbench plan --model resnet50:height=2160,width=3840 --batch 1 --mode forward)";

inline constexpr const char* kCostExamples = R"(Examples:
  epochbench cost --purchase 2500 --lifetime 4 --power 350 --electricity 0.30 --cloud g5.xlarge
  epochbench cost result.json --purchase 900 --lifetime 5 --power 120 --idle 40 --electricity 0.30 --cloud c7i.2xlarge
  epochbench cost result.json --purchase 900 --lifetime 5 --electricity 0.30 --utilization 0.2 --cloud 0.34 --json

With a result: cost per epoch of the measured machine, owned and rented; without one: cost of hours of work. Nothing is assumed
for missing values: the answer says what is missing. A measured power draw is that of the metered parts (CPU package, GPU card),
not that of the plug; --power replaces it.)";

inline constexpr const char* kSpeedupExamples = R"(Examples:
  epochbench run --model resnet50 --device cpu,cuda:0 --precision fp32,bf16 --repetitions 5 --out both.json
  epochbench speedup both.json
  epochbench speedup cpu-box.json gpu-box.json --json   results of two machines
  epochbench speedup sweep.json --best                  each device at its own best batch

Every GPU run is paired with the CPU run of its precision and with the CPU's in fp32; 16-bit runs also with fp32 and tf32 of
their own device. An interval needs 5 repetitions per side. Notes say what makes a pair unfair.
Exit codes: 0 done; 2 a file is not a result, or no two runs can be paired.)";

inline constexpr const char* kClaimsExamples = R"(Examples:
  epochbench run --suite claims --out claims.json        what this machine can measure, within 15 minutes
  epochbench claims claims.json                          a verdict on each claim, or why there is none
  epochbench claims cpu.json gpu.json --strict --json
  epochbench claims                                      the claims, their origins and their experiments

A verdict compares the measured 95 % interval with the claimed one: reproduced (inside), exceeded, not reproduced, undecided
(across a bound, or no interval), or not testable here. A claim of several parts is as good as the worst of those that could
be tested; the others are named.
Exit codes: 0 done, whatever the verdicts; 1 with --strict, a claim is not reproduced; 2 the call or a file is wrong.)";

inline constexpr const char* kExportExamples = R"(Examples:
  epochbench export result.json --format csv -o runs.csv
  epochbench export result.json --format csv --raw > steps.csv
  epochbench export result.json --format markdown >> "$GITHUB_STEP_SUMMARY"
  epochbench export result.json --format openmetrics -o /var/lib/node_exporter/epochbench.prom
  epochbench export result.json --format mlflow -o mlruns/      a tracking store that MLflow opens

Runs that a format has no place for are named on stderr, with the reason. Unknown values are left out, never 0.
In csv a text that begins with = + - @, a tab or a carriage return gets a leading ', since a spreadsheet would run it.
Exit codes: 0 done; 2 the call or the file is wrong, or the format has no place for any of its runs.)";

inline constexpr const char* kCompareExamples = R"(Examples:
  epochbench run --suite quick --repetitions 15 --out new.json
  epochbench compare baseline.json new.json               on a quiet machine: is the new side slower by 3 % or more?
  epochbench compare main/ branch/ --threshold 5 --json   folders of results
  epochbench compare baseline.json new.json --github      annotations and a job summary for GitHub Actions
  epochbench compare --interleave old/epochbench new/epochbench --suite gate -o turns.json    also on a shared machine
  epochbench compare --history nightly/                   the commits at which many results changed their level; advisory

Files need 5 or more repetitions per side, of one machine, compiler, build type and number of threads, and other processes
that took less than 0.15 cores. Otherwise the answer is inconclusive, with the reason and with what would decide.
With --interleave both binaries are alive at once and take turns, step by step, in a random order, so other jobs affect both
alike: 10 pairs of processes per case, and up to --max-pairs if those do not decide. A pair takes 20 timed rounds of one step
each, or of as many as fill 50 ms; the stopping options of a suite's cases have no effect.
Exit codes: 0 no change or faster; 1 slower, missing, no longer ok, or more than 10 % more memory; 2 the call, a file or a
binary is wrong; 3 the device is not usable here; 4 inconclusive; 130 interrupted.)";

inline constexpr const char* kAnswersExamples = R"(Examples:
  epochbench answers hour.json
  epochbench answers hour.json --json)";

inline constexpr const char* kReportExamples = R"(Examples:
  epochbench report result.json -o result.html
  epochbench report cpu-box.json gpu-box.json -o both.html   two machines on one page
  epochbench report nightly/ -o nightly.html                 many dated results, with their history
  epochbench report turns.json -o turns.html                 what `compare --interleave -o turns.json` measured

The page is one file that opens from disk and fetches nothing: tables that sort, charts with their intervals, claims with their
verdicts. It contains the names of the result files without their folders, and what the results contain: host name, command
lines and the folder of a data set that was read from one (idx:DIR). Results made with --anonymous have none of these.)";

}  // namespace epochbench
