// Draws machines and programs at random: the keys and the size of an operator, and the numbers of nodes and GPUs.
#pragma once

#include <string>
#include <vector>

#include "tests/laws/random.hpp"
#include "tests/laws/simulation.hpp"

namespace moire::laws {

enum class Size { tiny, small, medium, large, huge };
inline constexpr const char* size_names[] = {"tiny", "small", "medium", "large", "huge"};

// How freely a case is drawn. loose: any keys and ranks, valid or not, choices of the library included. strict: valid
// cases with a fixed algorithm, protocol and tile.
enum class Draw { loose, strict };

// Most cases have at most this many ranks.
inline constexpr std::int64_t few_ranks = 16;

struct Key {
  std::string name, text;
  double ps = -1;  // the value in picoseconds if the key is a time, so that it can be scaled; else -1
};

struct Workload {
  std::string op;
  std::vector<Key> keys;
  double size = 1;         // bytes; or k of a GEMM, tables of an embedding, length of sequences, ns of a delay
  std::string group = {};  // the key that contains all keys (dlrm_iteration: embedding)

  const std::string* find(const std::string& key) const;
  bool is(const std::string& key, const std::string& text) const;
  bool collective() const;
  bool chunked_ring() const;
  bool by_switch() const;  // true if switches compute the sums, so that fewer bytes reach the ranks
  bool hosted() const;     // true if one host thread of a rank handles the calls of several streams
  bool sized() const { return op != "wg_trace"; }
  std::string text(double times = 1) const;  // returns {op: {...}} with all times multiplied by `times`
};

struct Case {
  std::string law, op, system;
  Size size = Size::tiny;
  std::uint64_t number = 0, seed = 0;

  Workload work;
  std::int64_t nodes = 1, gpus = 1;
  std::vector<Change> machine() const;  // returns the changes that give the system these numbers of nodes and GPUs
  Scenario scenario(const Workload& workload, double times = 1) const;
  Scenario scenario() const { return scenario(work); }
};

void draw(Case& one, Random& random, Draw how, std::int64_t most_ranks);
double draw_size(const std::string& op, Size size, Random& random);

// Returns the number that a shipped system has at `path`, or `absent`.
double number_of(const std::string& system, const std::string& path, double absent);
bool wired(const std::string& system);
bool meshed(const std::string& system);

}  // namespace moire::laws
