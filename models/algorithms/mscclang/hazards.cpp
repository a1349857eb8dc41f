#include <algorithm>

#include "models/algorithms/mscclang/instruction.hpp"

namespace moire::mscclang {

namespace {

// Follows the reads and writes of one rank's slots (chunks of all its buffers) in the order of the trace, and collects
// the waits that they require.
class Hazards {
 public:
  Hazards(const Code& code, Waits& waits) : code_(code), waits_(waits) {}

  void walk(std::int32_t rank) {
    const SlotRow row(code_, rank);
    writer_.assign(row.size(), nobody);
    reader_.assign(row.size(), nobody);
    readers_.clear();
    for (const Id id : code_.by_rank[static_cast<std::size_t>(rank)]) {
      const Instruction& is = code_.at(id);
      if (is.removed) continue;
      const ir::Effect effect = ir::effect(is.type);
      if (effect.reads_src) read(id, row.of(is.src));
      if (effect.reads_dst) read(id, row.of(is.dst));
      if (effect.writes_dst) write(id, row.of(is.dst));
      auto& found = waits_[static_cast<std::size_t>(id)];
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
    }
  }

 private:
  struct Reader {
    Id id = nobody;
    Id next = nobody;
  };

  void wait(Id id, Id before) {
    auto& found = waits_[static_cast<std::size_t>(id)];
    if (before != nobody && before != id && (found.empty() || found.back() != before)) found.push_back(before);
  }

  void read(Id id, std::size_t first) {
    for (std::int32_t i = 0; i < code_.at(id).count; ++i) {
      const std::size_t slot = first + static_cast<std::size_t>(i);
      wait(id, writer_[slot]);
      readers_.push_back({id, reader_[slot]});
      reader_[slot] = static_cast<Id>(readers_.size() - 1);
    }
  }

  void write(Id id, std::size_t first) {
    for (std::int32_t i = 0; i < code_.at(id).count; ++i) {
      const std::size_t slot = first + static_cast<std::size_t>(i);
      wait(id, writer_[slot]);
      for (Id r = reader_[slot]; r != nobody; r = readers_[static_cast<std::size_t>(r)].next) {
        wait(id, readers_[static_cast<std::size_t>(r)].id);
      }
      reader_[slot] = nobody;
      writer_[slot] = id;
    }
  }

  const Code& code_;
  Waits& waits_;
  std::vector<Id> writer_;  // by slot
  std::vector<Id> reader_;  // by slot: head of a list in readers_
  std::vector<Reader> readers_;
};

}  // namespace

Waits hazards(const Code& code) {
  Waits waits(code.instructions.size());
  Hazards each(code, waits);
  for (std::size_t r = 0; r < code.by_rank.size(); ++r) each.walk(static_cast<std::int32_t>(r));
  return waits;
}

}  // namespace moire::mscclang
