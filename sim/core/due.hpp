// What is due next, of entries that mostly come in the order in which they are due.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace moire::core {

// A priority queue. The first entry is kept in place. Behind it, an entry that comes after all others is appended to a
// sorted list, at no cost; the rest are a heap. Before(a, b): a total order.
template <class Entry, class Before>
class Due {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const Entry& front() const { return front_; }
  void push(const Entry& entry) {
    if (size_++ == 0) {
      front_ = entry;
    } else if (Before{}(entry, front_)) {
      push_behind(std::exchange(front_, entry));
    } else {
      push_behind(entry);
    }
  }
  void pop() {
    if (--size_ == 0) return;
    if (!heap_.empty() && (head_ == sorted_.size() || Before{}(heap_.front(), sorted_[head_]))) {
      std::pop_heap(heap_.begin(), heap_.end(), After{});
      front_ = heap_.back();
      heap_.pop_back();
      return;
    }
    front_ = sorted_[head_++];
    if (2 * head_ >= sorted_.size()) drop_head();
  }
  void clear() {
    sorted_.clear();
    heap_.clear();
    head_ = 0;
    size_ = 0;
  }
  template <class Unwanted>
  void erase_if(Unwanted unwanted) {
    if (size_ == 0) return;
    drop_head();
    size_ -= static_cast<std::uint32_t>(std::erase_if(sorted_, unwanted));
    if (const auto erased = static_cast<std::uint32_t>(std::erase_if(heap_, unwanted)); erased > 0) {
      size_ -= erased;
      std::make_heap(heap_.begin(), heap_.end(), After{});
    }
    if (unwanted(front_)) pop();
  }
  template <class Visit>
  void for_each(Visit visit) const {
    if (size_ > 0) visit(front_);
    std::for_each(sorted_.begin() + head_, sorted_.end(), visit);
    std::for_each(heap_.begin(), heap_.end(), visit);
  }

 private:
  // A function object and not a function, so that comparisons are inlined.
  struct After {
    bool operator()(const Entry& a, const Entry& b) const { return Before{}(b, a); }
  };
  void push_behind(const Entry& entry) {
    if (head_ == sorted_.size() || Before{}(sorted_.back(), entry)) return sorted_.push_back(entry);
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), After{});
  }
  void drop_head() {
    sorted_.erase(sorted_.begin(), sorted_.begin() + head_);
    head_ = 0;
  }

  Entry front_{};
  std::uint32_t size_ = 0;
  std::uint32_t head_ = 0;  // in sorted_
  std::vector<Entry> sorted_;
  std::vector<Entry> heap_;
};

}  // namespace moire::core
