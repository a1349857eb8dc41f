// GPUs of one process that may load and store each other's memory.
#pragma once

// Lets GPU `gpu` access the memory of all others of the first `gpus`. False, with a message, where the hardware cannot.
bool enable_peer_access(int gpu, int gpus);
