"""Writes layer.safetensors: parameters of a PyTorch layer, an input, and what PyTorch makes of it. `python export.py` with torch and numpy.

The file is written by hand, so that nothing else is needed.
"""

import json
import struct

import torch

torch.manual_seed(7)
out = {}
for name, first in (("pre", True), ("post", False)):
    layer = torch.nn.TransformerEncoderLayer(24, 3, 40, dropout=0.0, activation="gelu", batch_first=True, norm_first=first).double().eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(0.0, 0.3)
        layer.float()
        x = torch.randn(2, 7, 24)
        layer.double()
        y = layer(x.double())
        mask = torch.nn.Transformer.generate_square_subsequent_mask(7, dtype=torch.float64)
        causal = layer(x.double(), src_mask=mask)
    out.update({f"{name}.layer.{key}": value.float() for key, value in layer.state_dict().items()})
    out.update({f"{name}.x": x, f"{name}.y": y.float(), f"{name}.causal": causal.float()})

header, data = {}, b""
for key, value in sorted(out.items()):
    raw = value.contiguous().numpy().tobytes()
    header[key] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open("layer.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
