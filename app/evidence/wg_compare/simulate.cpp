#include "app/evidence/wg_compare/simulate.hpp"

#include <cstring>
#include <type_traits>

#include "app/evidence/wg_compare/recorder.hpp"
#include "app/study/child.hpp"
#include "app/study/prepare.hpp"
#include "app/study/simulate.hpp"
#include "sim/core/invariant.hpp"

namespace moire::wg_compare {

namespace {

// Between the processes, which are the same program on the same machine: plain memory.
class Packer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  void put(const std::string& text) {
    put(text.size());
    append(text.data(), text.size());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  std::string bytes;

 private:
  void append(const void* from, std::size_t size) { bytes.append(static_cast<const char*>(from), size); }
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  void get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    take(&value, sizeof value);
  }
  void get(std::string& text) {
    text.resize(size());
    take(text.data(), text.size());
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(size());
    for (T& value : values) get(value);
  }

 private:
  std::size_t size() {
    std::size_t size = 0;
    get(size);
    MOIRE_INVARIANT(size <= bytes_.size(), "a record says a size that it has not");
    return size;
  }
  void take(void* to, std::size_t size) {
    MOIRE_INVARIANT(at_ + size <= bytes_.size(), "a record ends early");
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

// One list for both directions.
template <class Each>
void each_field(Recorded& recorded, bool& there, Record& record, const Each& each) {
  each(recorded.deadlock);
  each(recorded.kernels);
  each(there);
  each(record.kernel);
  each(record.ranks);
  each(record.workgroups_per_rank);
  each(record.makespan);
  each(record.knows_arrivals);
  each(record.tasks);
  each(record.stores);
}

std::string packed(Recorded recorded) {
  bool there = recorded.record.has_value();
  Record record = there ? std::move(*recorded.record) : Record{};
  Packer packer;
  each_field(recorded, there, record, [&](const auto& field) { packer.put(field); });
  return std::move(packer.bytes);
}

Recorded unpacked(const std::string& bytes) {
  Recorded recorded;
  bool there = false;
  Record record;
  Unpacker unpacker(bytes);
  each_field(recorded, there, record, [&](auto& field) { unpacker.get(field); });
  if (there) recorded.record = std::move(record);
  return recorded;
}

std::string simulate_packed(const study::Scenario& scenario, const study::Run& run, const std::string& kernel) {
  config::Diagnostics diagnostics;
  const auto prepared = prepare(scenario, run, diagnostics);
  MOIRE_INVARIANT(prepared.has_value(), "a checked run was refused: " + diagnostics.str());
  Recorder recorder(prepared->program->ranks());
  Recorded recorded;
  recorded.deadlock = simulate(*prepared, &recorder).deadlock;
  recorded.kernels = recorder.kernels();
  if (recorded.deadlock.empty()) recorded.record = recorder.record(kernel);
  return packed(std::move(recorded));
}

}  // namespace

Recorded simulate_recorded(const study::Scenario& scenario, const study::Run& run, const std::string& kernel) {
  return unpacked(study::run_in_child([&] { return simulate_packed(scenario, run, kernel); }, [] {}).text);
}

}  // namespace moire::wg_compare
