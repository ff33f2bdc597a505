// The page of answers, of constructed results: what each section says, why one has no answer, and that a page stays a page.
#include "src/report/answers/answers_page.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/made_settings.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

enum Section { kSpeed, kUtilization, kPrecision, kCost, kBatch, kInput };

// A run of resnet50 on synthetic data; `rate` in samples per second.
Run run_of(const std::string& backend, const std::string& precision, std::int64_t batch, double rate, int repetition = 0) {
  Run run;
  rename(run, "resnet50/" + backend + "/" + precision + "/b" + std::to_string(batch));
  run.repetition = repetition;
  run.workload.model = "resnet50";
  run.workload.mode = Mode::train;
  run.workload.fingerprint = "f" + std::to_string(batch);
  run.workload.batch = batch;
  run.workload.dataset = "synthetic";
  run.workload.samples_per_epoch = 3600;
  run.workload.optimizer = "sgd";
  run.device = {from_name<BackendKind>(backend).value(), backend == "cpu" ? "Some CPU" : "Some GPU", std::nullopt,
                std::nullopt};
  if (backend == "cpu") run.device.threads = 2;
  run.precision = from_name<Precision>(precision).value();
  run.timing = Timing{};
  run.timing->step_seconds.assign(10, static_cast<double>(batch) / rate);
  run.timing->step_seconds_median = static_cast<double>(batch) / rate;
  run.timing->steps_total_seconds = 10 * static_cast<double>(batch) / rate;
  run.timing->epoch_seconds = 3600 / rate;
  run.timing->epoch_kind = EpochKind::projected;
  run.timing->wall_seconds = 20;
  run.throughput = Throughput{rate, std::nullopt};
  run.efficiency = Efficiency{1e9, 0.8, 0.0, backend == "cpu" ? std::nullopt : std::optional(0.95)};
  run.quality = Quality{};
  run.energy = Energy{};
  return run;
}

NamedResult named_result(std::vector<Run> runs) {
  NamedResult named;
  named.path = "hour.json";
  named.result.context.date = "2026-01-02T03:04:05Z";
  named.result.context.cpu.model = "Some CPU";
  named.result.runs = std::move(runs);
  return named;
}

// Five processes a side, 1 % apart: the CPU at 10 samples/s, at 16 in bf16, the GPU at 100 and 250.
std::vector<Run> both_devices() {
  std::vector<Run> runs;
  for (int repetition = 0; repetition < 5; ++repetition)
    for (const auto& [backend, precision, rate] :
         {std::tuple("cpu", "fp32", 10.0), {"cpu", "bf16", 16.0}, {"cuda", "fp32", 100.0}, {"cuda", "bf16", 250.0}}) {
      runs.push_back(run_of(backend, precision, 32, rate * (1 + 0.01 * repetition), repetition));
      runs.back().cost = Cost{backend == std::string("cpu") ? 1.0 : 2.0, {}, {}, "user"};
      runs.back().cost->usd_per_epoch = *runs.back().cost->usd_per_hour * runs.back().timing->epoch_seconds / 3600;
    }
  return runs;
}

// PyTorch's on both devices: half as fast on the GPU, and four fifths as fast on the CPU.
std::vector<Run> with_pytorch(std::vector<Run> runs) {
  for (const Run& ours : std::vector<Run>(runs)) {
    const bool on_gpu = ours.device.backend == BackendKind::cuda;
    const double factor = on_gpu ? 0.5 : 0.8;
    Run& run = runs.emplace_back(
        run_of("pytorch", name(ours.precision), 32, factor * ours.throughput->samples_per_second, ours.repetition));
    rename(run, run.name + (on_gpu ? "/compile=default/device=cuda:0" : "/compile=default"));
    run.device.name = ours.device.name;
    run.device.threads = ours.device.threads;
    run.device.versions = {{"torch", "2.9"}, {"memory_format", "channels_last"}, {"attention", std::nullopt}};
  }
  return runs;
}

TEST(AnswerSections, SaySpeedBesidePyTorchOnBothDevices) {
  const AnswerSection speed = answer_sections(named_result(with_pytorch(both_devices())))[kSpeed];
  EXPECT_THAT(speed.answers.front(),
              AllOf(HasSubstr("resnet50 b32, cuda bf16 over cpu bf16: this program 15.6x ("), HasSubstr("; PyTorch 9.77x (")));
  EXPECT_THAT(speed.answers, Contains(AllOf(HasSubstr("resnet50/cpu/fp32/b32"), HasSubstr(": this program trains 1.25x ("),
                                            HasSubstr("(PyTorch 2.9, torch.compile, channels_last)"))));
  EXPECT_THAT(speed.answers, Contains(AllOf(HasSubstr("resnet50/cuda/bf16/b32"), HasSubstr(": this program trains 2.00x ("))));
  EXPECT_THAT(speed.answers, Not(Contains(HasSubstr("not measured"))));
}

TEST(AnswerSections, SaySpeedOfPyTorchAlone) {
  std::vector<epochbench::Run> runs = with_pytorch(both_devices());
  std::erase_if(runs, [](const epochbench::Run& run) { return run.device.backend != BackendKind::pytorch; });
  const AnswerSection speed = answer_sections(named_result(runs))[kSpeed];
  EXPECT_THAT(speed.answers,
              Contains(AllOf(HasSubstr("pytorch compile=default, GPU fp32 over CPU fp32: 6.25x ("), HasSubstr(" to "))));
}

TEST(AnswerSections, SayThatPyTorchWasNotMeasured) {
  const AnswerSection speed = answer_sections(named_result(both_devices()))[kSpeed];
  EXPECT_THAT(speed.answers, Contains("PyTorch was not measured: epochbench run resnet50 --with pytorch"));
}

TEST(AnswerSections, SaySpeedWithItsInterval) {
  const AnswerSection speed = answer_sections(named_result(both_devices()))[kSpeed];
  EXPECT_THAT(speed.answers, Contains(AllOf(HasSubstr("resnet50 b32, cuda fp32 over cpu fp32: 10.0x ("), HasSubstr(" to "))));
  EXPECT_THAT(speed.answers, Contains(HasSubstr("cuda bf16 over cpu bf16: 15.6x (")));
  EXPECT_THAT(speed.answers, Not(Contains(HasSubstr("cuda bf16 over cpu fp32")))) << "not the CPU at its fastest";
  EXPECT_THAT(speed.read, HasSubstr("95 % interval over processes of this session"));
}

TEST(AnswerSections, BeginWithEachDeviceAtItsBestAndNameBothPrecisionsAndBatches) {
  std::vector<epochbench::Run> runs = both_devices();
  for (const auto& [precision, rate] : {std::pair("tf32", 150.0), std::pair("fp16", 260.0)})
    runs.push_back(run_of("cuda", precision, 32, rate));
  runs.push_back(run_of("cuda", "fp16", 256, 640));
  const AnswerSection speed = answer_sections(named_result(runs))[kSpeed];
  const auto starts = [](const std::string& text) { return testing::StartsWith("resnet50" + text); };
  EXPECT_EQ(speed.question, "How much faster is the GPU, each at its best?");
  EXPECT_THAT(speed.answers,
              ElementsAre(starts(", cuda fp16 b256 over cpu bf16 b32: 39.2x"), starts(" b32, cuda fp32 over cpu fp32: 10.0x"),
                          starts(" b32, cuda tf32 over cpu fp32: 14.7x"), starts(" b32, cuda bf16 over cpu bf16: 15.6x"),
                          HasSubstr("PyTorch was not measured")));
}

TEST(AnswerSections, LeaveOutWhatWasRestrictedOnPurpose) {
  std::vector<epochbench::Run> runs = both_devices();
  for (epochbench::Run run : both_devices()) {
    rename(run, run.name + "/without=fusion");
    run.throughput->samples_per_second /= 2;
    runs.push_back(run);
  }
  const auto whole = answer_sections(named_result(both_devices())), more = answer_sections(named_result(runs));
  EXPECT_EQ(more[kSpeed].answers, whole[kSpeed].answers);
  EXPECT_EQ(more[kPrecision].answers, whole[kPrecision].answers);
}

TEST(AnswerSections, SayWhyThereIsNoInterval) {
  const auto sections = answer_sections(named_result({run_of("cpu", "fp32", 32, 10), run_of("cuda", "fp32", 32, 100)}));
  EXPECT_THAT(sections[kSpeed].answers, Contains(HasSubstr("10.0x (no interval: ")));
}

TEST(AnswerSections, GiveTheCpusHalfWithoutAGpu) {
  epochbench::Run skipped = run_of("cuda", "fp32", 32, 1);
  skipped.status = RunStatus::skipped;
  skipped.timing.reset();
  skipped.throughput.reset();
  skipped.message = "no NVIDIA driver";
  const auto sections = answer_sections(named_result({run_of("cpu", "fp32", 32, 10), run_of("cpu", "bf16", 32, 16), skipped}));
  EXPECT_EQ(sections[kSpeed].answers.front(), "no run on a GPU: no NVIDIA driver");
  EXPECT_THAT(sections[kSpeed].answers, Contains("resnet50/cpu/fp32/b32: 10.0 samples/s, an epoch in 6 min 0 s (projected)"));
  EXPECT_THAT(sections[kSpeed].read, HasSubstr("a GPU would show"));
}

TEST(AnswerSections, GiveTheGpusHalfOfAnotherFramework) {
  epochbench::Run run = run_of("pytorch", "bf16", 256, 1000);
  run.device.threads.reset();  // as its runs on a GPU
  const auto sections = answer_sections(named_result({run}));
  EXPECT_THAT(sections[kSpeed].answers.front(), HasSubstr("no run on a GPU has a partner on the CPU"));
  EXPECT_THAT(sections[kSpeed].read, HasSubstr("this is the GPU's half"));
}

TEST(AnswerSections, SayHowBusyADeviceWasAndWhatItDrew) {
  std::vector<epochbench::Run> runs = both_devices();
  auto section = answer_sections(named_result(runs))[kUtilization];
  EXPECT_THAT(section.answers, Contains("resnet50/cpu/fp32/b32: 80.0 % of the measured peak"));
  EXPECT_THAT(section.answers, Contains(HasSubstr("resnet50/cuda/bf16/b32: 80.0 % of the measured peak, busy 95.0 %")));
  EXPECT_THAT(section.answers, Contains(HasSubstr("no meter could be read")));
  for (epochbench::Run& run : runs) run.energy->average_watts = 150;
  for (epochbench::Run& run : runs) run.energy->source = EnergySource::rapl;
  section = answer_sections(named_result(runs))[kUtilization];
  EXPECT_THAT(section.answers, Contains(HasSubstr("150 W (rapl)")));
  EXPECT_THAT(section.answers, Each(Not(HasSubstr("no meter"))));
}

// A host without a meter: the card's part is known, and the reason why the other is not stands there.
TEST(AnswerSections, SayWhatACardDrewWhoseHostHasNoMeter) {
  std::vector<epochbench::Run> runs = both_devices();
  for (epochbench::Run& run : runs) {
    run.energy->reason = "CPU: the counters cannot be read";
    if (run.device.backend == BackendKind::cpu) continue;
    run.energy->source = EnergySource::nvml;
    run.energy->gpu_average_watts = 700 + run.repetition;
    run.energy->gpu_joules_per_epoch = 25'000;
  }
  auto section = answer_sections(named_result(runs))[kUtilization];
  EXPECT_THAT(section.answers, Contains(HasSubstr("cuda/bf16/b32: 80.0 % of the measured peak, busy 95.0 % of the time, "
                                                  "GPU alone 702 W (nvml), 25.0 kJ per epoch")));
  EXPECT_THAT(section.answers, Contains("power not known of 20 runs: CPU: the counters cannot be read"));
  for (epochbench::Run& run : runs) {
    if (run.device.backend == BackendKind::cpu) continue;
    run.energy->source = EnergySource::rapl_and_nvml;
    run.energy->cpu_average_watts = 100;
    run.energy->average_watts = *run.energy->gpu_average_watts + 100;
    run.energy->reason.reset();
  }
  section = answer_sections(named_result(runs))[kUtilization];
  EXPECT_THAT(section.answers, Contains(HasSubstr("802 W (CPU 100 W, GPU 702 W; rapl+nvml)")));
  EXPECT_THAT(section.answers, Contains("power not known of 10 runs: CPU: the counters cannot be read"));
}

// Samples per second, epoch, cost and share of the peak are of one estimator.
TEST(AnswerSections, SpeakOfTheGeometricMeanWithItsSpread) {
  std::vector<epochbench::Run> runs;
  for (const double rate : {5.0, 20.0, 10.0}) {
    runs.push_back(run_of("cpu", "fp32", 32, rate, static_cast<int>(runs.size())));
    runs.back().cost = Cost{1.0, runs.back().timing->epoch_seconds / 3600, {}, "user"};
    runs.back().efficiency->peak_fraction = rate / 20;
  }
  const auto sections = answer_sections(named_result(runs));
  EXPECT_THAT(sections[kSpeed].answers,
              Contains("resnet50/cpu/fp32/b32 †: 10.0 samples/s (range 5.00 to 20.0, 3 runs), an epoch "
                       "in 6 min 0 s (projected)"));
  EXPECT_THAT(sections[kUtilization].answers, Contains("resnet50/cpu/fp32/b32 †: 50.0 % of the measured peak"));
  EXPECT_THAT(sections[kCost].answers,
              Contains("resnet50/cpu/fp32/b32 †: $0.100 per epoch (range $0.0500 to $0.200, 3 runs), projected"));
}

TEST(AnswerSections, NameTheWholeBesideAShareAndTheFirstEpoch) {
  std::vector<epochbench::Run> runs{run_of("cpu", "fp32", 32, 10)};
  const double epoch = runs[0].timing->epoch_seconds;
  runs[0].timing->compile_seconds = epoch;
  runs[0].cost = Cost{1.0, epoch / 3600, {}, "catalog: aws c7a.4xlarge us-east-1 2026-01-19, price for 16 cores, 2 used"};
  const AnswerSection section = answer_sections(named_result(runs))[kCost];
  EXPECT_THAT(section.answers,
              Contains("resnet50/cpu/fp32/b32: $0.100 per epoch, projected, for the first $0.200, for the whole "
                       "instance $0.800"));
  EXPECT_THAT(section.answers,
              Contains("price: catalog: aws c7a.4xlarge us-east-1 2026-01-19, hypothetical price for 16 cores, 2 "
                       "used; rented only whole, for $8.00 per hour"));
}

TEST(AnswerSections, SayWhatPrecisionBringsAndCosts) {
  std::vector<epochbench::Run> runs = both_devices();
  for (int seed = 0; seed < 5; ++seed)
    for (const std::string precision : {"fp32", "bf16"}) {
      epochbench::Run run = run_of("cpu", precision, 64, 1000);
      rename(run, "lenet5/cpu/" + precision + "/b64" + (seed ? "/seed=" + std::to_string(seed) : ""));
      run.workload.fingerprint = "lenet5";
      run.workload.dataset = "digits";
      run.workload.seed = static_cast<std::uint64_t>(seed);
      run.timing->stopped_by = StopReason::epochs;
      run.quality->eval_metric = EvalMetric::accuracy;
      run.quality->eval_history = {0.9 + (precision == "bf16" ? -0.01 + 0.001 * seed : 0)};
      runs.push_back(run);
    }
  const AnswerSection section = answer_sections(named_result(runs))[kPrecision];
  EXPECT_THAT(section.answers, Contains(HasSubstr("cpu, bf16 over fp32: 1.60x (")));
  EXPECT_THAT(section.answers, Contains(HasSubstr("cuda, bf16 over fp32: 2.50x (")));
  EXPECT_THAT(section.answers,
              Contains(AllOf(HasSubstr("lenet5/cpu/b64, bf16 less fp32: accuracy -0.80 points (-1.0 to -0.60)"),
                             HasSubstr("5 seeds, 1 epochs"))));
}

// Trainings to a target alone, on real data: their own speeds, and how much sooner a precision reaches the target.
TEST(AnswerSections, OfTrainingsToATargetSayHowSoonTheyReachIt) {
  std::vector<epochbench::Run> runs;
  for (int repetition = 0; repetition < 6; ++repetition)
    for (const std::string precision : {"fp32", "bf16"}) {
      epochbench::Run run = run_of("cpu", precision, 64, precision == "fp32" ? 1000 : 1500, repetition);
      run.settings["until"] = std::string("accuracy=0.97");
      run.workload.dataset = "digits";
      run.workload.seed = static_cast<std::uint64_t>(repetition);
      run.timing->stopped_by = StopReason::until;
      run.timing->training_seconds = precision == "fp32" ? 20 + repetition : 10 + 0.5 * repetition;
      run.timing->epoch_kind = EpochKind::measured;
      run.quality->eval_metric = EvalMetric::accuracy;
      run.quality->eval_value = 0.972;
      runs.push_back(run);
    }
  const std::vector<AnswerSection> sections = answer_sections(named_result(runs));
  EXPECT_THAT(sections[kSpeed].answers, Contains(AllOf(HasSubstr("cpu/bf16/b64"), HasSubstr("1,500 samples/s"))));
  EXPECT_THAT(sections[kSpeed].read, HasSubstr("on real data"));
  EXPECT_THAT(sections[kUtilization].answers, Contains(HasSubstr("80.0 % of the measured peak")));
  EXPECT_THAT(sections[kPrecision].answers,
              Contains(AllOf(HasSubstr("cpu, bf16 over fp32: 2.00x (2.00 to 2.00)"), HasSubstr(" as soon at accuracy=0.97"))));
  EXPECT_THAT(sections[kCost].answers, Contains(HasSubstr("(97.2 %) in 6 of 6 repetitions, after 22.5 s, the median")));
}

TEST(AnswerSections, SayTheCostOrThatNoPriceIsKnown) {
  const AnswerSection section = answer_sections(named_result(both_devices()))[kCost];
  EXPECT_THAT(section.answers, Contains(HasSubstr("resnet50 b32, cuda fp32 over cpu fp32: on the CPU an epoch costs 5.00x (")));
  EXPECT_THAT(section.answers, Contains("price: given with --price"));
  std::vector<epochbench::Run> runs{run_of("cpu", "fp32", 32, 10)};
  runs[0].timing->stopped_by = StopReason::until;
  runs[0].quality->eval_metric = EvalMetric::accuracy;
  runs[0].quality->eval_value = 0.97;
  const AnswerSection unpriced = answer_sections(named_result(runs))[kCost];
  EXPECT_THAT(unpriced.answers, Contains(HasSubstr("no price is known")));
  EXPECT_THAT(unpriced.answers, Contains(HasSubstr("reached accuracy 97.0 % after 20.0 s")));
}

TEST(AnswerSections, SayFromWhichBatchTheCurveIsFlat) {
  std::vector<epochbench::Run> runs;
  for (int repetition = 0; repetition < 5; ++repetition)
    for (const auto& [batch, rate] : {std::pair(8, 50.0), {16, 80.0}, {32, 98.0}, {64, 100.0}})
      runs.push_back(run_of("cpu", "fp32", batch, rate * (1 + 0.001 * repetition), repetition));
  const AnswerSection section = answer_sections(named_result(runs))[kBatch];
  EXPECT_THAT(section.answers,
              Contains(AllOf(HasSubstr("resnet50/cpu/fp32: best at batch 64"), HasSubstr("flat from batch 32"))));
  EXPECT_THAT(answer_sections(named_result(both_devices()))[kBatch].answers,
              Contains(HasSubstr("no answer: nothing ran at 3")));
}

TEST(AnswerSections, SayWhetherTheInputIsFastEnough) {
  std::vector<epochbench::Run> runs;
  for (const auto& [name, waits, rate] :
       {std::tuple("/decode-cost=0.001/loader-threads=0", 0.6, 40.0), {"/cache=decoded/decode-cost=0.001", 0.01, 100.0}}) {
    epochbench::Run run = run_of("cpu", "fp32", 32, rate);
    rename(run, run.name + std::string("/data=digits") + name);
    run.workload.dataset = "digits";
    run.input = Input{};
    run.input->decode_cost_seconds = 0.001;
    run.input->loader_threads = waits > 0.5 ? 0 : 1;
    run.input->cache = waits > 0.5 ? Cache::none : Cache::decoded;
    run.efficiency->data_wait_fraction = waits;
    runs.push_back(run);
  }
  const AnswerSection section = answer_sections(named_result(runs))[kInput];
  EXPECT_THAT(section.answers, Contains(AllOf(HasSubstr("no loader thread: busy 40.0 %"),
                                              HasSubstr("decoded data: busy 99.0 %"), HasSubstr("2.50x"))));
  EXPECT_THAT(section.read, AllOf(HasSubstr("70.0 %"), HasSubstr("90.0 %")));
}

TEST(AnswerSections, SayWhatPartsAndThreadsAreWorthWhereTheyRan) {
  std::vector<epochbench::Run> runs;
  for (const auto& [settings, rate] :
       {std::pair("", 40.0), {"/kernels=portable", 10.0}, {"/without=fusion", 32.0}, {"/threads=1", 25.0}}) {
    runs.push_back(run_of("cpu", "fp32", 32, rate));
    rename(runs.back(), runs.back().name + settings);
    if (std::string(settings) == "/threads=1") runs.back().device.threads = 1;
  }
  const std::vector<AnswerSection> sections = answer_sections(named_result(runs));
  ASSERT_EQ(sections.size(), 8u);
  EXPECT_EQ(sections[6].question, "What is each part worth, and the kernels for this CPU?");
  EXPECT_THAT(sections[6].answers, ElementsAre(HasSubstr("resnet50/cpu/fp32/b32, best kernels over portable ones: 4.00x"),
                                               HasSubstr("resnet50/cpu/fp32/b32, complete over without fusion: 1.25x")));
  EXPECT_EQ(sections[7].question, "How much faster with more threads?");
  EXPECT_THAT(sections[7].answers, ElementsAre(HasSubstr("resnet50/cpu/fp32/b32, 2 threads over 1 thread: 1.60x")));
}

TEST(AnswersPage, OfAResultWithNothingSaysWhyInEverySection) {
  epochbench::Run failed = run_of("cpu", "fp32", 32, 1);
  failed.status = RunStatus::failed;
  failed.timing.reset();
  failed.throughput.reset();
  failed.message = "killed";
  for (const auto& runs : {std::vector<epochbench::Run>{}, {failed}}) {
    const NamedResult named = named_result(runs);
    const auto sections = answer_sections(named);
    ASSERT_EQ(sections.size(), 6u);
    for (const AnswerSection& section : sections) {
      ASSERT_FALSE(section.answers.empty()) << section.question;
      EXPECT_FALSE(section.read.empty()) << section.question;
      EXPECT_THAT(section.answers.front(), AnyOf(HasSubstr("no run"), HasSubstr("no answer")));
    }
  }
  EXPECT_THAT(answers_page(named_result({failed})), HasSubstr("Not measured\n   1 run: killed\n"));
}

TEST(AnswersPage, IsAPageWhateverTheResultHolds) {
  std::vector<epochbench::Run> runs;
  for (int work = 0; work < 40; ++work) {
    for (epochbench::Run run : both_devices()) {
      run.workload.fingerprint = "f" + std::to_string(work);
      run.workload.model = "model" + std::to_string(work);
      run.name.replace(0, 8, run.workload.model);
      runs.push_back(run);
    }
    runs.push_back(run_of("cpu", "fp32", 1, 1));
    runs.back().status = RunStatus::failed;
    runs.back().message = "reason " + std::to_string(work);
  }
  const std::string page = answers_page(named_result(runs));
  EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 60);
  EXPECT_THAT(page, AllOf(HasSubstr("1. How much faster"),
                          HasSubstr("Not answered: Up to which batch does throughput rise? Is the input fast enough?"),
                          HasSubstr(" more (epochbench answers")));
}

TEST(AnswersPage, KeepsToAHundredColumns) {
  std::vector<epochbench::Run> runs = both_devices();
  std::string sentence = "the meter";
  for (int i = 0; i < 200; ++i) sentence += " cannot be read";
  for (epochbench::Run& run : runs) run.energy->reason = sentence;
  runs.push_back(run_of("cpu", "fp32", 1, 1));
  runs.back().status = RunStatus::failed;
  runs.back().message = sentence;
  NamedResult named = named_result(runs);
  named.result.context.cpu.model = sentence;
  const std::string page = answers_page(named);
  EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 60);
  std::size_t longest = 0;
  for (std::size_t begin = 0, end = page.find('\n'); end != std::string::npos; begin = end + 1, end = page.find('\n', begin))
    longest = std::max(longest, end - begin);
  EXPECT_LE(longest, 100u);
  EXPECT_GT(longest, 90u);
  EXPECT_THAT(page, HasSubstr(" ...\n"));
  EXPECT_THAT(print_json(answers_json(named)), HasSubstr(sentence)) << "all of it is in the JSON";
}

TEST(AnswersPage, HasNoNumberThatIsNone) {
  epochbench::Run odd = run_of("cpu", "fp32", 32, 10);
  odd.throughput->samples_per_second = 0;
  odd.timing->epoch_seconds = 1e308;
  odd.timing->step_seconds.clear();
  odd.efficiency.reset();
  odd.energy.reset();
  odd.quality.reset();
  odd.cost = Cost{};
  for (const std::string& text : {answers_page(named_result({odd})), print_json(answers_json(named_result({odd})))})
    EXPECT_THAT(text, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf ")), Not(HasSubstr("-nan"))));
}

}  // namespace
}  // namespace epochbench
