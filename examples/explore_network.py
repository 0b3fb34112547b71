"""Explores a network described in Python on a bundled accelerator, and asks the store about it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import nestmap
from nestmap.model import Workload, layer_from_equation
from nestmap.store import Store


def network() -> Workload:
    """Two layers: a 3x3 convolution with stride 2, and the fully connected layer behind it."""
    conv = layer_from_equation(
        "O[b][k][oy][ox] += W[k][c][fy][fx] * I[b][c][iy][ix]",
        {"B": 1, "K": 64, "C": 16, "OY": 28, "OX": 28, "FY": 3, "FX": 3},
        name="conv",
        operator="Conv",
        relations=["iy=2*oy+1*fy", "ix=2*ox+1*fx"],
        constants=["W"],
    )
    fc = layer_from_equation(
        "O[b][k] += W[k][c] * I[b][c]",
        {"B": 1, "K": 10, "C": 50176},
        name="fc",
        operator="Gemm",
        sources={"I": "conv"},
        constants=["W"],
    )
    return Workload.of(conv, fc, name="two_layers")


def main() -> None:
    """Prints the best mapping of each layer, and how many were worse."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "results.duckdb"
        best = nestmap.explore(network(), "tpu_like", search="loma", objective="energy", store=path)
        for result in best.layers:
            cme = result.cme
            print(f"{cme.layer}: {cme.energy:,.0f} pJ, {cme.latency:,.0f} cycles")
            print(f"  in space {cme.spatial_mapping}; in time {cme.temporal_mapping}")
        with Store.open_read_only(path) as store:
            rows = store.query(
                "SELECT layer, count(*) AS mappings, max(energy) / min(energy) AS spread "
                "FROM evaluations WHERE run = last_run() GROUP BY layer ORDER BY layer"
            )
        for row in rows.rows():
            print(row)


if __name__ == "__main__":
    main()
