"""jitrl with a model behind a real OpenAI-compatible server: llama.cpp's own, on loopback.

    python -m tests.bench.bench_llm_server [--model local/smollm2] [--agents static,jitrl] [--steps N]
        [--reading token] [--only-runs] [--saves DIR]

The server is the one inside the runtime that is installed anyway. `jitrl doctor`, `jitrl models test` and `jitrl run`
then use it as they would any server: by address and name, over HTTP. Their output is shown as it comes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from engine.llm.local import weights


def serve(path: Path, threads: int, context: int) -> Any:
    """Return llama.cpp's server on a free port of loopback; it ends with this process."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.n_gpu_layers = context, 1, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup, params.verbosity, params.port = False, -1, 0
    return xllamacpp.Server(params)


def main() -> None:
    """Serve and play."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="local/smollm2", help="what is served (%(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reading", default="token", help="how it is tested and read (%(default)s)")
    parser.add_argument("--game", default="pantry")
    parser.add_argument("--agents", default="static,jitrl", help="who plays an episode (%(default)s)")
    parser.add_argument("--steps", type=int, default=12, help="of an episode (%(default)s)")
    parser.add_argument("--only-runs", action="store_true", help="neither doctor nor test")
    parser.add_argument("--saves", help="folder in which results are kept (none)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        saves = Path(args.saves or scratch)
        server = serve(weights.find(args.model, saves / "cache"), args.threads, 8192)
        base = f"{server.listening_address}/v1"
        name = f"openai/{args.model.partition('/')[2]}"
        environment = {**os.environ, "JITRL_API_BASE": base, "JITRL_SAVES": str(saves)}
        environment.pop("OPENAI_API_KEY", None)
        runs = [
            ("run", args.game, "--agent", agent, "--model", name, "--episodes", "1", "--steps", str(args.steps),
             "--fresh", "--set", f"logits={args.reading}", "--set", "deadline_s=600", "--json", "-")
            for agent in args.agents.split(",")
        ]  # fmt: skip
        looks = [("doctor", "--model", name), ("models", "test", name, "--reading", args.reading)]
        for command in runs if args.only_runs else [*looks, *runs]:
            print(f"$ JITRL_API_BASE={base} jitrl {' '.join(command)}", flush=True)
            started = time.perf_counter()
            code = subprocess.run(
                [str(Path(sys.executable).with_name("jitrl")), *command], env=environment, check=False
            ).returncode
            print(f"# exit code {code} after {time.perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
