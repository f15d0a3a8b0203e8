"""Make a Qwen3 embedding model of the real architecture, small enough for a test: 0.6 MB, random weights."""

import argparse
import glob
import json
import os
from pathlib import Path
from typing import Any

DIMENSION = 64
EOS = "<|endoftext|>"
OWN_PROMPTS = {"query": "Instruct: the model's own\nQuery:", "document": ""}


def make(folder: Path) -> Path:
    """Write config, weights, tokenizer, last-token pooling, normalization and prompts in the real layout."""
    import torch
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    torch.manual_seed(7)
    options = {"eos_token": EOS, "pad_token": EOS, "padding_side": "left", "model_max_length": 2_048}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer_of_stdlib(), **options)
    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
    sizes = {"hidden_size": DIMENSION, "intermediate_size": 128, "max_position_embeddings": 2_048}
    shape: dict[str, Any] = {"vocab_size": len(tokenizer), **sizes, **heads}
    model = Qwen3Model(Qwen3Config(**shape))
    for parameter in model.parameters():
        if parameter.dim() > 1:  # the usual 0.02 makes a tiny model's vectors nearly alike
            torch.nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    _write(
        folder / "modules.json",
        [
            {"idx": idx, "name": str(idx), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for idx, (path, kind) in enumerate(modules)
        ],
    )
    _write(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": DIMENSION, "pooling_mode_lasttoken": True, "include_prompt": True}
        | {f"pooling_mode_{mode}": False for mode in ("cls_token", "mean_tokens", "max_tokens")},
    )
    _write(
        folder / "config_sentence_transformers.json",
        {"prompts": OWN_PROMPTS, "default_prompt_name": None, "similarity_fn_name": "cosine"},
    )
    return folder


def tokenizer_of_stdlib() -> Any:
    """Return a byte-level BPE of 1,024 tokens; it ends every text with EOS, as Qwen3's does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    options = {"special_tokens": [EOS], "initial_alphabet": letters, "show_progress": False}
    trainer = trainers.BpeTrainer(vocab_size=1_024, **options)
    bpe.train(sorted(glob.glob(os.path.join(os.path.dirname(argparse.__file__), "a*.py"))), trainer)
    eos_id = bpe.token_to_id(EOS)
    pair = f"$A {EOS} $B {EOS}"
    bpe.post_processor = processors.TemplateProcessing(
        single=f"$A {EOS}", pair=pair, special_tokens=[(EOS, eos_id)]
    )
    return bpe


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))
