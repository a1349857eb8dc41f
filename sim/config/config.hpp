// Everything that readers of configuration need: load a file and parse it into a spec.
#pragma once

#include "sim/config/catalogue.hpp"
#include "sim/config/load.hpp"
#include "sim/config/override.hpp"
#include "sim/config/spec.hpp"
