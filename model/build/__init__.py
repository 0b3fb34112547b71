"""Layers, attention and networks in a line of Python each."""

from nestmap.model.build.conv import conv1d as conv1d
from nestmap.model.build.conv import conv2d as conv2d
from nestmap.model.build.conv import conv3d as conv3d
from nestmap.model.build.draft import Part as Part
from nestmap.model.build.draft import Precision as Precision
from nestmap.model.build.draft import Source as Source
from nestmap.model.build.heads import attention as attention
from nestmap.model.build.products import gemm as gemm
from nestmap.model.build.products import linear as linear
from nestmap.model.build.products import matmul as matmul
from nestmap.model.build.whole import network as network
