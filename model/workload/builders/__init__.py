"""Layers, attention, networks and accelerators of several cores in a line of Python each."""

from nestmap.model.multicore.builders import Beside as Beside
from nestmap.model.multicore.builders import OffChip as OffChip
from nestmap.model.multicore.builders import Wires as Wires
from nestmap.model.multicore.builders import bus as bus
from nestmap.model.multicore.builders import dram as dram
from nestmap.model.multicore.builders import mesh as mesh
from nestmap.model.multicore.builders import numbered as numbered
from nestmap.model.multicore.builders import point_to_point as point_to_point
from nestmap.model.workload.builders.attention_layers import attention as attention
from nestmap.model.workload.builders.conv import conv1d as conv1d
from nestmap.model.workload.builders.conv import conv2d as conv2d
from nestmap.model.workload.builders.conv import conv3d as conv3d
from nestmap.model.workload.builders.matrix_products import gemm as gemm
from nestmap.model.workload.builders.matrix_products import linear as linear
from nestmap.model.workload.builders.matrix_products import matmul as matmul
from nestmap.model.workload.builders.networks import network as network
from nestmap.model.workload.builders.operands import Part as Part
from nestmap.model.workload.builders.operands import Precision as Precision
from nestmap.model.workload.builders.operands import Source as Source
