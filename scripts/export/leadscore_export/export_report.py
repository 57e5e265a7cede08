"""What an export says of the bundle that it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExportReport:
    """Where the bundle is, how good the model is on rows that it was not trained on, and what to know about it."""

    folder: Path
    rows: int
    base_rate: float
    out_of_fold_auc: float
    top_lift: float
    calibration: str
    contributions: str
    golden_records: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"Bundle written to {self.folder}",
            f"  trained on        {self.rows:,} rows, {self.base_rate:.1%} of them converted",
            f"  AUC out of fold   {self.out_of_fold_auc:.3f}",
            f"  top-fifth lift    {self.top_lift:.2f}",
            f"  calibration       {self.calibration}",
            f"  contributions     {self.contributions}",
            f"  golden records    {self.golden_records}",
            *(f"  note: {note}" for note in self.notes),
            f"Check it: npx leadscore model check {self.folder}",
        ]
        return "\n".join(lines)
