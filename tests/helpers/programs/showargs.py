"""Write the arguments of each rank to the file that the first one names: bytes, one in hex a line."""

import os
import sys
from pathlib import Path

rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
lines = [os.fsencode(word).hex() for word in sys.argv[2:]]
Path(sys.argv[1]).with_suffix(f".{rank}").write_text("\n".join(lines))
