#include "models/algorithms/msccl/wiring.hpp"

#include <algorithm>
#include <tuple>

namespace moire::msccl {

Wiring::Wiring(const Algorithm& of) : algorithm(of) {
  first.push_back(0);
  for (std::int32_t g = 0; g < algorithm.ranks(); ++g) {
    const auto& on_gpu = algorithm.gpus[g].blocks;
    for (std::size_t b = 0; b < on_gpu.size(); ++b)
      blocks.push_back({&on_gpu[b], g, static_cast<std::int32_t>(b), nobody, nobody});
    first.push_back(static_cast<std::uint32_t>(blocks.size()));
  }
  std::vector<Connection> ends;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const ThreadBlock& block = *blocks[b].block;
    if (block.send != none) ends.push_back({blocks[b].gpu, block.send, block.channel, b, nobody});
    if (block.recv != none) ends.push_back({block.recv, blocks[b].gpu, block.channel, nobody, b});
  }
  const auto key = [](const Connection& c) { return std::tuple(c.from, c.to, c.channel); };
  std::sort(ends.begin(), ends.end(), [&](const Connection& a, const Connection& b) { return key(a) < key(b); });
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    if (key(ends[i]) != key(ends[i + 1])) continue;
    Connection whole = ends[i];
    whole.sender = std::min(whole.sender, ends[i + 1].sender);
    whole.receiver = std::min(whole.receiver, ends[i + 1].receiver);
    const auto number = static_cast<std::uint32_t>(connections.size());
    blocks[whole.sender].out = number;
    blocks[whole.receiver].in = number;
    connections.push_back(whole);
    ++i;
  }
}

std::int32_t publishing_step(const std::vector<Step>& steps, std::int32_t step) {
  const auto publishes = [](const Step& s) { return s.has_dependents && s.type != Op::none; };
  return static_cast<std::int32_t>(std::find_if(steps.begin() + step, steps.end(), publishes) - steps.begin());
}

}  // namespace moire::msccl
