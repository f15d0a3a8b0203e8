"""Check hashes of model files, and open ONNX files and tokenizers."""

import hashlib
from typing import Any

from claude_mem_lite.errors import ClaudeMemError


def check_sha256(path: str, expected: str, *, cure: str) -> None:
    """Raise ClaudeMemError with the `cure` unless a file has the expected SHA-256."""
    found = sha256_of(path)
    if found != expected:
        raise ClaudeMemError(
            f"{path} is not the expected embedding model: its sha256 is {found}, not {expected}. {cure}"
        )


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file; 600 MB take half a second if the processor has instructions for it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_session(path: str, *, threads: int) -> Any:
    """Return an onnxruntime session that runs on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it would keep the memory of the longest batch
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # leave the CPU to the user
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def open_tokenizer(path: str, *, max_tokens: int) -> Any:
    """Return a tokenizer that truncates to `max_tokens`, special tokens included, and does not pad."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_padding()  # a file may enable it
    tokenizer.enable_truncation(max_tokens)
    return tokenizer
