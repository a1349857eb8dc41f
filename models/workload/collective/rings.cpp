#include "models/workload/collective/rings.hpp"

#include <algorithm>

namespace moire::collective {

namespace {

Ring ring_of(const std::vector<Rank>& order) {
  Ring ring;
  ring.next.resize(order.size());
  ring.previous.resize(order.size());
  ring.position.resize(order.size());
  ring.order = order;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Rank next = order[(i + 1) % order.size()];
    ring.next[order[i]] = next;
    ring.previous[next] = order[i];
    ring.position[order[i]] = static_cast<Rank>(i);
  }
  return ring;
}

// Finds n - 1 rings of `n` GPUs that use every ordered pair of GPUs once: a decomposition of the complete digraph into
// Hamiltonian cycles. It exists for all n but 4 and 6 (Tillson 1980).
class Decomposition {
 public:
  explicit Decomposition(Rank n) : n_(n), used_(std::size_t{n} * n, false) {}

  std::vector<std::vector<Rank>> find() {
    if (!next_ring()) found_.clear();
    return found_;
  }

 private:
  static constexpr int patience = 2'000'000;

  // Finds the remaining rings. Returns false if it finds none. Every ring must use another pair that begins at GPU 0,
  // so the k-th ring goes from GPU 0 to GPU k.
  bool next_ring() {
    if (found_.size() + 1 == n_) return true;
    const auto first = static_cast<Rank>(found_.size() + 1);
    std::vector<Rank> order{0};
    std::vector<bool> passed(n_, false);
    passed[0] = true;
    return extend(order, passed, first);
  }

  bool extend(std::vector<Rank>& order, std::vector<bool>& passed, Rank only) {
    if (++tried_ > patience) return false;
    const Rank last = order.back();
    if (order.size() == n_) {
      if (used_[last * n_]) return false;
      used_[last * n_] = true;
      found_.push_back(order);
      if (next_ring()) return true;
      found_.pop_back();
      used_[last * n_] = false;
      return false;
    }
    for (Rank step = 1; step < n_; ++step) {
      const Rank next = only != 0 ? only : (last + step) % n_;
      if (!passed[next] && !used_[last * n_ + next]) {
        passed[next] = used_[last * n_ + next] = true;
        order.push_back(next);
        if (extend(order, passed, 0)) return true;
        order.pop_back();
        passed[next] = used_[last * n_ + next] = false;
      }
      if (only != 0) return false;
    }
    return false;
  }

  Rank n_;
  std::vector<bool> used_;
  std::vector<std::vector<Rank>> found_;
  int tried_ = 0;
};

// Returns all orders of the GPUs that begin with GPU 0. Together these orders use all pairs equally often.
std::vector<std::vector<Rank>> all_orders(Rank n) {
  std::vector<Rank> order(n);
  for (Rank i = 0; i < n; ++i) order[i] = i;
  std::vector<std::vector<Rank>> orders;
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  // Orders are taken from both ends of the list in turn, so that the first two share no pair.
  std::vector<std::vector<Rank>> mixed;
  for (std::size_t i = 0; i < orders.size(); ++i)
    mixed.push_back(orders[i % 2 == 0 ? i / 2 : orders.size() - 1 - i / 2]);
  return mixed;
}

std::vector<std::vector<Rank>> orders_in_node(const machine::SystemSpec& system) {
  const auto n = static_cast<Rank>(system.node.gpus);
  std::vector<Rank> plain(n);
  for (Rank i = 0; i < n; ++i) plain[i] = i;
  if (system.node.wiring != link::Wiring::full_mesh || n < 3) return {plain};
  if (n == 4) return all_orders(n);
  std::vector<std::vector<Rank>> orders = Decomposition(n).find();
  if (!orders.empty()) return orders;
  // No such decomposition was found. Rings of constant stride take its place, for strides without a common factor with
  // n.
  for (Rank stride = 1; stride < n; ++stride) {
    std::vector<Rank> order;
    Rank at = 0;
    do {
      order.push_back(at);
      at = (at + stride) % n;
    } while (at != 0);
    if (order.size() == n) orders.push_back(order);
  }
  return orders;
}

}  // namespace

std::vector<Rank> gpus_by_nic(const machine::SystemSpec& system) {
  const auto gpus = static_cast<Rank>(system.node.gpus);
  const auto nics = static_cast<Rank>(system.node.nics);
  std::vector<Rank> used(std::max<Rank>(1, nics), 0);
  std::vector<std::pair<Rank, Rank>> by_nic;  // number of earlier GPUs with the same NIC, and the GPU
  for (Rank gpu = 0; gpu < gpus; ++gpu) by_nic.emplace_back(used[gpu * nics / gpus]++, gpu);
  std::sort(by_nic.begin(), by_nic.end());
  std::vector<Rank> order;
  for (const auto& [before, gpu] : by_nic) order.push_back(gpu);
  return order;
}

std::vector<Ring> rings(const machine::SystemSpec& system, bool one_nic) {
  const auto gpus = static_cast<Rank>(system.node.gpus);
  const auto nodes = static_cast<Rank>(system.nodes);
  std::vector<Ring> made;
  const std::vector<std::vector<Rank>> orders = orders_in_node(system);
  if (nodes == 1) {
    for (const std::vector<Rank>& order : orders) made.push_back(ring_of(order));
    return made;
  }
  for (const Rank first : gpus_by_nic(system)) {
    const std::vector<Rank>& order = orders[first % orders.size()];
    std::vector<Rank> all;
    for (Rank node = 0; node < nodes; ++node) {
      for (Rank i = 0; i < gpus; ++i) {
        const Rank at = one_nic || node % 2 == 0 ? i : gpus - 1 - i;
        all.push_back(node * gpus + (order[(at + first) % gpus]));
      }
    }
    std::rotate(all.begin(), std::find(all.begin(), all.end(), 0U), all.end());
    made.push_back(ring_of(all));
  }
  return made;
}

}  // namespace moire::collective
