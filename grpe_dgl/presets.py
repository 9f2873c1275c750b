"""The paper's four sizes; apart from the model so that recipes can be read without loading torch."""

PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"layers": 4, "hidden_size": 64, "ffn_size": 64, "num_heads": 8},
    "small": {"layers": 12, "hidden_size": 80, "ffn_size": 80, "num_heads": 8},
    "standard": {"layers": 12, "hidden_size": 768, "ffn_size": 768, "num_heads": 32},
    "large": {"layers": 18, "hidden_size": 1024, "ffn_size": 1024, "num_heads": 32},
}
