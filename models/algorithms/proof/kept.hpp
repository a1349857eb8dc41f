// Keeps every proof, so that the same content is proved only once. A study that runs many variants of a scenario proves
// each file once, and processes that are forked after the proof inherit it.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/log.hpp"

namespace moire::proof {

template <class Content, class Proof>
class Kept {
 public:
  template <class Make>
  std::shared_ptr<const Proof> get(const Content& content, const std::string& name, Make make) {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::find_if(proofs_.begin(), proofs_.end(), [&](const auto& proof) { return proof.first == content; });
    if (known != proofs_.end()) return known->second;
    core::log_debug("proved {}", name);
    proofs_.emplace_back(content, std::make_shared<const Proof>(make()));
    return proofs_.back().second;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<Content, std::shared_ptr<const Proof>>> proofs_;  // a list is enough: a process reads few files
};

}  // namespace moire::proof
