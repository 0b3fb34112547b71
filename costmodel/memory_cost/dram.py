"""The cost of off-chip DRAM: published energies per bit of each standard.

They are averages over whole accesses: activation, column access, transfer and interface, as each
source counts them; a stream that misses a row with each access takes more, one that always hits
less. No source distinguishes reads from writes, so both cost the same here. Except for Accelergy's
table, the figures were read in public texts that quote the sources named.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from nestmap.model import MemoryCost


class DramPreset(StrEnum):
    """A DRAM standard, under the name that users write."""

    DDR4 = "ddr4"
    LPDDR4 = "lpddr4"
    LPDDR5 = "lpddr5"
    HBM2 = "hbm2"
    HBM2E = "hbm2e"
    HBM3 = "hbm3"
    GDDR6 = "gddr6"


class DramEnergy(NamedTuple):
    """Energy of a standard: pJ for each bit read and written, the published range, the source."""

    read: float
    write: float
    least: float
    most: float
    source: str


DRAM_ENERGIES: Final = {
    DramPreset.DDR4: DramEnergy(
        20.3, 20.3, 20.3, 40.6,
        "Jouppi et al., Ten Lessons From Three Generations Shaped Google's TPUv4i, ISCA 2021, "
        "table 2: 1300 pJ for 64 bits of DDR3/4; Horowitz, Computing's energy problem, ISSCC 2014: "
        "1300 to 2600 pJ for 64 bits of DRAM",
    ),
    DramPreset.LPDDR4: DramEnergy(
        8.0, 8.0, 8.0, 14.0,
        "Accelergy's CACTI plug-in, table of DRAM energies: 8 pJ/bit; simulations of Ha, "
        "Understanding and Improving the Energy Efficiency of DRAM, thesis, Stanford 2018: 13 to "
        "14 pJ/bit",
    ),
    DramPreset.LPDDR5: DramEnergy(
        7.0, 7.0, 7.0, 20.0,
        "AiF (in-flash processing for on-device LLM inference), ISCA 2025, "
        "doi 10.1145/3695053.3731073, energy model of figure 17a: 7 pJ/bit; Ortega et al., "
        "PIM-AI, arXiv:2411.17309, table 1: 10 to 20 pJ/bit with the interfaces of both sides",
    ),
    DramPreset.HBM2: DramEnergy(
        3.92, 3.92, 3.9, 7.0,
        "O'Connor et al., Fine-Grained DRAM, MICRO 2017, section 2: 3.92 pJ/bit; Jouppi et al. "
        "2021, table 2: 250 to 450 pJ for 64 bits",
    ),
    DramPreset.HBM2E: DramEnergy(
        4.3, 4.3, 4.3, 4.3,
        "Moon, Son and Lee (SK hynix), IEDM 2023, paper 15-6: about 4.3 pJ/bit",
    ),
    DramPreset.HBM3: DramEnergy(
        3.87, 3.87, 3.44, 4.3,
        "No figure of HBM3 itself was found: the middle of its predecessor and successor, "
        "HBM2E about 4.3 pJ/bit and HBM3E 20 % less (Moon, Son and Lee, IEDM 2023, paper 15-6)",
    ),
    DramPreset.GDDR6: DramEnergy(
        7.5, 7.5, 5.5, 7.5,
        "Micron, Doubling I/O Performance with PAM4, technical brief on GDDR6X, 2020: 7.5 pJ/bit; "
        "Jouppi et al. 2021, table 2: 350 to 480 pJ for 64 bits",
    ),
}  # fmt: skip
"""The energy of each standard in pJ/bit."""


def dram_cost(preset: DramPreset, width: int) -> MemoryCost:
    """The cost of an access of ``width`` bits in pJ.

    Area is 0: the memory is off-chip. Leakage is 0: standby and refresh power depend on a
    module's capacity and speed, which a preset does not know; the published energies per bit are
    averages of a busy memory and include the standby power that they measured.

    Raises:
        ValueError: for a width that is not positive.
    """
    if width <= 0:
        raise ValueError(f"width {width}; expected a positive number of bits")
    energy = DRAM_ENERGIES[preset]
    return MemoryCost(
        read_energy=energy.read * width, write_energy=energy.write * width, area=0.0, leakage=0.0
    )
