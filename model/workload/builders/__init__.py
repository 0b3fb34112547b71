"""Builders of layers, attention and networks for Python programs."""

from nestmap.model.workload.builders.conv import conv1d as conv1d
from nestmap.model.workload.builders.conv import conv2d as conv2d
from nestmap.model.workload.builders.conv import conv3d as conv3d
from nestmap.model.workload.builders.matrix_products import attention as attention
from nestmap.model.workload.builders.matrix_products import gemm as gemm
from nestmap.model.workload.builders.matrix_products import linear as linear
from nestmap.model.workload.builders.matrix_products import matmul as matmul
from nestmap.model.workload.builders.matrix_products import network as network
from nestmap.model.workload.builders.operands import NetworkPart as NetworkPart
from nestmap.model.workload.builders.operands import Precision as Precision
from nestmap.model.workload.builders.operands import Source as Source
