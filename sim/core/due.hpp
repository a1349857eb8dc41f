// What is due next, of entries that mostly come in the order in which they are due.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace moire::core {

// A priority queue. An entry that comes after all others is appended to a sorted list, at no cost; the rest are a heap.
// Before(a, b): a total order.
template <class Entry, class Before>
class Due {
 public:
  bool empty() const { return size() == 0; }
  std::size_t size() const { return sorted_.size() - head_ + heap_.size(); }
  const Entry& front() const { return heap_first() ? heap_.front() : sorted_[head_]; }
  void push(const Entry& entry) {
    if (head_ == sorted_.size() || Before{}(sorted_.back(), entry)) return sorted_.push_back(entry);
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), After{});
  }
  void pop() {
    if (heap_first()) {
      std::pop_heap(heap_.begin(), heap_.end(), After{});
      heap_.pop_back();
      return;
    }
    ++head_;
    if (2 * head_ >= sorted_.size()) drop_head();
  }
  void clear() {
    sorted_.clear();
    heap_.clear();
    head_ = 0;
  }
  template <class Unwanted>
  void erase_if(Unwanted unwanted) {
    drop_head();
    std::erase_if(sorted_, unwanted);
    if (std::erase_if(heap_, unwanted) > 0) std::make_heap(heap_.begin(), heap_.end(), After{});
  }
  template <class Visit>
  void for_each(Visit visit) const {
    std::for_each(sorted_.begin() + static_cast<std::ptrdiff_t>(head_), sorted_.end(), visit);
    std::for_each(heap_.begin(), heap_.end(), visit);
  }
  void prefetch() const { __builtin_prefetch(sorted_.data() + head_); }

 private:
  // A function object and not a function, so that comparisons are inlined.
  struct After {
    bool operator()(const Entry& a, const Entry& b) const { return Before{}(b, a); }
  };
  bool heap_first() const {
    return !heap_.empty() && (head_ == sorted_.size() || Before{}(heap_.front(), sorted_[head_]));
  }
  void drop_head() {
    sorted_.erase(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }

  std::vector<Entry> sorted_;  // from head_ on
  std::size_t head_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace moire::core
