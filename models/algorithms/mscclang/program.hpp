// A Program describes a collective as operations on chunks of buffers, for all ranks at once. It records the operations
// as a trace, which compile() turns into thread blocks.
//
//   Program p({.name = "ring", .collective = Collective::all_reduce, .ranks = n, .chunk_factor = n});
//   auto c = p.chunk(0, input, 0);
//   c = p.chunk(1, input, 0).reduce(c);
//   c.copy(2, input, 0, {.channel = 1});
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>
#include <version>
#ifdef __cpp_lib_source_location
#include <source_location>
#else  // clang 14, which builds the fuzzers
#include <experimental/source_location>
#endif

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/mscclang/trace.hpp"
#include "sim/config/problem.hpp"

namespace moire::mscclang {

// Thrown for a program that has no meaning or that MSCCL's runtime would refuse. The text names the statement.
struct ProgramError : std::runtime_error {
  explicit ProgramError(config::Problem said) : std::runtime_error(said.str()), problem(std::move(said)) {}
  config::Problem problem;
};

enum class Replication : std::uint8_t {
  interleaved,  // every operation is cut into `instances` parts; right for every collective
  blocked,      // instance i works on the i-th part of every buffer; not allowed if places_matter() (contract.hpp)
};
enum class Blocks : std::uint8_t { automatic, manual };

struct Options {
  std::string name;
  ir::Collective collective = ir::Collective::all_reduce;
  std::int32_t ranks = 0;
  // Number of chunks in the whole buffer or, for all-gather, reduce-scatter and all-to-all, in one rank's part of the
  // whole buffer.
  std::int32_t chunk_factor = 1;
  bool in_place = true;
  ir::Protocol protocol = ir::Protocol::simple;
  std::int32_t instances = 1;
  Replication replication = Replication::interleaved;
  Blocks blocks = Blocks::automatic;
  std::int32_t root = 0;  // of broadcast and reduce
  bool stated = true;     // false: the program defines its own buffers and result; the collective is only a name
  bool fuse = true;
  // Concerns consecutive local reductions that add to the same chunk. If true, their waits move before the first of
  // these reductions, so that the runtime adds all sources in one pass.
  bool gather_waits = false;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
};

// Where an operation runs; -1 leaves the choice to the compiler. Only Blocks::manual makes operations run on the thread
// blocks that are named here. Operations that name different blocks are not fused, not even with Blocks::automatic.
struct Placement {
  std::int32_t send_block = -1;
  std::int32_t recv_block = -1;
  std::int32_t channel = -1;
};

#ifdef __cpp_lib_source_location
using Location = std::source_location;
#else
using Location = std::experimental::source_location;
#endif

class Program;

// A reference to chunks of one rank. Using the reference after its chunks were overwritten is an error.
class Chunk {
 public:
  // Copies to the same position on another rank, to a given place, or after the last chunk of a scratch buffer. Returns
  // a reference to the copy.
  Chunk copy(std::int32_t rank, Placement placement = {}, Location where = Location::current()) const;
  Chunk copy(std::int32_t rank, Buffer buffer, std::int32_t index, Placement placement = {},
             Location where = Location::current()) const;
  Chunk copy(std::int32_t rank, Buffer scratch, Placement placement = {}, Location where = Location::current()) const;
  // Adds `other` to these chunks and returns a reference to the sum. Both must have the same number of chunks.
  Chunk reduce(const Chunk& other, Placement placement = {}, Location where = Location::current()) const;

  // Compresses to a given place of this rank, or after the last chunk of a scratch buffer. Encoded chunks may be copied
  // and decoded, but not added.
  Chunk encode(Buffer buffer, std::int32_t index, Placement placement = {}, Location where = Location::current()) const;
  Chunk encode(Buffer scratch, Placement placement = {}, Location where = Location::current()) const;
  Chunk decode(Buffer buffer, std::int32_t index, Placement placement = {}, Location where = Location::current()) const;

  std::vector<Chunk> split(std::int32_t parts, Location where = Location::current()) const;
  // Returns a reference to all chunks from the first to the last of both references, including any between the two.
  Chunk group(const Chunk& other, Location where = Location::current()) const;

  std::int32_t rank() const { return place_.rank; }
  Buffer buffer() const { return place_.buffer; }
  std::int32_t index() const { return place_.index; }
  std::int32_t count() const { return count_; }
  const Place& place() const { return place_; }

 private:
  friend class Program;
  Program* program_ = nullptr;
  Place place_;
  std::int32_t count_ = 0;
  std::uint64_t moment_ = 0;  // number of operations recorded when this reference was made
};

class Program {
 public:
  explicit Program(Options options);
  // Makes the program of a custom collective. `initial` states which chunks of each rank's buffers hold data at the
  // start.
  Program(Options options, std::vector<InitialBuffers> initial);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Buffer scratch(std::string_view name);

  Chunk chunk(std::int32_t rank, Buffer buffer, std::int32_t index, std::int32_t count = 1,
              Location where = Location::current());
  bool is_set(std::int32_t rank, Buffer buffer, std::int32_t index) const;
  std::int32_t length(std::int32_t rank, Buffer buffer) const;

  // While this object lives, every new operation is cut into `parts`, each with its own channels and thread blocks.
  class Parallel {
   public:
    explicit Parallel(Program& program) : program_(&program) {}
    ~Parallel() { program_->parts_ = 1; }
    Parallel(const Parallel&) = delete;
    Parallel& operator=(const Parallel&) = delete;

   private:
    Program* program_;
  };
  [[nodiscard]] Parallel parallelize(std::int32_t parts, Location where = Location::current());

  // Front ends such as the Python module call these functions. `where` is a line of the user's program.
  Chunk take(const Place& place, std::int32_t count, const Where& where);
  // `kind` is copy, encode or decode.
  Chunk copy(const Chunk& from, const Place& to, Placement placement, const Where& where,
             Operation::Kind kind = Operation::Kind::copy);
  Chunk reduce(const Chunk& into, const Chunk& from, Placement placement, const Where& where);
  void parallel(std::int32_t parts, const Where& where);

  // Returns a message about the first output chunk whose value is not what the collective requires; empty if there is
  // none.
  std::optional<std::string> check() const;

  const Options& options() const { return options_; }
  const Trace& trace() const { return trace_; }

  // Returns the place under which traces record the memory of `place`. In an in-place program, a place of the input and
  // a place of the output that share memory have the same canonical place.
  Place canonical(Place place) const;
  const Values& values() const { return values_; }
  ValueId value(const Place& place) const;
  bool is_encoded(const Place& place) const;

 private:
  struct Slot {
    ValueId value = no_value;
    std::int32_t writer = -1;  // index of the operation; -1: none
    bool encoded = false;
  };

  void prepare();
  void fill(const std::vector<InitialBuffers>& initial);
  void must_be_possible(std::size_t chunks) const;
  [[noreturn]] void fail(const Where& where, config::Problem problem) const;
  void must_lie_inside(const Place& place, std::int32_t count, const Where& where) const;
  void must_be_current(const Chunk& chunk, const Where& where) const;
  // Throws ProgramError unless the chunks are encoded (or, if `encoded` is false, not encoded). `used` and `remedy` are
  // parts of the message: what the program does with the chunks, and what would be right.
  void must_be_encoded(const Chunk& chunk, bool encoded, const char* used, const char* remedy,
                       const Where& where) const;
  void must_be_placed(const Placement& placement, const Where& where) const;
  std::vector<Slot>& slots(const Place& place);
  const std::vector<Slot>* slots_of(const Place& place) const;
  Chunk made(const Place& place, std::int32_t count);
  Operation& record(Operation::Kind kind, const Chunk& from, const Place& to, const Placement& placement,
                    const Where& where);

  friend class Chunk;

  Options options_;
  Trace trace_;
  Values values_;
  std::vector<std::vector<std::vector<Slot>>> memory_;  // by rank, buffer and chunk
  std::vector<std::array<std::int32_t, 2>> declared_;   // by rank: chunks of input and output
  std::map<std::string, std::int32_t, std::less<>> scratch_names_;
  std::int32_t file_ = 0;
  std::int32_t parts_ = 1;
};

}  // namespace moire::mscclang
