"""Memories: energy per access, area and leakage from size, width and ports."""

from nestmap.costmodel.memory_cost.dram import DramPreset as DramPreset
from nestmap.costmodel.memory_cost.dram import dram_cost as dram_cost
from nestmap.costmodel.memory_cost.sram import fitted_cost as fitted_cost
