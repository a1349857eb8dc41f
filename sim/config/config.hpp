// Includes everything that readers of configuration need to load a file and to parse it into a spec.
#pragma once

#include "sim/config/catalogue.hpp"
#include "sim/config/load.hpp"
#include "sim/config/override.hpp"
#include "sim/config/spec.hpp"
