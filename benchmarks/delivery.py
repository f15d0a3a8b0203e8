"""Check delivery with 1,000 hooks, every tenth one killed, and a consumer killed 30 times at random instants.

    python benchmarks/delivery.py [--hooks N] [--kills N] [--seed N]

Exits 1 unless every event whose hook exited with 0 is exactly one finished row and at most one observation.
"""

from __future__ import annotations

import os
import sys
import time

import measuring

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))


def main() -> int:
    """Run the experiment of the test suite at full size and print what became of the events."""
    from support import delivery_experiment

    from claude_mem_lite.storage import models

    parser = measuring.parser(__doc__)
    parser.add_argument("--hooks", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with measuring.memory():
        models.open_databases()
        started = time.monotonic()
        outcome = delivery_experiment.run(hooks=options.hooks, kills=options.kills, seed=options.seed)
        print(f"hooks that ended with 0      {outcome.hooks_ended}")
        print(f"hooks killed, had stored     {outcome.hooks_killed}, {outcome.stored_of_killed}")
        print(f"consumers killed             {outcome.consumers_killed}")
        print(f"events lost                  {len(outcome.lost)}")
        print(f"events unfinished            {len(outcome.unfinished)}")
        print(f"events doubled               {len(outcome.doubled)}")
        print(f"seconds                      {time.monotonic() - started:.0f}")
    return 1 if outcome.lost or outcome.unfinished or outcome.doubled else 0


if __name__ == "__main__":
    sys.exit(main())
