#include "sim/program/observer.hpp"

namespace moire::program {

const char* to_string(WaitReason reason) {
  switch (reason) {
    case WaitReason::none:
      return "none";
    case WaitReason::cu_slot:
      return "cu slot";
    case WaitReason::flag:
      return "flag";
    case WaitReason::fence:
      return "fence";
    case WaitReason::delay:
      return "delay";
  }
  return "unknown";
}

}  // namespace moire::program
