// NVIDIA's library NVML, which is loaded while the program runs, because not every toolkit installs nvml.h. All of its
// functions return 0 on success.
#pragma once

#include <dlfcn.h>

namespace nvml {

using Gpu = void*;

// Returns the library after nvmlInit, or nullptr if this machine has none.
void* library();

// Returns NVML's handle of a CUDA device, or nullptr.
Gpu gpu(int device);

// Sets a pointer to a function of the library; returns false if the library lacks it.
template <typename Function>
bool find(Function& function, const char* name) {
  if (library() != nullptr) function = reinterpret_cast<Function>(dlsym(library(), name));
  return function != nullptr;
}

}  // namespace nvml
