"""The ONNX operators that nestmap knows."""
