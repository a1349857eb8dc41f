// A priority queue that is fast if most entries are added in the order in which they will be removed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace moire::core {

// `front_` is the first entry. A new entry that comes after all entries of the list `sorted_` is appended to this list,
// which takes constant time. All other entries are in a heap. Before(a, b) must be a total order.
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
  // Gives back the memory of an empty queue, unless it is little.
  void release() {
    constexpr std::size_t little = 4;
    if (size_ > 0 || sorted_.capacity() + heap_.capacity() <= little) return;
    *this = Due();
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
  // This is a function object and not a function, so that the compiler inlines comparisons.
  struct After {
    bool operator()(const Entry& a, const Entry& b) const { return Before{}(b, a); }
  };
  void push_behind(const Entry& entry) {
    if (head_ == sorted_.size() || Before{}(sorted_.back(), entry)) {
      if (sorted_.size() == sorted_.capacity() && 4 * head_ >= sorted_.size()) drop_head();  // instead of growing
      return sorted_.push_back(entry);
    }
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), After{});
  }
  void drop_head() {
    sorted_.erase(sorted_.begin(), sorted_.begin() + head_);
    head_ = 0;
  }

  Entry front_{};
  std::uint32_t size_ = 0;
  std::uint32_t head_ = 0;  // index of the first entry of sorted_ that has not been removed
  std::vector<Entry> sorted_;
  std::vector<Entry> heap_;
};

}  // namespace moire::core
