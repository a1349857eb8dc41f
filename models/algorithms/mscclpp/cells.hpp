// The cells of memory while a plan runs. A cell is a slice of a chunk (memory.hpp). This file keeps what each cell
// holds and who accessed it last. It reports accesses that nothing orders, reads of cells that nothing has written, and
// output that is not what the collective requires.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/algorithms/mscclpp/agents.hpp"
#include "models/algorithms/mscclpp/faults.hpp"
#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

// How the threads of a block divide a run (consecutive slices of an operand) among them.
enum class Grain : std::uint8_t {
  vector,  // in turn, each thread takes 16 bytes
  packet,  // in turn, each thread takes the payload of a packet
  whole,   // a proxy takes the whole run
};

struct Access {
  std::uint32_t agent = 0;
  std::uint32_t time = 0;
  std::uint32_t site = 0;    // from Cells::add_site(), equal for all accesses of one operation
  std::uint32_t offset = 0;  // of the cell within its run
  std::uint32_t length = 0;  // of the run
  Grain grain = Grain::whole;
};

class Cells {
 public:
  // At the start, the input cells hold the user's data.
  Cells(const Plan& plan, const Layout& layout, const Agents& agents, Faults& faults);

  // Adds an operation that is going to access cells.
  std::uint32_t add_site(const Site& site);

  // Returns the input cells whose sum the cell holds, sorted.
  const std::vector<std::uint32_t>& sum(std::size_t cell) const { return cells_[cell].sum; }
  bool has_packet(std::size_t cell) const { return cells_[cell].packet_writes > 0; }

  // Record an access of a cell and report its faults. `known` is what the agent knows. `over` has the accesses that are
  // over according to the flags of the packets that the operation has read for the same slice. `packet`: the agent
  // waits for the flag of a packet that it reads, or writes a packet.
  //
  // read() returns the accesses that the flag of the packet shows to be over; an empty clock if no flag shows any.
  Clock read(std::size_t cell, const Access& access, const Knowledge& known, const Clock& over, bool packet);
  void write(std::size_t cell, const Access& access, const Knowledge& known, const Clock& over,
             const std::vector<std::uint32_t>& sum, bool packet);

  // When the call of a GPU ends, the user may read and overwrite the GPU's input and output. Reports accesses that may
  // not be over by then. ends[g] is what the thread blocks of GPU g know together at their ends.
  void check_ends(const std::vector<Knowledge>& ends);

  // Reports output that does not hold what the collective requires.
  void check_result();

 private:
  struct Cell {
    std::vector<std::uint32_t> sum;
    bool written = false;
    std::uint32_t packet_writes = 0;  // from the second on, flags do not tell, because all have the same value
    Access write;
    std::vector<Access> reads;  // since the last write
    Clock over;                 // of packets: the accesses that their sender knew to be over
  };

  std::string name(const Site& site) const { return name_of(plan_, site); }
  bool is_before(const Access& earlier, const Access& later, const Clock& known) const;
  void check_begun(std::size_t cell, const Access& access, const Knowledge& known, const Clock& over, const char* verb);
  void conflict(const Access& earlier, const Access& later, std::size_t cell, const char* was, const char* is);
  std::string terms(const std::vector<std::uint32_t>& sum) const;

  const Plan& plan_;
  const Layout& layout_;
  const Agents& agents_;
  Faults& faults_;
  std::vector<Cell> cells_;
  std::vector<Site> sites_;
};

}  // namespace moire::mscclpp
