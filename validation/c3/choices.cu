// Times NCCL's collectives alone, at four sizes per factor of two: with NCCL's own choice, and with prescribed
// algorithms and protocols. Writes a table with one row per collective, choice and size
// (validation/h200x2/nccl_choice.csv). It shows where NCCL's choice is not the fastest one, and where more bytes take
// less time.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cast.hpp"
#include "harness.hpp"
#include "provenance.hpp"

namespace {

constexpr int kRounds = 31;
constexpr int64_t kLeastBytes = 4096, kMostBytes = int64_t{64} << 20;

struct Choice {
  const char* name;
  const char *algorithm, *protocol;  // values of NCCL_ALGO and NCCL_PROTO; null: NCCL chooses
};
constexpr Choice kChoices[] = {{"auto", nullptr, nullptr},
                               {"ll", "RING", "LL"},
                               {"ll128", "RING", "LL128"},
                               {"simple", "RING", "SIMPLE"}};

// Sets or unsets an environment variable of NCCL. NCCL reads these variables when a communicator is made.
void prescribe(const char* variable, const char* value) {
  if (value == nullptr)
    unsetenv(variable);
  else
    setenv(variable, value, 1);
}

double at(const std::vector<double>& sorted, double share) { return sorted[size_t(share * double(sorted.size() - 1))]; }

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "c3_choices", 0);
  require_even_shares(c.gpus());
  NcclGroup::configure(c.option("--nccl-direct", "0") == "1");
  const int gpus = c.gpus();
  write_provenance(c.file(), gpus, "validation/c3/run.sh --gpus " + std::to_string(gpus) + " --only choices");
  std::fprintf(c.file(), "# nccl: %s\ncollective,choice,bytes_per_rank,operation,us,low_us,high_us\n",
               NcclGroup::version().c_str());
  const CollectiveMemory memory(gpus, kMostBytes);
  Stage stage(gpus, c.sms());
  for (const Choice& choice : kChoices) {
    prescribe("NCCL_ALGO", choice.algorithm);
    prescribe("NCCL_PROTO", choice.protocol);
    const std::unique_ptr<NcclGroup> group = NcclGroup::create(gpus, 0);
    for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter}) {
      // Four sizes per factor of two: a power of two times 1, 1.19, 1.41 and 1.69, rounded to multiples of 32 bytes.
      for (int64_t octave = kLeastBytes; octave <= kMostBytes; octave *= 2)
        for (const int64_t hundredths : {100, 119, 141, 169}) {
          const int64_t bytes = octave * hundredths / 100 / 32 * 32;
          if (bytes > kMostBytes) break;
          const auto collective = group->collective(memory, kind, bytes);
          collective->poison();
          stage.warm(*collective);
          collective->verify(choice.name);
          std::vector<double> us = repeat(
              [&](int) { return stage.run(nullptr, collective.get(), First::comm, false).comm_us; }, kRounds);
          std::sort(us.begin(), us.end());
          std::string keys = "bytes_per_rank: " + std::to_string(bytes) + " B";
          if (choice.protocol != nullptr) keys += std::string(", algorithm: ring, protocol: ") + choice.name;
          std::fprintf(c.file(), "%s,%s,%lld,\"[{%s: {%s}}]\",%.3f,%.3f,%.3f\n", name_of(kind).c_str(), choice.name,
                       static_cast<long long>(bytes), name_of(kind).c_str(), keys.c_str(), at(us, 0.5), at(us, 0.1),
                       at(us, 0.9));
          std::fflush(c.file());
        }
    }
  }
  return 0;
}
