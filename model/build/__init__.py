"""Layers, attention, networks and accelerators of several cores in a line of Python each."""

from nestmap.model.build.conv import conv1d as conv1d
from nestmap.model.build.conv import conv2d as conv2d
from nestmap.model.build.conv import conv3d as conv3d
from nestmap.model.build.cores import Beside as Beside
from nestmap.model.build.cores import OffChip as OffChip
from nestmap.model.build.cores import Wires as Wires
from nestmap.model.build.cores import bus as bus
from nestmap.model.build.cores import dram as dram
from nestmap.model.build.cores import mesh as mesh
from nestmap.model.build.cores import numbered as numbered
from nestmap.model.build.cores import point_to_point as point_to_point
from nestmap.model.build.draft import Part as Part
from nestmap.model.build.draft import Precision as Precision
from nestmap.model.build.draft import Source as Source
from nestmap.model.build.heads import attention as attention
from nestmap.model.build.products import gemm as gemm
from nestmap.model.build.products import linear as linear
from nestmap.model.build.products import matmul as matmul
from nestmap.model.build.whole import network as network
